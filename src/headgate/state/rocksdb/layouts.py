"""Layouts: the meaning of the bytes of rows, including rows written under earlier declarations of the states.

A row names its layout, and a read converts it to the current one. A layout is a version number for each column. A
version of a column is a description of the state and the time of its declaration. The layouts have their own row, so
checkpoints contain them. The rows:

    cell    u16 layout, with its highest bit set: u32 length and bytes of the pickled key; then the columns' values
    item    u16 version of its column, with its highest bit set: u32 length and bytes of the pickled key; then the value

In the row of a cell, a list has the number of its first element and the number after its last element; a map has True.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from types import ModuleType
from typing import Any, Final, final

from headgate.state.formats.codecs import Codec, Load, codec_for, codec_for_columns, codec_for_items
from headgate.state.formats.schema import Convert, StateMeta
from headgate.state.keyed.cells import FIRST
from headgate.state.keyed.columns import conversion
from headgate.state.kinds.forms import StoredForm
from headgate.state.rocksdb.single_column import SingleColumn, single_column
from headgate.types.typeinfo import TypeInformation, Types

_TAG: Final = struct.Struct("<H")
_LENGTH: Final = struct.Struct("<I")
_ORIGINAL_BIT: Final = 0x8000


@final
@dataclass(frozen=True, slots=True)
class Version:
    """A declaration of a state, and its time (wall clock, ms)."""

    meta: StateMeta
    since_ms: int


@final
class Layouts:
    """The layouts of a database. The last one is the current one."""

    def __init__(self, load: Load, native: ModuleType | None) -> None:
        self.load = load
        self._native = native
        self.columns: list[list[Version]] = []
        self._layouts: list[list[int]] = []
        self._readers: dict[int, Callable[[bytes], list[Any]]] = {}
        self._items: dict[tuple[int, int], Callable[[bytes], Any]] = {}
        self._writers: list[tuple[bytes, bytes, Codec]] = []
        self._encode: Callable[[Any], bytes] = codec_for_columns([]).encode
        self._tag = b""
        """The first bytes of rows of the current layout without a pickled key."""
        self.single: SingleColumn | None = None
        """The loops for cells with the only column, if there is one column and it holds no list or map."""
        self._original_tag = b""
        self.containers: list[tuple[int, StoredForm]] = []
        """Each column whose items have rows: its index in a cell, and its form."""

    # --- declaring

    def add(self, meta: StateMeta, now_ms: int) -> None:
        """Add a column."""
        self.columns.append([Version(meta, now_ms)])
        self._changed()

    def declare(self, column: int, meta: StateMeta, now_ms: int) -> None:
        """Add a version to a column if `meta` differs from the column's last one. The states must be compatible."""
        versions = self.columns[column]
        if versions[-1].meta != meta:
            versions.append(Version(meta, now_ms))
            self._changed()

    def _changed(self) -> None:
        self._layouts.append([len(versions) - 1 for versions in self.columns])
        self._prepare()

    def _prepare(self) -> None:
        """Prepare the codecs of the current layout."""
        self._readers.clear()
        self._items.clear()
        number = len(self._layouts) - 1
        self._tag, self._original_tag = _TAG.pack(number), _TAG.pack(number | _ORIGINAL_BIT)
        metas = [versions[-1].meta for versions in self.columns]
        self._encode = codec_for_columns([_stored_type(meta) for meta in metas], self.load).encode
        self._writers = [
            (
                _TAG.pack(len(versions) - 1),
                _TAG.pack(len(versions) - 1 | _ORIGINAL_BIT),
                codec_for_items(meta, self.load),
            )
            for versions, meta in zip(self.columns, metas, strict=True)
        ]
        self.containers = [(FIRST + column, meta.form) for column, meta in enumerate(metas) if meta.form.has_items]
        is_single = len(metas) == 1 and not self.containers
        codec = codec_for(_stored_type(metas[0]), self.load) if is_single else None
        self.single = None if codec is None else single_column(codec, self._tag, self._native)

    # --- cells

    def encode(self, values: list[Any], original: bytes | None) -> bytes:
        """Return the row of a cell with these values, at least one of which is not None.

        Raises `SerializationError`.
        """
        body = self._encode(tuple(values))
        if original is None:
            return self._tag + body
        return b"".join((self._original_tag, _LENGTH.pack(len(original)), original, body))

    def decode(self, row: bytes) -> tuple[list[Any], bytes | None]:
        """Return the values of a cell's row for all current columns, and the pickled key, None if it has none."""
        tag = row[0] | row[1] << 8
        original = None
        if tag & _ORIGINAL_BIT:
            end = 6 + _LENGTH.unpack_from(row, 2)[0]
            original, body = row[6:end], row[end:]
        else:
            body = row[2:]
        reader = self._readers.get(tag & ~_ORIGINAL_BIT)
        if reader is None:
            reader = self._readers[tag & ~_ORIGINAL_BIT] = self._reader(tag & ~_ORIGINAL_BIT)
        return reader(body), original

    def _reader(self, number: int) -> Callable[[bytes], list[Any]]:
        versions = self._layouts[number]
        metas = [self.columns[column][version].meta for column, version in enumerate(versions)]
        decode = codec_for_columns([_stored_type(meta) for meta in metas], self.load).decode
        missing = [None] * (len(self.columns) - len(versions))
        converters = [
            (column, convert)
            for column, version in enumerate(versions)
            if not metas[column].form.has_items and (convert := self._conversion(column, version)) is not None
        ]

        def read(body: bytes) -> list[Any]:
            return [*decode(body), *missing]

        def read_old(body: bytes) -> list[Any]:
            values = read(body)
            for column, convert in converters:
                if values[column] is not None:
                    values[column] = convert(values[column])
            return values

        return read_old if converters else read

    def _conversion(self, column: int, version: int) -> Convert | None:
        """Return the conversion of values of a version of a column to its last version, None if they are equal."""
        versions = self.columns[column][version:]
        steps = [
            step
            for old, new in pairwise(versions)
            if (step := conversion(old.meta, new.meta, new.since_ms)) is not None
        ]
        return (lambda stored: reduce(lambda value, step: step(value), steps, stored)) if steps else None

    # --- items

    def encode_item(self, column: int, item: Any, original: bytes | None = None) -> bytes:
        """Return the row of an element or of an entry's value. Raises `SerializationError`."""
        tag, original_tag, codec = self._writers[column]
        if original is None:
            return tag + codec.encode(item)
        return b"".join((original_tag, _LENGTH.pack(len(original)), original, codec.encode(item)))

    def decode_item(self, column: int, row: bytes) -> Any:
        """Return the element or the entry's value of a row."""
        version = (row[0] | row[1] << 8) & ~_ORIGINAL_BIT
        reader = self._items.get((column, version))
        if reader is None:
            reader = self._items[column, version] = self._item_reader(column, version)
        return reader(row[_body_at(row) :])

    def _item_reader(self, column: int, version: int) -> Callable[[bytes], Any]:
        meta = self.columns[column][version].meta
        decode, form = codec_for_items(meta, self.load).decode, meta.form
        convert = self._conversion(column, version)
        if convert is None:
            return decode

        def read_old(body: bytes) -> Any:
            (item,) = form.items(convert(form.of_items([(0, decode(body))])))
            return item

        return read_old

    # --- the row of the layouts

    def to_bytes(self) -> bytes:
        """Return the layouts as bytes, which `take` reads."""
        columns = [[[each.meta.to_json(), each.since_ms] for each in versions] for versions in self.columns]
        return json.dumps({"columns": columns, "layouts": self._layouts}).encode()

    def take(self, data: bytes) -> None:
        """Replace the layouts by those in the bytes. Raises `RestoreError` for a description of a later release."""
        described = json.loads(data)
        self.columns = [
            [Version(StateMeta.from_json(meta), since_ms) for meta, since_ms in versions]
            for versions in described["columns"]
        ]
        self._layouts = described["layouts"]
        self._prepare()


def item_original(row: bytes) -> bytes | None:
    """Return the pickled key in the row of an entry, None if it has none."""
    return row[6 : _body_at(row)] if row[1] & 0x80 else None


def _body_at(row: bytes) -> int:
    return int(6 + _LENGTH.unpack_from(row, 2)[0]) if row[1] & 0x80 else 2


def _stored_type(meta: StateMeta) -> TypeInformation:
    """Return the type of the value of a state in the row of a cell."""
    if meta.form.has_items:
        return Types.PICKLED_BYTE_ARRAY()
    return Types.TUPLE([Types.LONG(), meta.type]) if meta.ttl else meta.type


def metas_of(layouts: Layouts) -> Sequence[StateMeta]:
    """Return the states as they are declared now."""
    return [versions[-1].meta for versions in layouts.columns]
