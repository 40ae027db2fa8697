"""Conversion: the values of a column as values of a declared type, as PyFlink's coders make them.

A whole column is converted at a time. If every value has its type already, the column is returned as it is: a declared
type then costs only a check of the values' classes.

========================  ==============================================================================================
BYTE ... LONG, BIG_INT    an int; other numbers lose their fraction; out of range is refused, except for BIG_INT
FLOAT, DOUBLE             a float; of FLOAT the nearest number of 32 bits
BOOLEAN                   a bool; other numbers by whether they are 0 without their fraction: 0.5 is False
BIG_DEC                   a Decimal; other numbers and texts by their digits
STRING, CHAR              a str; nothing else is accepted
dates and times           the date or the time of day; of a datetime, its date or time
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

from headgate.types.fold import BITS, SequenceTypeInfo, TypeFold, always
from headgate.types.instant import Instant
from headgate.types.row import Row, RowKind, make_rows
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    Types,
)

_INSERT: Final = RowKind.INSERT
_NONE: Final = type(None)
Column = Sequence[Any]
Conversion = Callable[[Column], Column]
"""Returns a column converted to a type: the same object if nothing changes.

Raises TypeError, ValueError or OverflowError if a value cannot be converted; `culprit` finds it.
"""

UNFIT: Final = (TypeError, ValueError, OverflowError, InvalidOperation)
"""The errors that a conversion raises."""

_ARRAYS: Final = {8: "b", 16: "h", 32: "i", 64: "q"}
"""The codes of the `array`s that hold integers, by their bits."""


def conversion(type_info: TypeInformation) -> Conversion | None:
    """Return the conversion to a type, None if the type accepts every value as it is.

    >>> to_row = conversion(RowTypeInfo([BasicTypeInfo.INT_TYPE_INFO()], ["n"]))
    >>> to_row([(1,), Row(2.0), Row(n=3, more=4), None])
    [Row(n=1), Row(n=2), Row(n=3), None]
    """
    return _CONVERSIONS.of(type_info)


def culprit(convert: Conversion, column: Column) -> tuple[int, Exception]:
    """Return the index of the first value that cannot be converted, and the error."""
    for index, value in enumerate(column):
        try:
            convert([value])
        except UNFIT as error:
            return index, error
    raise AssertionError("each value can be converted alone")


def _each(exact: type, one: Callable[[Any], Any]) -> Conversion:
    """Return a conversion that calls `one` for each value whose class is not `exact`."""
    fitting = ({exact}, {exact, _NONE}, {_NONE})

    def convert(column: Column) -> Column:
        if set(map(type, column)) in fitting:
            return column
        return [value if value is None or type(value) is exact else one(value) for value in column]

    return convert


def _unlike(value: object, wanted: str) -> TypeError:
    return TypeError(f"{reprlib.repr(value)} is of type {type(value).__name__}, not {wanted}")


# --- single values


def _integers(bits: int | None) -> Conversion:
    to_int = _each(int, _int)
    if bits is None:
        return to_int

    def convert(column: Column) -> Column:
        column = to_int(column)
        check_range(column if None not in column else [value for value in column if value is not None], bits)
        return column

    return convert


def check_range(values: Sequence[int], bits: int | None) -> None:
    """Raise OverflowError if an integer needs more than `bits`; None allows any number of bits."""
    if bits is None:
        return
    try:
        array(_ARRAYS[bits], values)
    except OverflowError:
        raise OverflowError("the number is out of range") from None


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
        return [None if value is None else to_float(value) for value in column]
    return array("f", column).tolist()


def to_float(value: float) -> float:
    """Return a number with the precision of 32 bits."""
    return array("f", (value,))[0]


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


# --- several values


def _lists(inner: Conversion | None, *, may_be_bytes: bool) -> Conversion:
    to_lists = _each(list, _bytes_or_list if may_be_bytes else _list)
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


def _maps(to_keys: Conversion | None, to_values: Conversion | None) -> Conversion:
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


def _tuples(fields: Sequence[Conversion | None]) -> Conversion:
    to_fields = _fields(fields)

    def convert(column: Column) -> Column:
        kinds = set(map(type, column))
        if kinds == {tuple}:
            tuples = to_fields(column)
            return column if tuples is None else tuples
        present = [_items(value) for value in column if value is not None]
        converted = to_fields(present)
        return with_none(column, present if converted is None else converted)

    return convert


def _items(value: Any) -> tuple[Any, ...]:
    if isinstance(value, tuple | list | Row):
        return tuple(value)
    raise _unlike(value, "a tuple")


def _fields(
    fields: Sequence[Conversion | None],
) -> Callable[[Sequence[Sequence[Any]]], list[tuple[Any, ...]] | None]:
    """Return a function that converts the fields of tuples; it returns None where all have their types."""
    count = len(fields)
    conversions = [(at, convert) for at, convert in enumerate(fields) if convert is not None]

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


def _rows(names: tuple[str, ...], fields: Sequence[Conversion | None]) -> Conversion:
    to_fields, in_order = _fields(fields), _in_order(names)
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
        return rows if present is column else with_none(column, rows)

    return convert


def with_none(column: Column, present: Iterable[Any]) -> list[Any]:
    """Return the values of `present`, with None at each position where `column` has None."""
    rest = iter(present)
    return [None if value is None else next(rest) for value in column]


def _in_order(names: tuple[str, ...]) -> Callable[[Any], Sequence[Any]]:
    """Return a function that reads a row, tuple, list or dict: by these names, or by position."""

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


class _Conversions(TypeFold[Conversion | None]):
    """The conversions to all types."""

    string = always(_each(str, _text))
    boolean = always(_each(bool, lambda value: bool(_int(value))))

    def integer(self, type_info: BasicTypeInfo) -> Conversion:
        return _integers(BITS[type_info.basic_type])

    def floating(self, type_info: BasicTypeInfo) -> Conversion:
        return _floats_of_32_bits if type_info.basic_type is BasicType.FLOAT else _doubles

    decimal = always(_each(Decimal, _decimal))
    instant = always(_each(Instant, _same(Instant)))
    date = always(_each(dt.date, _date))
    time = always(_each(dt.time, _time))
    timestamp = always(_each(dt.datetime, _same(dt.datetime)))
    interval = always(_each(dt.timedelta, _same(dt.timedelta)))
    null = always(_null)
    binary = always(_lists(_integers(8), may_be_bytes=True))
    pickled = always(None)

    def sequence(self, type_info: SequenceTypeInfo, element: Conversion | None) -> Conversion:
        of_bytes = type_info.element_type == Types.BYTE()
        return _lists(element, may_be_bytes=of_bytes and isinstance(type_info, ListTypeInfo))

    def mapping(self, type_info: MapTypeInfo, key: Conversion | None, value: Conversion | None) -> Conversion:
        return _maps(key, value)

    def tuple(self, type_info: TupleTypeInfo, fields: Sequence[Conversion | None]) -> Conversion:
        return _tuples(fields)

    def row(self, type_info: RowTypeInfo, fields: Sequence[Conversion | None]) -> Conversion:
        return _rows(type_info.field_names, fields)


_CONVERSIONS: Final = _Conversions()
