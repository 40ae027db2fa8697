"""Decodes CSV, in which each line is a row of fields."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, final

from headgate.connectors.files.lines import BYTE_ORDER_MARK, BrokenLine, BrokenLines, Decoded, LineDecoder, split_lines
from headgate.errors import ProgramError
from headgate.types.csv_dialect import CsvDialect, LinesParser
from headgate.types.csv_fields import FAILURES, CsvRows
from headgate.types.csv_rules import FILES
from headgate.types.row import Row
from headgate.types.typeinfo import RowTypeInfo, Types


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvOptions:
    """The dialect and columns of CSV files. Fields may be in double quotes; a quote within them is doubled.

    `types` names the columns to keep, in this order, and their types; without it a row has all columns of the header,
    as text. With `header` the first line of each file names the columns; without it `types` must name all of them.
    A field equal to `null_value` is None in the record. A field of over 128 KiB makes its line a broken line.
    `multiline` allows newlines within quotes. One subtask then reads each file, because the middle of a file does not
    show which newline ends a record.
    """

    types: RowTypeInfo | None = None
    header: bool = True
    delimiter: str = ","
    null_value: str | None = None
    multiline: bool = False
    charset_name: str = "UTF-8"
    broken_lines: BrokenLines = BrokenLines.FAIL


def check_options(options: CsvOptions) -> None:
    """Raise ProgramError if files cannot be read with these options."""
    if not options.header and options.types is None:
        raise ProgramError("CSV files without a header need `types`, to name their columns")
    check_delimiter(options.delimiter)
    if options.types is not None:
        CsvRows(types=options.types, dialect=CsvDialect(), rules=FILES).reader()


def check_delimiter(delimiter: str) -> None:
    """Raise ProgramError unless the delimiter can separate fields."""
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ProgramError(f"{delimiter!r} cannot separate the fields of a CSV file; give one character")


def decoder_of(options: CsvOptions, charset: str, header: bytes) -> CsvDecoder:
    """Return the decoder of a file that starts with this header. Raises ValueError saying what is wrong with it."""
    types, dialect = options.types, CsvDialect(delimiter=options.delimiter, null_literal=options.null_value)
    found = header_names(header, dialect, charset) if options.header else None
    if found is None:
        assert types is not None
        found = list(types.field_names)
    if len(set(found)) < len(found):
        raise ValueError(f"the header names a column twice: {quoted_names(found)}")
    types = RowTypeInfo([Types.STRING()] * len(found), found) if types is None else types
    missing = [name for name in types.field_names if name not in found]
    if missing:
        raise ValueError(f"the header has no column {quoted_names(missing)}; it has {quoted_names(found)}")
    names = list(types.field_names)
    places = None if names == found else [found.index(name) for name in names]
    rows = CsvRows(types=types, dialect=dialect, rules=FILES)
    lines = CsvLines(dialect=dialect, width=len(found), charset=charset, multiline=options.multiline)
    return CsvDecoder(lines, rows.reader(len(found), places))


def header_names(header: bytes, dialect: CsvDialect, charset: str) -> list[str]:
    """Return the names in a header. Raises ValueError if it is not CSV."""
    try:
        return dialect.parse_first(header.removeprefix(BYTE_ORDER_MARK).decode(charset))
    except csv.Error as error:
        raise ValueError(f"the header is not CSV: {error}") from error


def quoted_names(names: list[str]) -> str:
    """Return the names of columns as a message shows them."""
    return ", ".join(map(repr, names))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvLines:
    """How the lines of a file become rows of `width` fields. `multiline`: quoted fields may contain newlines.

    `comments`: lines that begin with "#" are left out. `blank_is_row`: a blank line is a row with one empty field;
    otherwise it is no row. `cut`: fields beyond the last column are left out.
    """

    dialect: CsvDialect
    width: int
    charset: str = "UTF-8"
    multiline: bool = True
    comments: bool = False
    blank_is_row: bool = False
    cut: bool = False


@final
@dataclass(frozen=True, slots=True)
class _Parsed:
    """The fields of a row, or the reason why it is broken, and the number of its lines."""

    first: int
    after: int
    fields: list[str] | None
    reason: str = ""


@final
class CsvDecoder(LineDecoder):
    """Decodes a block column by column. A block with an unusual line is decoded row by row.

    `read` makes rows of the fields of lines.
    """

    def __init__(self, lines: CsvLines, read: Callable[[list[list[str]]], list[Row]]) -> None:
        dialect = lines.dialect
        special = {dialect.quote, dialect.escape} if lines.multiline else set()
        self._lines = lines
        self._read = read
        self._special = [each for each in special | ({"#"} if lines.comments else set()) if each is not None]

    def decode(self, block: bytes, is_last: bool) -> Decoded:
        try:
            text = block.decode(self._lines.charset)
        except UnicodeDecodeError:
            return self._decode_each(block.decode(self._lines.charset, "surrogateescape"), is_last)
        records = None if any(each in text for each in self._special) else self._decode_at_once(split_lines(text))
        return self._decode_each(text, is_last) if records is None else Decoded(records)

    def _decode_at_once(self, lines: list[str]) -> list[Row] | None:
        """Return a record for each line, or None if a line is no record, is broken, or continues in the next line."""
        try:
            rows = list(self._lines.dialect.parser(lines))
            if self._lines.blank_is_row:
                rows = [row or [""] for row in rows]
            return self._read(rows) if len(rows) == len(lines) else None
        except (csv.Error, *FAILURES):
            return None

    def _decode_each(self, text: str, is_last: bool) -> Decoded:
        """Return the records of a text. Unless the text is the last, the next text may close an open quote."""
        decoded = Decoded([], [])
        assert decoded.lines_after is not None
        multiline = self._lines.multiline
        for parsed in _parse_multiline(text, self._lines.dialect.parser) if multiline else self._parse(text):
            if parsed.fields is None and parsed.reason == _UNFINISHED and multiline and not is_last:
                decoded.lines_open = parsed.after - parsed.first
                break
            record = self._record(parsed)
            if isinstance(record, str):
                decoded.broken.append(BrokenLine(parsed.first, record))
            elif record is not None:
                decoded.records.append(record)
                decoded.lines_after.append(parsed.after)
        return decoded

    def _record(self, parsed: _Parsed) -> Row | str | None:
        """Return the record, None for a line without a record, or the reason why the line is broken."""
        lines, fields = self._lines, parsed.fields
        if fields is None:
            return parsed.reason
        if not fields:
            if lines.comments or not lines.blank_is_row:
                return None
            fields = [""]
        if lines.comments and fields[0].lstrip().startswith("#"):
            return None
        if lines.cut:
            fields = fields[: lines.width]
        try:
            "".join(fields).encode()
            return self._read([fields])[0]
        except UnicodeEncodeError:
            return f"it is not {lines.charset}"
        except FAILURES as error:
            return str(error)

    def _parse(self, text: str) -> Iterator[_Parsed]:
        for index, line in enumerate(split_lines(text)):
            fields, reason = _next_row(self._lines.dialect.parser([line]))
            yield _Parsed(index, index + 1, fields, reason)


def _parse_multiline(text: str, parser: Callable[[list[str]], LinesParser]) -> Iterator[_Parsed]:
    """Yield the rows of lines. A quoted newline joins two lines into one row."""
    lines = [f"{line}\n" for line in text.removesuffix("\n").split("\n")]
    start = after = 0
    reader = parser(lines)
    while after < len(lines):
        first = after
        fields, reason = _next_row(reader)
        after = start + reader.line_num
        yield _Parsed(first, after, fields, reason)
        if fields is None:
            # Only the first line is broken: the lines after the open quote are parsed again, as lines of their own.
            start = after = first + 1
            reader = parser(lines[start:])


def _next_row(reader: Iterator[list[str]]) -> tuple[list[str] | None, str]:
    try:
        return next(reader), ""
    except csv.Error as error:
        return None, str(error)


_UNFINISHED: Final = "unexpected end of data"
"""The error message of `csv` for a quote that is not closed."""
