"""CSV as columns, by the rules of Flink's format `csv`: a block of lines is divided into columns of texts in one call.

Each column of texts then becomes a column of its type. A block with an unusual line is divided line by line, and a
column with an unusual value is converted value by value.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from headgate.columns.logical_types import FLOATS, INTEGERS, POINTS, TEXTS, Kind, LogicalType
from headgate.columns.schema import Schema
from headgate.connectors.files.csv_lines import CsvDecoder, CsvLines
from headgate.connectors.files.lines import BrokenLine, BrokenLines, Decoded, LineDecoder
from headgate.connectors.files.stream_format import StreamFormat
from headgate.types import text_values
from headgate.types.arrow_columns import column_of
from headgate.types.arrow_types import arrow_schema, schema_in_micros, type_of_schema
from headgate.types.csv_dialect import CsvDialect
from headgate.types.csv_fields import FAILURES, CsvRows
from headgate.types.csv_rules import FLINK

_INTEGER: Final = r"^-?[0-9]+$"
_NUMBER: Final = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_TIME: Final = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ORDINARY: Final = {
    **dict.fromkeys(INTEGERS, _INTEGER),
    **dict.fromkeys((*FLOATS, Kind.DECIMAL), _NUMBER),
    Kind.DATE: f"^{_DATE}$",
    Kind.TIME: f"^{_TIME}$",
    Kind.TIMESTAMP: f"^{_DATE} {_TIME}$",
    Kind.TIMESTAMP_LTZ: f"^{_DATE} {_TIME}Z$",
}
"""The texts that Arrow and Flink read as the same value."""


@final
@dataclass(frozen=True, slots=True)
class CsvColumns:
    """How CSV becomes columns. A line has the fields of `schema`; `chosen` names the columns to read.

    With `ignore_errors`, a field that does not fit its type, or is missing, is NULL, and a line that is no CSV is left
    out. Raises ProgramError for a column whose type CSV does not have.
    """

    schema: Schema
    chosen: tuple[str, ...]
    dialect: CsvDialect
    ignore_errors: bool = False
    allow_comments: bool = False
    columns: tuple[_TextColumn, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(map(self._column, self.chosen)))

    def only(self, names: Sequence[str]) -> CsvColumns:
        """Return the same with other columns to read."""
        return replace(self, chosen=tuple(names))

    def _column(self, name: str) -> _TextColumn:
        return _TextColumn(name, self.schema.type_of(name), self._rows(name))

    def _rows(self, name: str) -> CsvRows:
        rules = replace(FLINK, time=text_values.read_time)  # unlike messages, tables have fractions of a second
        own = type_of_schema(pa.schema([(name, self.schema.type_of(name).arrow)]))
        return CsvRows(types=own, dialect=self.dialect, rules=rules, ignore_errors=self.ignore_errors)


@final
class CsvColumnsFormat(StreamFormat):
    """CSV files, read as record batches. One subtask reads a file, because quotes may contain newlines."""

    is_splittable = False

    def __init__(self, columns: CsvColumns) -> None:
        self._columns = columns
        self.broken_lines = BrokenLines.SKIP if columns.ignore_errors else BrokenLines.FAIL

    def decoder(self, header: bytes) -> CsvColumnsDecoder:
        return CsvColumnsDecoder(self._columns)


@final
class CsvColumnsDecoder(LineDecoder):
    """Divides a block into columns of texts at once, or line by line if this fails, and converts the columns."""

    def __init__(self, columns: CsvColumns) -> None:
        self._format = columns
        self._names = columns.schema.names
        self._places = [self._names.index(name) for name in columns.chosen]
        self._arrow = Schema((own.name, own.type) for own in columns.columns).arrow
        dialect = columns.dialect
        is_known = f"{dialect.delimiter}{dialect.quote or ''}".isascii()  # Arrow has no other delimiters and quotes
        self._is_plain = is_known and dialect.escape is None and not columns.allow_comments
        self._parse = pa.csv.ParseOptions(
            delimiter=dialect.delimiter if is_known else ",",
            quote_char=(dialect.quote or False) if is_known else '"',
            newlines_in_values=True,
            ignore_empty_lines=False,
        )
        self._convert = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(self._names, pa.string()), include_columns=columns.chosen
        )
        quote, end = (re.escape(own) for own in (dialect.quote or '"', dialect.delimiter))
        quoted = f"{quote}(?:[^{quote}]++|{quote}{quote})*+{quote}"
        self._is_csv = re.compile(rf"(?:(?:{quoted}|[^{quote}{end}\r\n]*+)(?:{end}|\r?\n))*+".encode()).fullmatch
        lines = CsvLines(dialect=dialect, width=len(self._names), comments=columns.allow_comments, blank_is_row=True)
        self._lines = CsvDecoder(lines, self._fields)

    def _fields(self, lines: list[list[str]]) -> list[Any]:
        """Return the fields of lines in the order of the columns. Raises ValueError for a line of another width."""
        rows, width = self._format.columns[0].rows, len(self._names)
        whole = [rows.fitted(line, width) for line in lines]
        return [[line[place] for place in self._places] for line in whole]

    def decode(self, block: bytes, is_last: bool) -> Decoded:
        texts = self._at_once(block)
        if texts is not None:
            return self._converted(texts, Decoded([]))
        divided = self._lines.decode(block, is_last)
        columns = list(zip(*divided.records, strict=True)) or [()] * len(self._places)
        return self._converted([pa.array(own, pa.string()) for own in columns], divided)

    def rows_at_once(self, block: bytes) -> pa.RecordBatch | None:
        """Return a row for each line of a block; None if a line has to be looked at by itself."""
        texts = self._at_once(block)
        made = None if texts is None else self._converted(texts, Decoded([]))
        return None if made is None or made.broken else made.records

    def _at_once(self, block: bytes) -> list[pa.Array] | None:
        """Return the columns of texts; None if a line has to be looked at by itself."""
        if not self._is_plain or not block or block.startswith((b"\n", b"\r")) or b"\n\n" in block or b"\n\r" in block:
            return None
        quote = (self._format.dialect.quote or "").encode()
        whole = block if block.endswith(b"\n") else block + b"\n"
        if (b"\r" in block or (quote and quote in block)) and not self._is_csv(whole):
            return None
        reading = pa.csv.ReadOptions(use_threads=False, column_names=self._names, block_size=len(whole) + 1)
        try:
            table = pa.csv.read_csv(
                io.BytesIO(whole), read_options=reading, parse_options=self._parse, convert_options=self._convert
            )
        except pa.ArrowException:
            return None
        if table.num_rows != whole.count(b"\n"):
            return None  # a field has a newline: each record's number of lines is needed
        if any((pc.max(pc.utf8_length(own)).as_py() or 0) > csv.field_size_limit() for own in table.columns):
            return None  # line by line, such a field makes its line a broken line
        return [own.combine_chunks() for own in table.columns]

    def _converted(self, texts: list[pa.Array], divided: Decoded) -> Decoded:
        made, wrong = [], {}
        for own, column in zip(self._format.columns, texts, strict=True):
            values, errors = own.converted(column)
            made.append(values)
            wrong.update({row: reason for row, reason in errors.items() if row not in wrong})
        batch = pa.RecordBatch.from_arrays(made, schema=self._arrow)
        if not wrong:
            return Decoded(batch, divided.lines_after, divided.broken, divided.lines_open)
        after = divided.lines_after or list(range(1, batch.num_rows + 1))
        kept = [row for row in range(batch.num_rows) if row not in wrong]
        broken = [BrokenLine(_first_line(row, after, divided.broken), reason) for row, reason in wrong.items()]
        return Decoded(
            batch.take(pa.array(kept, pa.int64())),
            [after[row] for row in kept],
            sorted([*divided.broken, *broken], key=lambda own: own.line),
            divided.lines_open,
        )


def _first_line(row: int, after: list[int], broken: list[BrokenLine]) -> int:
    """Return the line on which a record begins: behind the record, or the broken line, before it."""
    before = [own.line + 1 for own in broken if own.line < after[row]]
    return max([after[row - 1] if row else 0, *before])


@final
@dataclass(frozen=True, slots=True)
class _TextColumn:
    """Makes a column of its type of a column of texts."""

    name: str
    type: LogicalType
    rows: CsvRows
    _read: Callable[[str | None], Any] = field(init=False, compare=False, repr=False)
    _wide: pa.Field = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        ((_, form),) = self.rows.forms()
        exact = self.type.precision > _MICROS if self.type.kind in POINTS else False
        object.__setattr__(self, "_read", self.rows.nullable(form.read, None))
        object.__setattr__(self, "_wide", (arrow_schema if exact else schema_in_micros)(self.rows.types).field(0))

    def converted(self, texts: pa.Array) -> tuple[pa.Array, dict[int, str]]:
        """Return the values, and for each row whose text does not fit the reason."""
        null = self.rows.dialect.null_literal
        given = texts if null is None else pc.if_else(pc.equal(texts, null), None, texts)
        wrong: dict[int, str] = {}
        made = self._parts(given, 0, wrong)
        if not self.type.nullable:
            for row in pc.indices_nonzero(made.is_null()).to_pylist():
                wrong.setdefault(row, f"field {self.name!r} is NULL, but the column is NOT NULL")
        return made, wrong

    def _parts(self, texts: pa.Array, first: int, wrong: dict[int, str]) -> pa.Array:
        """Convert all texts at once, or halve them until the unusual texts are alone. `first` is the first row."""
        made = _at_once(texts, self.type)
        if made is not None:
            return made
        half = len(texts) // 2
        if half and self.type.kind in _ORDINARY:
            parts = [
                self._parts(texts.slice(0, half), first, wrong),
                self._parts(texts.slice(half), first + half, wrong),
            ]
            return pa.concat_arrays(parts)
        values = [self._value(text, first + row, wrong) for row, text in enumerate(texts.to_pylist())]
        return column_of(values, self._wide, self.name).cast(self.type.arrow, safe=False)

    def _value(self, text: str | None, row: int, wrong: dict[int, str]) -> Any:
        try:
            return self._read(text)
        except FAILURES as error:
            wrong[row] = f"field {self.name!r}: {error}"
            return None


_MICROS: Final = 6
"""Digits after the second of Python's times."""


def _at_once(texts: pa.Array, kind: LogicalType) -> pa.Array | None:
    """Return the values of ordinary texts; None if a text is unusual, or does not fit."""
    if kind.kind in TEXTS:
        return texts
    if kind.kind is Kind.BOOLEAN:
        return pc.equal(pc.utf8_lower(pc.utf8_trim_whitespace(texts)), "true")
    pattern = _ORDINARY.get(kind.kind)
    if pattern is None or pc.all(pc.match_substring_regex(texts, pattern)).as_py() is False:
        return None
    try:
        if kind.kind is not Kind.TIME:
            return pc.cast(texts, kind.arrow)
        days = pc.binary_join_element_wise(pa.scalar("1970-01-01"), texts, pa.scalar(" "))
        return pc.cast(pc.cast(days, pa.timestamp(kind.arrow.unit)), kind.arrow)
    except pa.ArrowException:
        return None
