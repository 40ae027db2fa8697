"""Converts values of the user's columns to values of the state's declared type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa

from headgate.errors import ProgramError
from headgate.types.fold import BITS, SequenceTypeInfo, TypeFold, always
from headgate.types.instant import instant_of
from headgate.types.row import make_row
from headgate.types.sql_types import DecimalTypeInfo
from headgate.types.typeinfo import (
    BasicTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

Convert: TypeAlias = Callable[[Any], Any]


def conversion(type_info: TypeInformation, arrow: pa.DataType, column: str) -> Convert:
    """Return the function that converts Arrow's values of a column to values of the type.

    Raises `ProgramError` naming the column if its Arrow type cannot be converted.

    >>> conversion(Types.TUPLE([Types.LONG(), Types.STRING()]), pa.struct({"a": pa.int32(), "b": pa.string()}), "c")(
    ...     {"a": 1, "b": "x"}
    ... )
    (1, 'x')
    """
    return _INCOMING.of(type_info)(arrow, column)


Incoming: TypeAlias = Callable[[pa.DataType, str], Convert]
"""Returns what `conversion` returns for a type."""


def _of(holds: Callable[[pa.DataType], bool], convert: Convert, type_info: TypeInformation) -> Incoming:
    """Return a conversion for columns that satisfy `holds`. It refuses other columns."""
    return _from(lambda arrow, column: convert if holds(arrow) else None, type_info)


def _from(make: Callable[[pa.DataType, str], Convert | None], type_info: TypeInformation) -> Incoming:
    def conversion(arrow: pa.DataType, column: str) -> Convert:
        if pa.types.is_dictionary(arrow):
            arrow = arrow.value_type
        convert = _keep if pa.types.is_null(arrow) else make(arrow, column)
        if convert is None:
            raise ProgramError(
                f"column {column!r} has the type {arrow}, but the state is declared as {type_info}: cast it"
            )
        return convert if convert is _keep else _unless_none(convert)

    return conversion


def _of_numbers(
    of_integers: Convert | None, of_floats: Convert | None, of_decimals: Convert | None, type_info: TypeInformation
) -> Incoming:
    kinds = pa.types

    def make(arrow: pa.DataType, column: str) -> Convert | None:
        if kinds.is_integer(arrow):
            return of_integers
        if kinds.is_floating(arrow):
            return of_floats
        return of_decimals if kinds.is_decimal(arrow) else None

    return _from(make, type_info)


def _observed(arrow: pa.DataType, column: str) -> Convert:
    """Return the conversion to the type that follows from the column's Arrow type."""
    observed = type_of_column(arrow.value_type if pa.types.is_dictionary(arrow) else arrow)
    return _keep if isinstance(observed, PickledBytesTypeInfo) else _INCOMING.of(observed)(arrow, column)


def _struct(fields: Sequence[Incoming], places: Sequence[pa.Field], column: str) -> list[Convert]:
    return [own(place.type, f"{column}.{place.name}") for own, place in zip(fields, places, strict=True)]


def type_of_column(arrow: pa.DataType) -> TypeInformation:
    """Return the type of a state that is declared without a type, from the Arrow type of its column.

    Structs are tuples if their fields are f0, f1 and so on, else rows.
    """
    kinds = pa.types
    if kinds.is_list(arrow) or kinds.is_large_list(arrow):
        return Types.LIST(type_of_column(arrow.value_type))
    if kinds.is_map(arrow):
        return Types.MAP(type_of_column(arrow.key_type), type_of_column(arrow.item_type))
    if kinds.is_struct(arrow):
        names, types = [field.name for field in arrow], [type_of_column(field.type) for field in arrow]
        is_tuple = names == [f"f{place}" for place in range(len(names))]
        return Types.TUPLE(types) if is_tuple else Types.ROW_NAMED(names, types)
    return next((found for holds, found in _OBSERVED if holds(arrow)), Types.PICKLED_BYTE_ARRAY())


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))


def _is_whole(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(arrow) and arrow.scale == 0)


def _is_bytes(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow))


_OBSERVED: Final[list[tuple[Callable[[pa.DataType], bool], TypeInformation]]] = [
    (pa.types.is_integer, Types.BIG_INT()),
    (pa.types.is_floating, Types.DOUBLE()),
    (pa.types.is_boolean, Types.BOOLEAN()),
    (pa.types.is_decimal, Types.BIG_DEC()),
    (pa.types.is_date, Types.SQL_DATE()),
    (pa.types.is_time, Types.SQL_TIME()),
    (pa.types.is_duration, Types.SQL_INTERVAL()),
    (lambda arrow: pa.types.is_timestamp(arrow) and arrow.tz is None, Types.SQL_TIMESTAMP()),
    (pa.types.is_timestamp, Types.INSTANT()),
    (_is_text, Types.STRING()),
    (_is_bytes, Types.PRIMITIVE_ARRAY(Types.BYTE())),
]


