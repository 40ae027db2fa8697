"""Encoders, which turn records into the bytes of a file."""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, final

from headgate.connectors.files.csv_lines import check_delimiter
from headgate.errors import ProgramError, SinkError
from headgate.types.json_text import plain_json
from headgate.types.records import UNWRITABLE
from headgate.types.row import Row
from headgate.types.text import text_of
from headgate.types.text_values import plain_text
from headgate.types.type_information import TypeInformation


class Encoder(ABC):
    """Writes records as lines. Make one with the functions of this class, or derive your own."""

    suffix: str = ""
    """The suffix of the names of files in this encoding, for instance ".jsonl"."""

    def header(self) -> bytes:
        """Return the bytes at the start of each file."""
        return b""

    def of_type(self, record_type: TypeInformation) -> Encoder:
        """Return the encoder for records of a declared type; by default this encoder, which ignores the type."""
        return self

    @abstractmethod
    def encode(self, records: list[Any]) -> bytes:
        """Return the lines of the records, in order. Raises `SinkError` naming a record that cannot be encoded."""

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Return an encoder that writes the text of each record and a newline.

        A record of a declared type is written as Java writes it, as in Flink: `(a,1)` for a tuple, `+I[a, 1]` for a
        row, `true`, `1.0E10`, `null`. Any other record is written as `str(record)`.
        """
        return SimpleStringEncoder(charset_name)

    @staticmethod
    def json_lines_encoder() -> Encoder:
        """Return an encoder that writes each record as one line of JSON.

        A row with names is an object, any other row and a tuple an array; dates, times and intervals are ISO 8601
        text, decimals text, bytes Base64. NaN and the infinities are not JSON and are refused.
        """
        return JsonLinesEncoder()

    @staticmethod
    def csv_encoder(
        columns: Sequence[str], *, header: bool = True, delimiter: str = ",", null_value: str = ""
    ) -> Encoder:
        """Return an encoder that writes each record as a line of CSV, in UTF-8; each file starts with a header.

        A record is a row with these names or a dict with these keys, else a tuple, list or row with as many fields.
        Dates, times and intervals are ISO 8601 text, bytes Base64, booleans true and false, None is `null_value`. A
        field with a delimiter, a quote, a newline or a carriage return is quoted: a reader has to allow newlines within
        quotes (`CsvOptions(multiline=True)`).
        """
        return CsvEncoder(tuple(columns), header, delimiter, null_value)


@final
class SimpleStringEncoder(Encoder):
    """Encodes each record as its text and a newline. `record_type`: the declared type, None if there is none."""

    def __init__(self, charset_name: str, record_type: TypeInformation | None = None) -> None:
        try:
            "".encode(charset_name)
        except LookupError:
            raise ProgramError(f"there is no charset {charset_name!r}; try 'UTF-8'") from None
        self._charset = charset_name
        self._record_type = record_type

    def of_type(self, record_type: TypeInformation) -> Encoder:
        return SimpleStringEncoder(self._charset, record_type)

    def encode(self, records: list[Any]) -> bytes:
        lines = [f"{line}\n" for line in map(text_of(self._record_type), records)]
        try:
            return "".join(lines).encode(self._charset)
        except UnicodeEncodeError as error:
            raise self._not_encodable(lines) from error

    def _not_encodable(self, lines: list[str]) -> SinkError:
        for line in lines:
            try:
                line.encode(self._charset)
            except UnicodeEncodeError as error:
                return SinkError(f"{line[:-1]!r:.200} cannot be written as {self._charset}: {error.reason}")
        raise AssertionError("each record can be written alone")


def unwritable(records: list[Any], write: Callable[[list[Any]], object], form: str, error: Exception) -> SinkError:
    """Return the error for records that cannot be written in a form. It names the first record that fails alone."""
    for record in records:
        try:
            write([record])
        except (*UNWRITABLE, LookupError, RecursionError, csv.Error) as reason:
            return SinkError(f"the record {record!r:.200} cannot be written as {form}: {reason}; map it first")
    return SinkError(f"records cannot be written as {form}: {error}")


@final
class JsonLinesEncoder(Encoder):
    """Encodes each record as a line of JSON."""

    suffix = ".jsonl"

    def encode(self, records: list[Any]) -> bytes:
        try:
            return self._lines(records)
        except (*UNWRITABLE, RecursionError) as error:
            raise unwritable(records, self._lines, "JSON", error) from error

    def _lines(self, records: list[Any]) -> bytes:
        return "".join([f"{plain_json(record)}\n" for record in records]).encode()


@final
class CsvEncoder(Encoder):
    """Encodes each record as a line of CSV."""

    suffix = ".csv"

    def __init__(self, columns: tuple[str, ...], header: bool, delimiter: str, null_value: str) -> None:
        if not columns or len(set(columns)) < len(columns):
            raise ProgramError(f"a CSV file needs columns, each with a name of its own; got {columns}")
        check_delimiter(delimiter)
        self._columns = columns
        self._header = header
        self._delimiter = delimiter
        self._null_value = null_value

    def header(self) -> bytes:
        return self._lines([self._columns]) if self._header else b""

    def encode(self, records: list[Any]) -> bytes:
        try:
            return self._rows(records)
        except (*UNWRITABLE, LookupError, csv.Error) as error:
            raise unwritable(records, self._rows, "CSV", error) from error

    def _rows(self, records: list[Any]) -> bytes:
        return self._lines([self._fields(record) for record in records])

    def _lines(self, rows: Sequence[Sequence[Any]]) -> bytes:
        text = self._text_of(rows, "\n")
        if "\r" in text:  # `csv` quotes a carriage return only if the line terminator contains one
            text = "".join([self._text_of([row], "\r\n").removesuffix("\r\n") + "\n" for row in rows])
        return text.encode()

    def _text_of(self, rows: Sequence[Sequence[Any]], end: str) -> str:
        text = io.StringIO()
        csv.writer(text, delimiter=self._delimiter, lineterminator=end).writerows(rows)
        return text.getvalue()

    def _fields(self, record: Any) -> list[Any]:
        return [value if type(value) in _AS_IT_IS else self._text(value) for value in self._values(record)]

    def _values(self, record: Any) -> Sequence[Any]:
        values: Sequence[Any]
        if isinstance(record, Row):
            values = record._values
            if record._fields is not None and record._fields != self._columns:
                values = _by_name(record.as_dict(), self._columns)
        elif isinstance(record, dict):
            values = _by_name(record, self._columns)
        elif isinstance(record, (tuple, list)):
            values = record
        else:
            raise TypeError("it has no fields")
        if len(values) != len(self._columns):
            raise ValueError(f"it has {len(values)} fields instead of {len(self._columns)}")
        return values

    def _text(self, value: Any) -> str:
        match value:
            case None:
                return self._null_value
            case bool():
                return str(value).lower()
            case str() | int() | float():
                return str(value)
        return plain_text(value)


_AS_IT_IS: Final = frozenset([str, int, float])


def _by_name(values: dict[str, Any], columns: tuple[str, ...]) -> list[Any]:
    if values.keys() != set(columns):
        raise ValueError(f"it has the fields {sorted(values)}, but the columns are {sorted(columns)}")
    return [values[name] for name in columns]
