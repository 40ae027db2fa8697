"""Values as JSON text: by their type, column by column, as Flink's JSON format writes them, or by their class."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, Final

from headgate.errors import ProgramError
from headgate.types import text_values
from headgate.types.fold import NoForm, SequenceTypeInfo, TypeFold, always
from headgate.types.records import write_columns
from headgate.types.row import Row
from headgate.types.text import text_of
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import BasicTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo, Types

Write = Callable[[Any], str]
"""Writes a value that is not None as JSON. Raises TypeError or ValueError for a value of another type."""
WriteColumn = Callable[[list[Any]], list[str]]


def column_writer(type_info: TypeInformation) -> WriteColumn:
    """Return the writer of values of a type. Raises ProgramError for a type that has no form in JSON.

    >>> column_writer(Types.ROW_NAMED(["id", "at"], [Types.INT(), Types.SQL_TIME()]))([(7, dt.time(12)), None])
    ['{"id":7,"at":"12:00:00Z"}', 'null']
    """
    return _WRITERS.of(type_info)


def _of(write: Write) -> WriteColumn:
    return lambda values: ["null" if value is None else write(value) for value in values]


def _quoted(text: Write) -> WriteColumn:
    """Return a writer of texts without characters that need an escape."""
    return _of(lambda value: f'"{text(value)}"')


def _decimal(value: Any) -> str:
    return text_values.decimal_text(value if isinstance(value, Decimal) else Decimal(value))


class _Writers(TypeFold[WriteColumn]):
    """The writers of all types."""

    def refusal(self, type_info: TypeInformation, path: str) -> ProgramError:
        return ProgramError(
            f"{f'field {path!r} is' if path else 'there is'} a {type_info}, which has no form in JSON: use rows, "
            "arrays, maps, and types of single values"
        )

    string = always(_of(encode_basestring))
    boolean = always(_of(text_values.boolean_text))
    integer = always(_of(int.__repr__))

    def floating(self, type_info: BasicTypeInfo) -> WriteColumn:
        text = text_of(type_info)
        return _of(lambda value: text(value) if math.isfinite(value) else f'"{text(value)}"')

    decimal = always(_of(_decimal))
    instant = always(_quoted(text_of(Types.INSTANT())))
    date = always(_quoted(text_values.date_text))
    time = always(_quoted(lambda value: f"{text_values.whole_seconds(value)}Z"))
    timestamp = always(_quoted(lambda value: f"{_timestamp(text_values.zoneless(value))}Z"))
    interval = always(_quoted(text_values.interval_text))
    null = always(_of(lambda value: "null"))
    binary = always(_quoted(text_values.bytes_text))

    def pickled(self) -> WriteColumn:
        raise NoForm

    def sequence(self, type_info: SequenceTypeInfo, element: WriteColumn) -> WriteColumn:
        return _of(lambda value: f"[{','.join(element(list(value)))}]")

    def mapping(self, type_info: MapTypeInfo, key: WriteColumn, value: WriteColumn) -> WriteColumn:
        def write(items: Any) -> str:
            written = zip(items, value(list(items.values())), strict=True)
            return f"{{{','.join(f'{encode_basestring(str(name))}:{item}' for name, item in written)}}}"

        return _of(write)

    def tuple(self, type_info: TupleTypeInfo, fields: Sequence[WriteColumn]) -> WriteColumn:
        def write(value: Any) -> str:
            return f"[{','.join([own([item])[0] for own, item in zip(fields, value, strict=True)])}]"

        return _of(write)

    def row(self, type_info: RowTypeInfo, fields: Sequence[WriteColumn]) -> WriteColumn:
        names = type_info.field_names
        template = ",".join(f"{encode_basestring(name)}:".replace("%", "%%") + "%s" for name in names)
        write_row = f"{{{template}}}".__mod__

        def write(values: list[Any]) -> list[str]:
            there = [value for value in values if value is not None]
            written = write_columns(there, names, fields)
            rows = map(write_row, zip(*written, strict=True)) if names else iter(["{}"] * len(there))
            if len(there) == len(values):
                return list(rows)
            return ["null" if value is None else next(rows) for value in values]

        return write


_WRITERS: Final = _Writers()


def _timestamp(value: dt.datetime) -> str:
    """Return a time without zeros at the end of its fraction."""
    text = value.isoformat()
    return text.rstrip("0") if value.microsecond else text


# --- values whose type is not known


def _plain(value: object) -> Any:
    if isinstance(value, Row):
        return value.as_dict() if value._fields is not None else list(value)
    return text_values.plain_text(value)


plain_json: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode
"""Writes any value by its class: rows with names as objects, other rows as arrays.

Values that JSON does not have are written as text. Raises TypeError for a value of an unknown class, ValueError for a
number that JSON does not have.
"""