def _keep(value: Any) -> Any:
    return value


def _unless_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _datetime(value: dt.datetime) -> dt.datetime:
    """Return a plain datetime: for nanoseconds, Arrow returns a Timestamp of pandas."""
    return dt.datetime.combine(value.date(), value.time())


def _timedelta(value: dt.timedelta) -> dt.timedelta:
    """Return a plain timedelta: for nanoseconds, Arrow returns a Timedelta of pandas."""
    return dt.timedelta(value.days, value.seconds, value.microseconds)


def _time_of_day(value: dt.time | int) -> dt.time:
    return value if isinstance(value, dt.time) else (dt.datetime.min + dt.timedelta(microseconds=value)).time()


class _Incoming(TypeFold[Incoming]):
    """The conversions to all types."""

    def string(self, type_info: BasicTypeInfo) -> Incoming:
        return _of(_is_text, _keep, type_info)

    boolean = always(_of(pa.types.is_boolean, _keep, Types.BOOLEAN()))

    def integer(self, type_info: BasicTypeInfo) -> Incoming:
        if BITS[type_info.basic_type] is not None:
            return _of_numbers(_keep, None, None, type_info)
        return _from(
            lambda arrow, column: _keep if pa.types.is_integer(arrow) else int if _is_whole(arrow) else None, type_info
        )

    def floating(self, type_info: BasicTypeInfo) -> Incoming:
        return _of_numbers(float, _keep, None, type_info)

    def decimal(self, type_info: BasicTypeInfo | DecimalTypeInfo) -> Incoming:
        return _of_numbers(Decimal, None, _keep, type_info)

    instant = always(
        _of(lambda arrow: pa.types.is_timestamp(arrow) and arrow.tz is not None, instant_of, Types.INSTANT())
    )
    date = always(_of(pa.types.is_date, _keep, Types.SQL_DATE()))
    time = always(
        _of(lambda arrow: pa.types.is_time(arrow) or pa.types.is_int64(arrow), _time_of_day, Types.SQL_TIME())
    )
    timestamp = always(
        _of(lambda arrow: pa.types.is_timestamp(arrow) and arrow.tz is None, _datetime, Types.SQL_TIMESTAMP())
    )
    interval = always(_of(pa.types.is_duration, _timedelta, Types.SQL_INTERVAL()))
    null = always(_from(lambda arrow, column: None, Types.SQL_NULL()))
    binary = always(_of(_is_bytes, _keep, Types.PRIMITIVE_ARRAY(Types.BYTE())))
    pickled = always(_observed)

    def sequence(self, type_info: SequenceTypeInfo, element: Incoming) -> Incoming:
        def make(arrow: pa.DataType, column: str) -> Convert | None:
            if not (pa.types.is_list(arrow) or pa.types.is_large_list(arrow)):
                return None
            convert = element(arrow.value_type, column)
            return lambda items: list(map(convert, items))

        return _from(make, type_info)

    def mapping(self, type_info: MapTypeInfo, key: Incoming, value: Incoming) -> Incoming:
        def make(arrow: pa.DataType, column: str) -> Convert | None:
            if not pa.types.is_map(arrow):
                return None
            of_key, of_value = key(arrow.key_type, column), value(arrow.item_type, column)
            return lambda pairs: {of_key(each): of_value(item) for each, item in pairs}

        return _from(make, type_info)

    def tuple(self, type_info: TupleTypeInfo, fields: Sequence[Incoming]) -> Incoming:
        def make(arrow: pa.DataType, column: str) -> Convert | None:
            if not pa.types.is_struct(arrow) or arrow.num_fields != len(fields):
                return None
            converts = _struct(fields, list(arrow), column)
            return lambda items: tuple([convert(item) for convert, item in zip(converts, items.values(), strict=True)])

        return _from(make, type_info)

    def row(self, type_info: RowTypeInfo, fields: Sequence[Incoming]) -> Incoming:
        names = type_info.field_names
        own = None if names == tuple(f"f{place}" for place in range(len(names))) else names

        def make(arrow: pa.DataType, column: str) -> Convert | None:
            if not pa.types.is_struct(arrow) or {field.name for field in arrow} != set(names):
                return None
            converts = _struct(fields, [arrow.field(name) for name in names], column)
            return lambda items: make_row(
                [convert(items[name]) for name, convert in zip(names, converts, strict=True)], own
            )

        return _from(make, type_info)


_INCOMING: Final = _Incoming()
