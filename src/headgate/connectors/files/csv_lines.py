"""CSV: each line a row of fields."""

from __future__ import annotations

import csv
import datetime
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Protocol, final

from headgate.connectors.files.lines import (
    BYTE_ORDER_MARK,
    BrokenLine,
    BrokenLines,
    Decoded,
    LineDecoder,
    split_lines,
)
from headgate.errors import ProgramError
from headgate.types.conversion import Conversion, narrowing
from headgate.types.row import Row, make_row
from headgate.types.typeinfo import RowTypeInfo, TypeInformation, Types

Convert = Callable[[str], Any]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvOptions:
    """How CSV files are written. Fields may stand in double quotes; a quote within is doubled.

    `types` names the columns to keep, in this order, and their types; without it a row has all columns of the header,
    as text. With `header` the first line of each file names the columns; without it `types` must name all of them.
    A field equal to `null_value` is None in the record; one of over 128 KiB makes its line a broken one. `multiline`
    allows newlines within quotes; each file is then read by one subtask, since it cannot be told from the middle of a
    file which newline ends a record.
    """

    types: RowTypeInfo | None = None
    header: bool = True
    delimiter: str = ","
    null_value: str | None = None
    multiline: bool = False
    charset_name: str = "UTF-8"
    broken_lines: BrokenLines = BrokenLines.FAIL


@final
@dataclass(frozen=True, slots=True)
class CsvColumns:
    """Which fields of a line become which fields of the record.

    `converters` holds None for text; None: all is text. `bounds` check the range of numbers of a column.
    """

    width: int
    names: tuple[str, ...]
    places: list[int]
    converters: list[Convert | None] | None
    bounds: list[Conversion | None] | None


def check_options(options: CsvOptions) -> None:
    """Raise ProgramError unless files can be written so."""
    if not options.header and options.types is None:
        raise ProgramError("CSV files without a header need `types`, to name their columns")
    check_delimiter(options.delimiter)
    _converters(options.types)


def check_delimiter(delimiter: str) -> None:
    """Raise ProgramError unless fields can be told apart by it."""
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ProgramError(f"{delimiter!r} cannot separate the fields of a CSV file; give one character")


def columns_of(options: CsvOptions, charset: str, header: bytes) -> CsvColumns:
    """Return the columns of a file that starts with this header. Raises ValueError saying what is wrong with it."""
    types = options.types
    if not options.header:
        assert types is not None
        found = list(types.field_names)
    else:
        text = header.removeprefix(BYTE_ORDER_MARK).decode(charset)
        try:
            found = next(csv.reader(split_lines(text), strict=True, delimiter=options.delimiter), [])
        except csv.Error as error:
            raise ValueError(f"the header is not CSV: {error}") from error
    if len(set(found)) < len(found):
        raise ValueError(f"the header names a column twice: {', '.join(found)}")
    names = tuple(found) if types is None else tuple(types.field_names)
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"the header has no column {', '.join(missing)}; it has {', '.join(found)}")
    places = [found.index(name) for name in names]
    return CsvColumns(len(found), names, places, _converters(types), _bounds(types))


@final
@dataclass(frozen=True, slots=True)
class ParsedLines:
    """A row, or the reason why there is none, and the lines it takes up."""

    first: int
    after: int
    fields: list[str] | None
    reason: str = ""


@final
class CsvDecoder(LineDecoder):
    """Decodes a block column by column, or row by row when something in it is out of the ordinary."""

    def __init__(self, options: CsvOptions, charset: str, columns: CsvColumns) -> None:
        self._null_value = options.null_value
        self._multiline = options.multiline
        self._delimiter = options.delimiter
        self._charset = charset
        self._columns = columns

    def decode(self, block: bytes, is_last: bool) -> Decoded:
        try:
            text = block.decode(self._charset)
        except UnicodeDecodeError:
            return self._decode_each(block.decode(self._charset, "surrogateescape"), is_last)
        if self._multiline and '"' in text:
            return self._decode_each(text, is_last)
        records = self._decode_at_once(split_lines(text))
        return self._decode_each(text, is_last) if records is None else Decoded(records)

    def _decode_at_once(self, lines: list[str]) -> list[Row] | None:
        """Return a record for each line, or None if a line is blank, broken or goes on in the next."""
        try:
            rows = list(csv.reader(lines, strict=True, delimiter=self._delimiter))
            if len(rows) != len(lines) or set(map(len, rows)) - {self._columns.width}:
                return None
            return self._rows(rows)
        except (csv.Error, ValueError, ArithmeticError):
            return None

    def _rows(self, rows: list[list[str]]) -> list[Row]:
        names = itertools.repeat(self._columns.names)
        converters = self._columns.converters
        if converters is None and self._null_value is None:
            return list(map(make_row, rows, names))
        columns = list(zip(*rows, strict=True))
        wanted = [columns[place] for place in self._columns.places] if columns else []
        each = converters or [None] * len(wanted)
        bounds = self._columns.bounds or [None] * len(wanted)
        values = list(map(self._column, wanted, each, bounds))
        return list(map(make_row, zip(*values, strict=True), names))

    def _column(self, column: Iterable[str], convert: Convert | None, bound: Conversion | None) -> Iterable[Any]:
        values = self._converted(column, convert)
        return values if bound is None else bound(list(values))

    def _converted(self, column: Iterable[str], convert: Convert | None) -> Iterable[Any]:
        null = self._null_value
        if null is None:
            return column if convert is None else map(convert, column)
        if convert is None:
            return [None if text == null else text for text in column]
        return [None if text == null else convert(text) for text in column]

    def _decode_each(self, text: str, is_last: bool) -> Decoded:
        parsed = parse_multiline(text, self._parser) if self._multiline else self._parse(text)
        return decode_each(parsed, self._record, goes_on=self._multiline and not is_last)

    def _record(self, parsed: ParsedLines) -> Row | str | None:
        """Return the record, None for a blank line, or the reason why the line is broken."""
        if parsed.fields is None:
            return parsed.reason
        if not parsed.fields:
            return None
        if len(parsed.fields) != self._columns.width:
            return f"it has {len(parsed.fields)} fields instead of {self._columns.width}"
        try:
            "".join(parsed.fields).encode("utf-8")
        except UnicodeEncodeError:
            return f"it is not {self._charset}"
        try:
            return self._rows([parsed.fields])[0]
        except (ValueError, ArithmeticError):
            return self._wrong_field(parsed.fields)

    def _wrong_field(self, fields: list[str]) -> str:
        columns = self._columns
        for name, place, convert, bound in zip(
            columns.names, columns.places, columns.converters or [], columns.bounds or [], strict=True
        ):
            try:
                list(self._column([fields[place]], convert, bound))
            except (ValueError, ArithmeticError) as error:
                return f"column {name!r} holds {fields[place]!r}: {error}"
        return "a field has the wrong type"

    def _parse(self, text: str) -> Iterator[ParsedLines]:
        for index, line in enumerate(split_lines(text)):
            try:
                fields = next(csv.reader([line], strict=True, delimiter=self._delimiter))
            except csv.Error as error:
                yield ParsedLines(index, index + 1, None, str(error))
            else:
                yield ParsedLines(index, index + 1, fields)

    def _parser(self, lines: list[str]) -> LinesParser:
        return csv.reader(lines, strict=True, delimiter=self._delimiter)


