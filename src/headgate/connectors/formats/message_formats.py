"""Flink's formats of messages by their identifiers and options; among them json and raw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import pyarrow as pa

from headgate.columns.logical_types import Kind
from headgate.columns.schema import Schema
from headgate.connectors.formats.json_columns import JsonColumns
from headgate.connectors.formats.json_texts import JsonTexts
from headgate.connectors.formats.message_columns import (
    IGNORE,
    FormatOptions,
    MessageDecoder,
    MessageEncoder,
    MessageFormat,
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


def _csv(options: FormatOptions) -> MessageFormat:
    from headgate.connectors.formats.csv_messages import CsvMessageFormat  # noqa: PLC0415  # takes long to load

    return CsvMessageFormat.of(options)


def _avro(options: FormatOptions) -> MessageFormat:
    from headgate.connectors.formats.avro_message_columns import AvroMessageFormat  # noqa: PLC0415  # fastavro is an extra

    return AvroMessageFormat.of(options)


def _avro_confluent(options: FormatOptions) -> MessageFormat:
    from headgate.connectors.formats.avro_message_columns import ConfluentFormat  # noqa: PLC0415  # an extra

    return ConfluentFormat.of(options)


_FORMATS: Final[dict[str, Callable[[FormatOptions], MessageFormat]]] = {
    "json": JsonFormat.of,
    "csv": _csv,
    "avro": _avro,
    "avro-confluent": _avro_confluent,
    "raw": RawFormat.of,
}


def message_format(name: str, options: Mapping[str, str]) -> MessageFormat:
    """Return a format by its identifier. Raises ValueError for an unknown format or option."""
    if name not in _FORMATS:
        raise ValueError(f"there is no format {name!r} of messages; there is {', '.join(_FORMATS)}")
    given = FormatOptions(name, options)
    made = _FORMATS[name](given)
    given.check_all_used()
    return made
