"""Conversion: the values of a column as values of a declared type, as PyFlink's coders make them.

A whole column is converted at a time, and comes back as it is where every value is of its type already: then what a
declared type costs is a look at the classes of the values.

========================  ==============================================================================================
BYTE ... LONG, BIG_INT    an int; other numbers lose their fraction; out of range is refused, except for BIG_INT
FLOAT, DOUBLE             a float; of FLOAT the nearest number of 32 bits
BOOLEAN                   a bool; other numbers by whether they are 0 without their fraction: 0.5 is False
BIG_DEC                   a Decimal; other numbers and texts by their digits
STRING, CHAR              a str; nothing else is accepted
dates and times           of a datetime the date, or the time of day
arrays, LIST              a list, of any sequence; of BYTE: `bytes`, of `bytearray` and `memoryview` as well
MAP                       a dict
TUPLE                     a tuple, of a list or a `Row` of the same length
ROW                       a `Row` with the names and order of the type: of a row with names, or a dict, the fields of
                          these names; of a row without names, a tuple or a list, all fields by position
========================  ==============================================================================================

None is a value of every type. PICKLED_BYTE_ARRAY, and a type that is not in the table, accept every value as it is.
"""

from __future__ import annotations

import datetime as dt
import reprlib
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import chain, islice
from numbers import Number
from typing import Any, Final

from headgate.types.instant import Instant
from headgate.types.row import Row, RowKind, make_rows
from headgate.types.sql_types import (
    DateTypeInfo,
    DecimalTypeInfo,
    IntervalTypeInfo,
    NullTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    Types,
)

_INSERT: Final = RowKind.INSERT
_NONE: Final = type(None)
Column = Sequence[Any]
Conversion = Callable[[Column], Column]
"""Returns the values as those of a type: the same object if nothing changes. Raises TypeError, ValueError or
OverflowError if one of them cannot be; `culprit` says which."""

UNFIT: Final = (TypeError, ValueError, OverflowError, InvalidOperation)
"""What a conversion raises."""

_INTEGERS: Final[dict[BasicType, str | None]] = {
    BasicType.BYTE: "b",
    BasicType.SHORT: "h",
    BasicType.INT: "i",
    BasicType.LONG: "q",
    BasicType.BIG_INT: None,
}
"""The integers by the `array` that holds them: None if any size does."""


def conversion(type_info: TypeInformation) -> Conversion | None:
    """Return the conversion to a type, None if every value is one of it.

    >>> to_row = conversion(RowTypeInfo([BasicTypeInfo.INT_TYPE_INFO()], ["n"]))
    >>> to_row([(1,), Row(2.0), Row(n=3, more=4), None])
    [Row(n=1), Row(n=2), Row(n=3), None]
    """
    make = _MAKERS.get(type(type_info))
    return None if make is None else make(type_info)


def narrowing(type_info: TypeInformation) -> Conversion | None:
    """Return the conversion to a type of numbers with bounds: it checks their range, and rounds to 32 bits; else None.

    For values that are of the type's class already, such as those read from text.
    """
    return conversion(type_info) if type_info in _BOUNDED else None


def culprit(convert: Conversion, column: Column) -> tuple[int, Exception]:
    """Return the index of the first value that the conversion fails for, and how it does."""
    for index, value in enumerate(column):
        try:
            convert([value])
        except UNFIT as error:
            return index, error
    raise AssertionError("each value can be converted alone")


def _each(exact: type, one: Callable[[Any], Any]) -> Conversion:
    """Return the conversion of values that are of the class `exact` already, or become so by `one`."""
    fitting = ({exact}, {exact, _NONE}, {_NONE})

    def convert(column: Column) -> Column:
        if set(map(type, column)) in fitting:
            return column
        return [value if value is None or type(value) is exact else one(value) for value in column]

    return convert


def _unlike(value: object, wanted: str) -> TypeError:
    return TypeError(f"{reprlib.repr(value)} is of type {type(value).__name__}, not {wanted}")


_BOUNDED: Final = frozenset([Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG(), Types.FLOAT()])