class LinesParser(Iterator[list[str]], Protocol):
    """What `csv.reader` returns."""

    line_num: int


def parse_multiline(text: str, parser: Callable[[list[str]], LinesParser]) -> Iterator[ParsedLines]:
    """Yield the rows of lines, of which quotes may make several one."""
    lines = [f"{line}\n" for line in text.removesuffix("\n").split("\n")]
    start = after = 0
    reader = parser(lines)
    while after < len(lines):
        first = after
        fields, reason = _next_row(reader)
        after = start + reader.line_num
        yield ParsedLines(first, after, fields, reason)
        if fields is None:
            # Its first line alone is broken; the lines that an open quote swallowed are read for themselves.
            start = after = first + 1
            reader = parser(lines[start:])


def decode_each(
    lines: Iterable[ParsedLines], record_of: Callable[[ParsedLines], Row | str | None], *, goes_on: bool
) -> Decoded:
    """Return the records of rows: `record_of` returns one, None for no record, or why the row is broken.

    `goes_on`: there is another block, where a quote that is open may be closed.
    """
    decoded = Decoded([], [])
    assert decoded.lines_after is not None
    for parsed in lines:
        if parsed.fields is None and parsed.reason == _UNFINISHED and goes_on:
            decoded.lines_open = parsed.after - parsed.first
            break
        record = record_of(parsed)
        if isinstance(record, str):
            decoded.broken.append(BrokenLine(parsed.first, record))
        elif record is not None:
            decoded.records.append(record)
            decoded.lines_after.append(parsed.after)
    return decoded


def _next_row(reader: Iterator[list[str]]) -> tuple[list[str] | None, str]:
    try:
        return next(reader), ""
    except csv.Error as error:
        return None, str(error)


_UNFINISHED: Final = "unexpected end of data"
"""What `csv` says when a quote is not closed."""


def _converters(types: RowTypeInfo | None) -> list[Convert | None] | None:
    if types is None:
        return None
    return [_converter(name, kind) for name, kind in zip(types.field_names, types.field_types, strict=True)]


def _bounds(types: RowTypeInfo | None) -> list[Conversion | None] | None:
    return None if types is None else list(map(narrowing, types.field_types))


def _converter(name: str, kind: TypeInformation) -> Convert | None:
    if kind == Types.STRING():
        return None
    found = _CONVERTERS.get(kind)
    if found is None:
        raise ProgramError(f"column {name!r} cannot be a {kind} in CSV; read it as Types.STRING() and map it")
    return found


def _integer(text: str) -> int:
    if "_" in text:
        raise ValueError("a number has no '_'")
    return int(text)


def _float(text: str) -> float:
    if "_" in text:
        raise ValueError("a number has no '_'")
    return float(text)


def _boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.lower()]
    except KeyError:
        raise ValueError("neither true nor false") from None


_BOOLEANS: Final = {"true": True, "false": False}

_CONVERTERS: Final[dict[TypeInformation, Convert]] = {
    Types.BOOLEAN(): _boolean,
    Types.BYTE(): _integer,
    Types.SHORT(): _integer,
    Types.INT(): _integer,
    Types.LONG(): _integer,
    Types.BIG_INT(): _integer,
    Types.FLOAT(): _float,
    Types.DOUBLE(): _float,
    Types.BIG_DEC(): Decimal,
    Types.SQL_DATE(): datetime.date.fromisoformat,
    Types.SQL_TIME(): datetime.time.fromisoformat,
    Types.SQL_TIMESTAMP(): datetime.datetime.fromisoformat,
}
