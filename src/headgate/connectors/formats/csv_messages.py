"""Messages that are lines of CSV, from and to columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import pyarrow as pa

from headgate.columns.schema import Schema
from headgate.connectors.formats.csv_column_writer import CsvTexts
from headgate.connectors.formats.csv_columns import CsvColumns, CsvColumnsDecoder
from headgate.connectors.formats.message_columns import (
    IGNORE,
    FormatOptions,
    MessageDecoder,
    MessageEncoder,
    MessageFormat,
)
from headgate.types.arrow_types import type_of_schema
from headgate.types.csv_dialect import CsvDialect, single
from headgate.types.csv_fields import CsvRows

_ENDS = b"\r\n"


@final
@dataclass(frozen=True, slots=True)
class CsvMessageFormat(MessageFormat):
    """A line of CSV for each row. With `ignore_errors`, a field that does not fit its type is NULL, as in Flink."""

    dialect: CsvDialect
    allow_comments: bool

    @staticmethod
    def of(options: FormatOptions) -> CsvMessageFormat:
        """Return the format with options. Raises ValueError."""
        delimiter = options.text("field-delimiter", ",").replace("\\t", "\t")
        quote = options.text("quote-character", '"')
        escape = options.text("escape-character", "")
        null = options.text("null-literal", "")
        dialect = CsvDialect(
            delimiter=single(delimiter, "field-delimiter"),
            quote=None if options.flag("disable-quote-character") else single(quote, "quote-character"),
            escape=single(escape, "escape-character") if escape else None,
            array_delimiter=options.text("array-element-delimiter", ";"),
            null_literal=null or None,
        )
        return CsvMessageFormat(options.flag(IGNORE), dialect, options.flag("allow-comments"))

    def decoder(self, schema: Schema, columns: Schema) -> MessageDecoder:
        return CsvMessageDecoder(
            CsvColumns(schema, tuple(columns.names), self.dialect, self.ignore_errors, self.allow_comments)
        )

    def encoder(self, schema: Schema, topic: str, *, is_key: bool) -> MessageEncoder:
        CsvRows(types=type_of_schema(schema.arrow), dialect=self.dialect).forms()  # raises for types that CSV lacks
        return CsvMessageEncoder(schema, self.dialect)


@final
class CsvMessageDecoder(MessageDecoder):
    """Reads fields of lines. A message is exactly one line; a field in quotes may have newlines."""

    def __init__(self, columns: CsvColumns) -> None:
        self.schema = columns.schema.only(columns.chosen)
        self._columns = columns
        self._lines = CsvColumnsDecoder(columns)

    def at_once(self, messages: list[bytes]) -> pa.RecordBatch | None:
        lines = [message.rstrip(_ENDS) for message in messages]
        block = b"\n".join(lines)
        return self._lines.rows_at_once(block) if all(lines) and block.count(b"\n") == len(lines) - 1 else None

    def one(self, message: bytes) -> list[Any]:
        found = self._lines.decode(message.rstrip(_ENDS), True)
        if found.broken:
            raise ValueError(found.broken[0].reason)
        rows: Any = found.records
        if len(rows) != 1:
            raise ValueError(f"it has {len(rows)} lines instead of one")
        return [column[0] for column in rows.columns]

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvMessageDecoder, (self._columns,)


@final
class CsvMessageEncoder(MessageEncoder):
    """Writes each row as a line, without a newline at its end."""

    def __init__(self, schema: Schema, dialect: CsvDialect) -> None:
        self._schema = schema
        self._texts = CsvTexts(dialect)

    def encode(self, columns: pa.RecordBatch) -> list[bytes | None]:
        found: list[bytes | None] = self._texts.rows(columns, self._schema).cast(pa.binary()).to_pylist()
        return found
