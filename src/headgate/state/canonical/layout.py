"""Layout: the columns of the table of a state, and the footer of its Parquet file, which describes the state.

A row is one key of the state, with its namespace if it has one:

    key_group         int32
    key               typed, by the common type of the keys in the first rows
    key_pickle        binary: the key, if `key` does not show it exactly
    namespace         likewise, if there are namespaces
    namespace_pickle
    last_access_ms    with a time to live: int64; for a list or a map, a list of int64, one for each element or entry
    value             typed, by the state's type: the value, the list, the map; for timers, the list of their times
    value_pickle      binary: the stored value, if `value` does not show it exactly

The footer has the key "headgate" with JSON: format, version, state (the description as in all snapshots), and the
types of the columns key, namespace and value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final
from urllib.parse import quote

import pyarrow as pa

from headgate.errors import DamagedFileError, RestoreError
from headgate.state.canonical.columns import ColumnCodec, column_codec
from headgate.state.canonical.observed_types import observed_type
from headgate.state.formats.codecs import pickled
from headgate.state.formats.schema import StateMeta
from headgate.types.typeinfo import ListTypeInfo, MapTypeInfo, PickledBytesTypeInfo, TypeInformation, Types

FORMAT: Final = "headgate-canonical"
VERSION: Final = 1

KEY_GROUP: Final = "key_group"
KEY: Final = "key"
NAMESPACE: Final = "namespace"
VALUE: Final = "value"
LAST_ACCESS: Final = "last_access_ms"
SUFFIX: Final = ".parquet"

_FOOTER: Final = b"headgate"
_NAME_MAX: Final = 80


def pickle_of(column: str) -> str:
    """Return the name of the column with the pickles of values that `column` does not show exactly."""
    return f"{column}_pickle"


@final
@dataclass(frozen=True, slots=True)
class TableFacts:
    """The description of a file: its state, and the types of its columns. `namespace` is None without namespaces."""

    meta: StateMeta
    key: TypeInformation
    namespace: TypeInformation | None
    value: TypeInformation

    @property
    def has_many_times(self) -> bool:
        """Whether a row has several times of access."""
        return self.meta.form.has_items

    def schema(self, key: ColumnCodec, namespace: ColumnCodec | None, value: ColumnCodec) -> pa.Schema:
        """Return the schema of the table for these codecs of its columns."""
        fields = [pa.field(KEY_GROUP, pa.int32(), nullable=False), *_pair(KEY, key)]
        if namespace is not None:
            fields += _pair(NAMESPACE, namespace)
        if self.meta.ttl:
            fields.append(pa.field(LAST_ACCESS, pa.list_(pa.int64()) if self.has_many_times else pa.int64()))
        return pa.schema([*fields, *_pair(VALUE, value)], metadata={_FOOTER: json.dumps(self._to_json())})

    def _to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "state": self.meta.to_json(),
            "key": self.key.to_json(),
            "namespace": None if self.namespace is None else self.namespace.to_json(),
            "value": self.value.to_json(),
        }

    @staticmethod
    def of_schema(schema: pa.Schema, where: str) -> TableFacts:
        """Return the description in a file's schema.

        Raises `DamagedFileError`, or `RestoreError` for a later version.
        """
        footer: Mapping[bytes, bytes] = schema.metadata or {}
        try:
            said = json.loads(footer[_FOOTER])
            if said["format"] != FORMAT:
                raise ValueError(f"its format is {said['format']!r}")
        except (KeyError, ValueError) as error:
            raise DamagedFileError(f"{where} is not a file of a canonical savepoint: {error}") from error
        if said.get("version") != VERSION:
            raise RestoreError(
                f"{where} has version {said.get('version')} of the canonical format, and this headgate reads version "
                f"{VERSION}: restore it with the release that wrote it, or a later one"
            )
        namespace = said["namespace"]
        return TableFacts(
            StateMeta.from_json(said["state"]),
            TypeInformation.from_json(said["key"]),
            None if namespace is None else TypeInformation.from_json(namespace),
            TypeInformation.from_json(said["value"]),
        )


def _pair(name: str, codec: ColumnCodec) -> list[pa.Field]:
    return [pa.field(name, codec.arrow), pa.field(pickle_of(name), pa.binary())]


def value_type(meta: StateMeta, values: Sequence[Any]) -> TypeInformation:
    """Return the type of the value column: the declared type, or the observed type of `values` if that is pickled."""
    return refined_type(meta.form.shown_type(meta.type), values)


def refined_type(type_info: TypeInformation, values: Iterable[Any]) -> TypeInformation:
    """Return a type whose pickled parts are replaced by the types observed in `values`.

    A part stays pickled if its values differ in type.
    """
    if isinstance(type_info, PickledBytesTypeInfo):
        return observed_type(values)
    if isinstance(type_info, ListTypeInfo):
        return Types.LIST(refined_type(type_info.element_type, _inner(values, list)))
    if isinstance(type_info, MapTypeInfo):
        dicts = [value for value in values if isinstance(value, dict)]
        keys = refined_type(type_info.key_type_info, _inner(dicts, dict))
        return Types.MAP(
            keys, refined_type(type_info.value_type_info, [item for each in dicts for item in each.values()])
        )
    return type_info


def _inner(values: Iterable[Any], kind: type[list[Any]] | type[dict[Any, Any]]) -> list[Any]:
    return [item for value in values if isinstance(value, kind) for item in value]


def file_name(state: str) -> str:
    """Return the name of the file of a state. The name is unique for the state, and short enough for any file system.

    >>> file_name("visits per day"), file_name("_timers/event")
    ('visits%20per%20day.parquet', '_timers%2Fevent.parquet')
    """
    quoted = quote(state, safe="")
    if len(quoted) > _NAME_MAX:
        digest = hashlib.sha1(state.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        quoted = f"{quoted[:_NAME_MAX]}~{digest}"
    return f"{quoted}{SUFFIX}"


@final
class ColumnPair:
    """A column that shows values, and a column with the pickles of the values that the first does not show exactly."""

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        self.name = name
        self._marks: list[None] = []
        self.codec: ColumnCodec = column_codec(type_info, lambda: self._marks.append(None))
        self._shown: list[Any] = []
        self._pickles: list[bytes | None] = []

    def add(self, shown: Any, exact: Any) -> None:
        """Add a shown value. Pickle `exact`, the stored value, if the column cannot show `shown` exactly."""
        self._marks.clear()
        self._shown.append(self.codec.encode(shown))
        self._pickles.append(pickled(exact) if self._marks else None)

    def add_pickled(self, shown: Any, exact: Any) -> None:
        """Add a shown value and pickle `exact`, the stored value."""
        self._shown.append(self.codec.encode(shown))
        self._pickles.append(pickled(exact))

    def take(self) -> dict[str, pa.Array]:
        """Return both columns, and start empty ones."""
        shown, pickles = self._shown, self._pickles
        self._shown, self._pickles = [], []
        return {
            self.name: pa.array(shown, type=self.codec.arrow),
            pickle_of(self.name): pa.array(pickles, type=pa.binary()),
        }
