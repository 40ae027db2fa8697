"""Values of a type as JSON text, as Flink's JSON format writes them. Columns are written at once."""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, Final

from headgate.connectors.formats import java_text
from headgate.connectors.formats.json_reading import BYTES
from headgate.connectors.formats.records import columns_of
from headgate.errors import ProgramError
from headgate.types.text import text_of
from headgate.types.typeinfo import (
    BasicArrayTypeInfo,
    DecimalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TypeInformation,
    Types,
)

Write = Callable[[Any], str]
"""Writes a value that is not None as JSON. Raises TypeError or ValueError for one of another type."""
WriteColumn = Callable[[list[Any]], list[str]]


def column_writer(type_info: TypeInformation) -> WriteColumn:
    """Return the writer of values of a type. Raises ProgramError for a type that Flink's JSON does not have.

    >>> column_writer(Types.ROW_NAMED(["id", "at"], [Types.INT(), Types.SQL_TIME()]))([(7, datetime.time(12)), None])
    ['{"id":7,"at":"12:00:00Z"}', 'null']
    """
    if isinstance(type_info, RowTypeInfo):
        return _rows(type_info)
    write = _writer(type_info)
    return lambda values: ["null" if value is None else write(value) for value in values]


def _writer(type_info: TypeInformation) -> Write:
    match type_info:
        case PrimitiveArrayTypeInfo() if type_info == BYTES:
            return lambda value: f'"{base64.b64encode(value).decode()}"'
        case PrimitiveArrayTypeInfo() | BasicArrayTypeInfo() | ObjectArrayTypeInfo() | ListTypeInfo():
            elements = column_writer(type_info.element_type)
            return lambda value: f"[{','.join(elements(list(value)))}]"
        case MapTypeInfo():
            return _map(column_writer(type_info.value_type_info))
        case DecimalTypeInfo():
            return _decimal
    found = _SIMPLE.get(type_info)
    if found is None:
        raise ProgramError(f"a {type_info} has no form in JSON: use rows, arrays, maps, and types of single values")
    return found


def _rows(type_info: RowTypeInfo) -> WriteColumn:
    names = type_info.field_names
    columns = list(map(column_writer, type_info.field_types))
    fields = ",".join(f"{encode_basestring(name)}:".replace("%", "%%") + "%s" for name in names)
    template = f"{{{fields}}}"

    def write(values: list[Any]) -> list[str]:
        there = [value for value in values if value is not None]
        written = [column(each) for column, each in zip(columns, columns_of(there, names), strict=True)]
        rows = map(template.__mod__, zip(*written, strict=True)) if names else iter(["{}"] * len(there))
        return (
            list(rows) if len(there) == len(values) else ["null" if value is None else next(rows) for value in values]
        )

    return write


def _map(items: WriteColumn) -> Write:
    def write(value: Any) -> str:
        written = zip(value, items(list(value.values())), strict=True)
        return f"{{{','.join(f'{encode_basestring(str(key))}:{item}' for key, item in written)}}}"

    return write


def _boolean(value: Any) -> str:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r:.100} is neither True nor False")
    return "true" if value else "false"


def _number(text_of: Write) -> Write:
    """Return the writer of numbers; those that are none in JSON are text."""
    return lambda value: text_of(value) if math.isfinite(value) else f'"{text_of(value)}"'


def _decimal(value: Any) -> str:
    return java_text.decimal_text(value if isinstance(value, Decimal) else Decimal(value))


def time_text(value: datetime.time) -> str:
    """Return a time of day, without its fraction of a second."""
    return value.strftime("%H:%M:%S")


def timestamp_text(value: datetime.datetime) -> str:
    """Return a time without zeros at the end of its fraction."""
    text = value.replace(tzinfo=None).isoformat()
    return text.rstrip("0") if value.microsecond else text


instant_text: Final = text_of(Types.INSTANT())

_SIMPLE: Final[dict[TypeInformation, Write]] = {
    Types.STRING(): encode_basestring,
    Types.CHAR(): encode_basestring,
    Types.BOOLEAN(): _boolean,
    **dict.fromkeys([*java_text.BITS, Types.BIG_INT()], int.__repr__),
    Types.FLOAT(): _number(text_of(Types.FLOAT())),
    Types.DOUBLE(): _number(text_of(Types.DOUBLE())),
    Types.BIG_DEC(): _decimal,
    Types.SQL_DATE(): lambda value: f'"{value.isoformat()[:10]}"',
    Types.SQL_TIME(): lambda value: f'"{time_text(value)}Z"',
    Types.SQL_TIMESTAMP(): lambda value: f'"{timestamp_text(value)}Z"',
    Types.INSTANT(): lambda value: f'"{instant_text(value)}"',
    Types.SQL_NULL(): lambda value: "null",
}
