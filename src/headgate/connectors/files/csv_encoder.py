"""CSV as it is written: records as lines of fields."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, final

from headgate.connectors.files.encoders import Encoder
from headgate.errors import ProgramError, SinkError
from headgate.types.row import Row


@final
class CsvEncoder(Encoder):
    """A line of CSV for each record."""

    suffix = ".csv"

    def __init__(self, columns: tuple[str, ...], header: bool, delimiter: str, null_value: str) -> None:
        if not columns or len(set(columns)) < len(columns):
            raise ProgramError(f"a CSV file needs columns, each with a name of its own; got {columns}")
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise ProgramError(f"{delimiter!r} cannot separate the fields of a CSV file; give one character")
        self._columns = columns
        self._header = header
        self._delimiter = delimiter
        self._null_value = null_value

    def header(self) -> bytes:
        return self._lines([self._columns]) if self._header else b""

    def encode(self, records: list[Any]) -> bytes:
        try:
            return self._lines([self._fields(record) for record in records])
        except (TypeError, ValueError, LookupError, csv.Error) as error:
            raise self._not_csv(records, error) from error

    def _lines(self, rows: Sequence[Sequence[Any]]) -> bytes:
        text = io.StringIO()
        csv.writer(text, delimiter=self._delimiter, lineterminator="\n").writerows(rows)
        return text.getvalue().encode()

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
            case datetime.datetime() | datetime.date() | datetime.time():
                return value.isoformat()
            case str() | int() | float() | Decimal():
                return str(value)
        raise TypeError(f"a {type(value).__name__} has no form in CSV")

    def _not_csv(self, records: list[Any], error: Exception) -> SinkError:
        for record in records:
            try:
                self._lines([self._fields(record)])
            except (TypeError, ValueError, LookupError, csv.Error) as reason:
                return SinkError(f"the record {record!r:.200} cannot be written as CSV: {reason}; map it first")
        return SinkError(f"records cannot be written as CSV: {error}")


_AS_IT_IS: Final = frozenset([str, int, float])


def _by_name(values: dict[str, Any], columns: tuple[str, ...]) -> list[Any]:
    if values.keys() != set(columns):
        raise ValueError(f"it has the fields {sorted(values)}, but the columns are {sorted(columns)}")
    return [values[name] for name in columns]
