"""JSON and records: parsed JSON as values of a type, for formats and messages in JSON."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from headgate.errors import ProgramError
from headgate.types.conversion import Conversion, narrowing
from headgate.types.row import make_row
from headgate.types.typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TypeInformation,
    Types,
)

Convert = Callable[[Any], Any]
"""Turns parsed JSON into a value of a type."""
ConvertBatch = Callable[[list[Any]], list[Any]]
"""Turns many values of parsed JSON into values of a type."""


def json_converter(type_info: TypeInformation) -> Convert:
    """Return a function from parsed JSON to a value of the type. It raises ValueError that says what does not fit.

    A row is an object: fields that it lacks are None, fields that the type lacks are left out. Dates and times are
    ISO 8601 text, a decimal is text or a whole number. Null is None everywhere.

    Raises ProgramError for a type that has no form in JSON.

    >>> json_converter(Types.ROW_NAMED(["id", "day"], [Types.LONG(), Types.SQL_DATE()]))({"id": 7, "day": "2024-02-29"})
    Row(id=7, day=datetime.date(2024, 2, 29))
    """
    match type_info:
        case RowTypeInfo():
            return _row(type_info)
        case BasicArrayTypeInfo() | ObjectArrayTypeInfo() | ListTypeInfo():
            return _list(json_converter(type_info.element_type))
        case MapTypeInfo() if type_info.key_type_info == Types.STRING():
            return _map(json_converter(type_info.value_type_info))
        case PickledBytesTypeInfo():
            return _anything
    found = _SIMPLE.get(type_info)
    if found is None:
        raise ProgramError(
            f"the type {type_info} has no form in JSON: use numbers, text, bools, SQL_DATE, SQL_TIME or SQL_TIMESTAMP "
            "for dates and times, and rows, arrays and maps of these, or PICKLED_BYTE_ARRAY for whatever the JSON holds"
        )
    return _simple(type_info, *found)


def json_batch_converter(type_info: TypeInformation) -> ConvertBatch:
    """Return a function from a list of parsed JSON to the values of the type; rows are made column by column.

    It raises ValueError if one does not fit; the function of `json_converter`, called with each, says which and why.

    >>> json_batch_converter(Types.ROW_NAMED(["id"], [Types.LONG()]))([{"id": 1}, {"id": 2}])
    [Row(id=1), Row(id=2)]
    """
    each = json_converter(type_info)
    if not isinstance(type_info, RowTypeInfo):
        return lambda values: list(map(each, values))
    names = type_info.field_names
    columns = list(zip(names, map(_column, type_info.field_types), strict=True))

    def convert(values: list[Any]) -> list[Any]:
        if set(map(type, values)) != {dict}:
            return list(map(each, values))
        made = [column([value.get(name) for value in values]) for name, column in columns]
        return list(map(make_row, zip(*made, strict=True), itertools.repeat(names)))

    return convert


def _column(type_info: TypeInformation) -> Conversion:
    kinds = _AS_THEY_ARE.get(type_info, frozenset()) | {type(None)}
    each = json_converter(type_info)
    bounded = narrowing(type_info) or _anything
    return lambda values: bounded(values) if kinds.issuperset(map(type, values)) else list(map(each, values))


def _row(type_info: RowTypeInfo) -> Convert:
    names = type_info.field_names
    fields = list(zip(names, map(json_converter, type_info.field_types), strict=True))

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not dict:
            raise ValueError(f"{_shown(value)} is not a JSON object")
        get = value.get
        try:
            return make_row([field(get(name)) for name, field in fields], names)
        except ValueError:
            raise _wrong_field(value, fields) from None

    return convert


def _wrong_field(value: dict[str, Any], fields: list[tuple[str, Convert]]) -> ValueError:
    for name, field in fields:
        try:
            field(value.get(name))
        except ValueError as error:
            return ValueError(f"field {name!r}: {error}")
    return ValueError(f"{_shown(value)} does not fit")


def _list(element: Convert) -> Convert:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not list:
            raise ValueError(f"{_shown(value)} is not a JSON array")
        return [element(each) for each in value]

    return convert


def _map(element: Convert) -> Convert:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not dict:
            raise ValueError(f"{_shown(value)} is not a JSON object")
        return {key: element(each) for key, each in value.items()}

    return convert


def _anything(value: Any) -> Any:
    return value


def _simple(type_info: TypeInformation, kinds: frozenset[type], make: Convert | None) -> Convert:
    bounded = narrowing(type_info) or _anything

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if type(value) not in kinds:
            raise ValueError(f"{_shown(value)} is not of type {type_info}")
        try:
            return bounded([value if make is None else make(value)])[0]
        except (ValueError, ArithmeticError):
            raise ValueError(f"{_shown(value)} is not of type {type_info}") from None

    return convert


def _shown(value: Any) -> str:
    return f"{value!r:.100}"


_INTEGERS: Final = (frozenset([int]), None)
_FLOATS: Final = (frozenset([int, float]), float)
_TEXT: Final = frozenset([str])

_SIMPLE: Final[dict[TypeInformation, tuple[frozenset[type], Convert | None]]] = {
    Types.STRING(): (_TEXT, None),
    Types.BOOLEAN(): (frozenset([bool]), None),
    Types.BYTE(): _INTEGERS,
    Types.SHORT(): _INTEGERS,
    Types.INT(): _INTEGERS,
    Types.LONG(): _INTEGERS,
    Types.BIG_INT(): _INTEGERS,
    Types.FLOAT(): _FLOATS,
    Types.DOUBLE(): _FLOATS,
    Types.BIG_DEC(): (frozenset([str, int]), Decimal),
    Types.SQL_DATE(): (_TEXT, datetime.date.fromisoformat),
    Types.SQL_TIME(): (_TEXT, datetime.time.fromisoformat),
    Types.SQL_TIMESTAMP(): (_TEXT, datetime.datetime.fromisoformat),
}

_AS_THEY_ARE: Final = {
    **{type_info: kinds for type_info, (kinds, make) in _SIMPLE.items() if make is None},
    Types.FLOAT(): frozenset([float]),
    Types.DOUBLE(): frozenset([float]),
}
"""The Python types of parsed JSON that are values of the type as they are."""