# --- single values


def _basic(type_info: Any) -> Conversion:
    basic = type_info.basic_type
    if basic in _INTEGERS:
        return _integers(basic)
    if basic is BasicType.FLOAT:
        return _floats_of_32_bits
    return _SINGLE[basic]


def _integers(basic: BasicType) -> Conversion:
    code, to_int = _INTEGERS[basic], _each(int, _int)
    if code is None:
        return to_int

    def convert(column: Column) -> Column:
        column = to_int(column)
        try:
            array(code, column if None not in column else [value for value in column if value is not None])
        except OverflowError:
            raise OverflowError("the number is out of range") from None
        return column

    return convert


def _int(value: Any) -> int:
    if isinstance(value, Number) or type(value).__module__ == "numpy":
        return int(value)
    raise _unlike(value, "a number")


def _float(value: Any) -> float:
    if isinstance(value, Number) or type(value).__module__ == "numpy":
        return float(value)
    raise _unlike(value, "a number")


_doubles: Final = _each(float, _float)


def _floats_of_32_bits(column: Column) -> Column:
    column = _doubles(column)
    if None in column:
        return [None if value is None else array("f", (value,))[0] for value in column]
    return array("f", column).tolist()


def _decimal(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(str(value))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    raise _unlike(value, "a str")


def _date(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    raise _unlike(value, "a date")


def _time(value: Any) -> dt.time:
    if isinstance(value, dt.datetime):
        return value.timetz()
    if isinstance(value, dt.time):
        return value
    raise _unlike(value, "a time")


def _same(kind: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        raise _unlike(value, f"a {kind.__name__}")

    return check


def _null(column: Column) -> Column:
    if any(value is not None for value in column):
        raise TypeError("only None is a value of this type")
    return column


_SINGLE: Final[dict[BasicType, Conversion]] = {
    BasicType.STRING: _each(str, _text),
    BasicType.CHAR: _each(str, _text),
    BasicType.BOOLEAN: _each(bool, lambda value: bool(_int(value))),
    BasicType.DOUBLE: _doubles,
    BasicType.BIG_DEC: _each(Decimal, _decimal),
    BasicType.INSTANT: _each(Instant, _same(Instant)),
}


# --- several values


def _lists(type_info: Any) -> Conversion:
    element = type_info.element_type
    is_bytes = element == BasicTypeInfo.BYTE_TYPE_INFO() and isinstance(
        type_info, PrimitiveArrayTypeInfo | ListTypeInfo
    )
    to_lists = _each(list, _bytes_or_list if is_bytes else _list)
    inner = conversion(element)
    if inner is None:
        return to_lists

    def convert(column: Column) -> Column:
        column = to_lists(column)
        lists = [value for value in column if type(value) is list]
        flat = list(chain.from_iterable(lists))
        converted = inner(flat)
        if converted is flat:
            return column
        rest = iter(converted)
        return [list(islice(rest, len(value))) if type(value) is list else value for value in column]

    return convert


def _list(value: Any) -> list[Any]:
    is_text = isinstance(value, str | bytes | bytearray | memoryview)
    if not is_text and (isinstance(value, Sequence | array) or hasattr(value, "__array__")):
        return list(value)
    raise _unlike(value, "a list")


def _bytes_or_list(value: Any) -> bytes | list[Any]:
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else _list(value)


def _maps(type_info: Any) -> Conversion:
    to_keys, to_values = conversion(type_info.key_type_info), conversion(type_info.value_type_info)
    to_dicts = _each(dict, _dict)

    def convert(column: Column) -> Column:
        column = to_dicts(column)
        dicts = [value for value in column if value is not None]
        keys, values = list(chain.from_iterable(dicts)), list(chain.from_iterable(map(dict.values, dicts)))
        own_keys = keys if to_keys is None else to_keys(keys)
        own_values = values if to_values is None else to_values(values)
        if own_keys is keys and own_values is values:
            return column
        pairs = zip(own_keys, own_values, strict=True)
        return [None if value is None else dict(islice(pairs, len(value))) for value in column]

    return convert


def _dict(value: Any) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise _unlike(value, "a dict")


def _tuples(type_info: Any) -> Conversion:
    to_fields = _fields(type_info.field_types)

    def convert(column: Column) -> Column:
        kinds = set(map(type, column))
        if kinds == {tuple}:
            fields = to_fields(column)
            return column if fields is None else fields
        present = [_items(value) for value in column if value is not None]
        converted = to_fields(present)
        return _with_none(column, present if converted is None else converted)

    return convert


def _items(value: Any) -> tuple[Any, ...]:
    if isinstance(value, tuple | list | Row):
        return tuple(value)
    raise _unlike(value, "a tuple")


def _fields(types: Sequence[TypeInformation]) -> Callable[[Sequence[Sequence[Any]]], list[tuple[Any, ...]] | None]:
    """Return what converts the fields of tuples, or returns None where all are of their types."""
    count = len(types)
    conversions = [(at, convert) for at, convert in enumerate(map(conversion, types)) if convert is not None]

    def convert(values: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]] | None:
        if not values:
            return None
        if set(map(len, values)) != {count}:
            wrong = next(len(value) for value in values if len(value) != count)
            raise ValueError(f"it has {wrong} fields, not {count}")
        columns: list[Column] = list(zip(*values, strict=True))
        changed = False
        for at, to_field in conversions:
            converted = to_field(columns[at])
            if converted is not columns[at]:
                columns[at], changed = converted, True
        return list(zip(*columns, strict=True)) if changed else None

    return convert


def _rows(type_info: Any) -> Conversion:
    names: tuple[str, ...] = type_info.field_names
    to_fields, in_order = _fields(type_info.field_types), _in_order(names)
    own = type(make_rows([()], names)[0])

    def convert(column: Column) -> Column:
        kinds = set(map(type, column))
        present = [value for value in column if value is not None] if _NONE in kinds else column
        is_own = own is not Row and kinds == {own}
        values = [value._values for value in present] if is_own else [in_order(value) for value in present]
        converted = to_fields(values)
        if is_own and converted is None:
            return column
        rows = make_rows(map(tuple, values) if converted is None else converted, names)
        for row, value in zip(rows, present, strict=True):
            if isinstance(value, Row) and value._row_kind is not _INSERT:
                row._row_kind = value._row_kind
        return rows if present is column else _with_none(column, rows)

    return convert


def _with_none(column: Column, present: Iterable[Any]) -> Column:
    """Return what stands for the values that are not None, in their places."""
    rest = iter(present)
    return [None if value is None else next(rest) for value in column]


def _in_order(names: tuple[str, ...]) -> Callable[[Any], Sequence[Any]]:
    """Return what takes the values of these names, or by position, out of a row, tuple, list or dict."""

    def values(value: Any) -> Sequence[Any]:
        if isinstance(value, Row):
            given = value._fields
            return value._values if given is None or given == names else value.get_fields_by_names(names)
        if isinstance(value, tuple | list):
            return value
        if isinstance(value, dict):
            return [value.get(name) for name in names]
        raise _unlike(value, "a Row")

    return values


_MAKERS: Final[dict[type[TypeInformation], Callable[[Any], Conversion]]] = {
    **dict.fromkeys({type(BasicTypeInfo.INSTANT_TYPE_INFO()), BasicTypeInfo}, _basic),
    **dict.fromkeys((BasicArrayTypeInfo, ListTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo), _lists),
    MapTypeInfo: _maps,
    TupleTypeInfo: _tuples,
    RowTypeInfo: _rows,
    DateTypeInfo: lambda _: _each(dt.date, _date),
    TimeTypeInfo: lambda _: _each(dt.time, _time),
    TimestampTypeInfo: lambda _: _each(dt.datetime, _same(dt.datetime)),
    DecimalTypeInfo: lambda _: _each(Decimal, _decimal),
    IntervalTypeInfo: lambda _: _each(dt.timedelta, _same(dt.timedelta)),
    NullTypeInfo: lambda _: _null,
}
