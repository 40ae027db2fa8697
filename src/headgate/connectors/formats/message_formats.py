"""Flink's formats of messages by their identifiers and options: json, raw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import pyarrow as pa

from headgate.columns.logical_types import Kind
from headgate.columns.schema import Schema
from headgate.connectors.formats.json_columns import JsonColumns
from headgate.connectors.formats.json_texts import JsonTexts
from headgate.connectors.formats.message_columns import MessageDecoder, MessageEncoder

IGNORE: Final = "ignore-parse-errors"


@dataclass(frozen=True, slots=True)
class MessageFormat(ABC):
    """A format with its options. `ignore_errors`: messages that are no rows are left out."""

    ignore_errors: bool

    @abstractmethod
    def decoder(self, schema: Schema, columns: Schema) -> MessageDecoder:
        """Return the decoder of some columns of messages that have a schema. Raises ValueError for its types."""

    @abstractmethod
    def encoder(self, schema: Schema, topic: str, *, is_key: bool) -> MessageEncoder:
        """Return the encoder of rows for keys or values in a topic. Raises ValueError for a type of the schema."""


@final
class FormatOptions:
    """The options of a format: texts by their keys, with or without the name of the format as prefix."""

    def __init__(self, name: str, given: Mapping[str, str]) -> None:
        self._name = name
        self._left: dict[str, str] = {}
        for key, value in given.items():
            short = key.removeprefix(f"{name}.")
            if self._left.setdefault(short, value) != value:
                raise ValueError(f"the option {key!r} of the format {name!r} is given twice, with different values")
        self._known: list[str] = []

    def text(self, key: str, default: str) -> str:
        """Return a text."""
        self._known.append(key)
        return self._left.pop(key, default)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return a boolean. Raises ValueError for another text."""
        value = self.text(key, str(default)).lower()
        if value not in ("true", "false"):
            raise ValueError(f"the option {key!r} of the format {self._name!r} is 'true' or 'false', not {value!r}")
        return value == "true"

    def choice(self, key: str, *values: str) -> str:
        """Return one of several texts, by default the first. Raises ValueError for another text."""
        value = self.text(key, values[0])
        if value not in values:
            raise ValueError(
                f"the option {key!r} of the format {self._name!r} is {' or '.join(map(repr, values))}, not {value!r}"
            )
        return value

    def check_all_used(self) -> None:
        """Raise ValueError for an option that the format does not have."""
        if self._left:
            raise ValueError(
                f"the format {self._name!r} has no option {next(iter(self._left))!r}; it has {', '.join(self._known)}"
            )


@final
@dataclass(frozen=True, slots=True)
class JsonFormat(MessageFormat):
    """A JSON object for each row."""

    fail_on_missing: bool
    iso: bool
    ignore_null_fields: bool

    @staticmethod
    def of(options: FormatOptions) -> JsonFormat:
        """Return the format with options. Raises ValueError."""
        options.flag("encode.decimal-as-plain-number")  # decimals are always plain numbers
        made = JsonFormat(
            options.flag(IGNORE),
            options.flag("fail-on-missing-field"),
            options.choice("timestamp-format.standard", "SQL", "ISO-8601") == "ISO-8601",
            options.flag("encode.ignore-null-fields"),
        )
        if made.ignore_errors and made.fail_on_missing:
            raise ValueError(f"the options {IGNORE!r} and 'fail-on-missing-field' exclude each other")
        return made

    def decoder(self, schema: Schema, columns: Schema) -> MessageDecoder:
        return JsonDecoder(columns, fail_on_missing=self.fail_on_missing)

    def encoder(self, schema: Schema, topic: str, *, is_key: bool) -> MessageEncoder:
        return JsonEncoder(JsonTexts(schema, self.iso, self.ignore_null_fields))


_SPACE: Final = b" \t\r\n"


@final
class JsonDecoder(MessageDecoder):
    """Reads the fields of a schema. A message is exactly one object."""

    def __init__(self, schema: Schema, *, fail_on_missing: bool) -> None:
        self.schema = schema
        self._columns = JsonColumns(schema, fail_on_missing=fail_on_missing)

    def at_once(self, messages: list[bytes]) -> pa.RecordBatch | None:
        block = b"\n".join([message.strip(_SPACE) for message in messages])
        return self._columns.at_once(block) if block.count(b"\n") == len(messages) - 1 else None

    def one(self, message: bytes) -> list[Any]:
        return self._columns.one(message)


@final
class JsonEncoder(MessageEncoder):
    """Writes each row as an object."""

    def __init__(self, texts: JsonTexts) -> None:
        self._texts = texts

    def encode(self, columns: pa.RecordBatch) -> list[bytes | None]:
        found: list[bytes | None] = self._texts.of(columns).cast(pa.binary()).to_pylist()
        return found


@final
@dataclass(frozen=True, slots=True)
class RawFormat(MessageFormat):
    """The bytes of one column, STRING in UTF-8 or BYTES."""

    @staticmethod
    def of(options: FormatOptions) -> RawFormat:
        """Return the format with options. Raises ValueError."""
        options.choice("charset", "UTF-8")
        return RawFormat(options.flag(IGNORE))

    def decoder(self, schema: Schema, columns: Schema) -> MessageDecoder:
        return RawDecoder(_single(schema))

    def encoder(self, schema: Schema, topic: str, *, is_key: bool) -> MessageEncoder:
        _single(schema)
        return RawEncoder()


def _single(schema: Schema) -> Schema:
    if len(schema) != 1 or schema.types[0].kind not in (Kind.VARCHAR, Kind.VARBINARY):
        raise ValueError(f"the format 'raw' is for one column, STRING or BYTES, not for {schema!r}")
    return schema


@final
class RawDecoder(MessageDecoder):
    """Returns messages as they are."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def at_once(self, messages: list[bytes]) -> pa.RecordBatch | None:
        column = pa.array(messages, pa.binary())
        try:
            return pa.RecordBatch.from_arrays([column.cast(self.schema.types[0].arrow)], schema=self.schema.arrow)
        except pa.ArrowException:
            return None  # bytes that are no UTF-8

    def one(self, message: bytes) -> list[Any]:
        return [message if self.schema.types[0].kind is Kind.VARBINARY else message.decode()]


@final
class RawEncoder(MessageEncoder):
    """Writes a column as it is. NULL becomes a message without a value."""

    def encode(self, columns: pa.RecordBatch) -> list[bytes | None]:
        found: list[bytes | None] = columns.column(0).cast(pa.binary()).to_pylist()
        return found


_FORMATS: Final[dict[str, Callable[[FormatOptions], MessageFormat]]] = {"json": JsonFormat.of, "raw": RawFormat.of}


def message_format(name: str, options: Mapping[str, str]) -> MessageFormat:
    """Return a format by its identifier. Raises ValueError for an unknown format or option."""
    if name not in _FORMATS:
        raise ValueError(f"there is no format {name!r} of messages; there is {', '.join(_FORMATS)}")
    given = FormatOptions(name, options)
    made = _FORMATS[name](given)
    given.check_all_used()
    return made
