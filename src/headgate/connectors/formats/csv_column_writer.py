"""Writes record batches as lines of CSV, by the rules of Flink's format `csv`; texts are made column by column."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.functions.text_forms import shown
from headgate.columns.logical_types import Kind, LogicalType
from headgate.columns.schema import Schema
from headgate.connectors.files.bulk_writer import BatchBulkWriter, BulkWriterFactory
from headgate.connectors.formats.columns import fraction_trimmed, timestamp_texts
from headgate.errors import SinkError
from headgate.types.arrow import type_of_schema
from headgate.types.csv_dialect import UNQUOTED_MAX, CsvDialect
from headgate.types.csv_fields import CsvRows


@final
@dataclass(frozen=True, slots=True)
class CsvColumnsWriterFactory(BulkWriterFactory):
    """Makes writers of CSV without a header. Raises ProgramError for a column whose type CSV does not have."""

    schema: Schema
    dialect: CsvDialect
    suffix: str = ".csv"

    def __post_init__(self) -> None:
        CsvRows(types=type_of_schema(self.schema.arrow), dialect=self.dialect).forms()

    def create(self, stream: pa.NativeFile) -> CsvColumnsWriter:
        return CsvColumnsWriter(self.schema, self.dialect, stream)


@final
class CsvColumnsWriter(BatchBulkWriter):
    """Writes each row as one line."""

    def __init__(self, schema: Schema, dialect: CsvDialect, stream: pa.NativeFile) -> None:
        super().__init__(schema.arrow)
        self._columns = schema
        self._texts = CsvTexts(dialect)
        self._stream = stream

    def write_columns(self, columns: pa.RecordBatch) -> None:
        self._stream.write(self._texts.lines(columns, self._columns))

    def finish(self) -> None:
        """Do nothing: everything is written."""


@final
class CsvTexts:
    """Makes the texts of columns in a dialect."""

    def __init__(self, dialect: CsvDialect) -> None:
        self._dialect = dialect
        self._null = dialect.null_literal or ""
        last = re.escape(max(dialect.quote or "", dialect.delimiter, "\r"))
        self._unsafe = rf"[\x00-{last}\\{re.escape(dialect.escape or '')}]"

    def lines(self, columns: pa.RecordBatch, schema: Schema) -> bytes:
        """Return the lines of a batch. Raises `SinkError` as `rows`."""
        if not columns.num_rows:
            return b""
        lines = self.rows(columns, schema)
        whole = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines), "\n")
        made: bytes = whole[0].as_buffer().to_pybytes()
        return made + b"\n"

    def rows(self, columns: pa.RecordBatch, schema: Schema) -> pa.Array:
        """Return the text of each row. Raises `SinkError` naming the column of an array that cannot be divided."""
        fields = [
            pc.fill_null(self._field(own, kind, name), self._null)
            for own, (name, kind) in zip(columns.columns, schema, strict=True)
        ]
        return pc.binary_join_element_wise(*fields, self._dialect.delimiter) if len(fields) > 1 else fields[0]

    def _field(self, column: pa.Array, kind: LogicalType, name: str) -> pa.Array:
        texts = self._text(column, kind, name)
        return texts if kind.is_number or kind.kind is Kind.BOOLEAN else self._quoted(texts)

    def _quoted(self, texts: pa.Array) -> pa.Array:
        """Quote texts where it may be necessary, as `CsvDialect.quoter` does."""
        quote, escape = self._dialect.quote, self._dialect.escape
        if quote is None:
            return texts
        long = pc.greater(pc.utf8_length(texts), UNQUOTED_MAX)
        escaped = texts if escape is None else pc.replace_substring(texts, escape, escape * 2)
        doubled = pc.replace_substring(escaped, quote, quote * 2)
        within = pc.binary_join_element_wise(pa.scalar(quote), doubled, pa.scalar(quote), pa.scalar(""))
        return pc.if_else(pc.or_(long, pc.match_substring_regex(texts, self._unsafe)), within, texts)

    def _text(self, column: pa.Array, kind: LogicalType, name: str) -> pa.Array:
        match kind.kind:
            case Kind.BOOLEAN:
                return pc.cast(column, pa.string())
            case Kind.TIME:
                return fraction_trimmed(pc.cast(column, pa.string()))
            case Kind.TIMESTAMP | Kind.TIMESTAMP_LTZ:
                return timestamp_texts(column, " ", "Z" if kind.kind is Kind.TIMESTAMP_LTZ else "")
            case Kind.BINARY | Kind.VARBINARY:
                texts = [None if own is None else base64.b64encode(own).decode() for own in column.to_pylist()]
                return pa.array(texts, pa.string())
            case Kind.ARRAY:
                elements = pc.fill_null(self._text(column.flatten(), kind.element, name), self._null)
                ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(column), 0))
                offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends.cast(pa.int32())])
                lists = pa.ListArray.from_arrays(offsets, elements)
                joined = pc.binary_join(lists, self._dialect.array_delimiter)
                self._check(joined, pc.list_value_length(lists), name)
                return pc.if_else(column.is_valid(), joined, None)
            case Kind.ROW:
                inner = [
                    pc.fill_null(self._text(own, inner, name), self._null)
                    for own, (_, inner) in zip(column.flatten(), kind.fields, strict=True)
                ]
                joined = pc.binary_join_element_wise(*inner, self._dialect.array_delimiter)
                self._check(joined, pa.scalar(len(inner)), name)
                return pc.if_else(column.is_valid(), joined, None)
        return shown(kind, "UTC", column)

    def _check(self, joined: pa.Array, counts: pa.Array | pa.Scalar, name: str) -> None:
        """Raise `SinkError` unless texts can be divided again into as many parts."""
        delimiter = self._dialect.array_delimiter
        found = pc.add(pc.count_substring(joined, delimiter), 1) if delimiter else 1
        wrong = pc.and_(pc.greater(counts, 1), pc.not_equal(found, counts))
        if pc.any(wrong).as_py():
            text = joined.filter(wrong)[0].as_py()
            raise SinkError(
                f"column {name!r}: {text!r:.100} cannot be divided by {delimiter!r} again; set "
                "csv.array-element-delimiter to another text"
            )
