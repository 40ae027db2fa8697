"""Columns of single values: Python objects as Arrow arrays, without a silent change of zone, digits or kind.

Arrow alone drops the zone of a time, cuts off digits below the unit of a column, and accepts bytes as text. The rules
are in docs/reference/values.md.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.types.instant import Instant

Make = Callable[..., pa.Array]
"""Makes a column of values. Raises ValueError, TypeError, OverflowError or ArrowException for an unfit one."""


def scalars(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    """Return single values as a column of a type; None is null.

    Raises ValueError, TypeError, OverflowError or ArrowException if a value does not fit.

    >>> scalars([1.0, None], pa.int8()).to_pylist()
    [1, None]
    """
    made = _MADE_BY.get(type.id)
    if made is None:
        return pa.array(values, type=type)
    plain, make = made
    return (pa.array if plain.issuperset(map(_CLASS, values)) else make)(values, type=type)


def _whole(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    """Return a column of integers. Raises `ValueError` for a fraction, which Arrow would cut off."""
    array = pa.array(values, type=type)
    if array.to_pylist() != list(values):
        raise ValueError("would lose data: the column has no fractions")
    return array


def _floats(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    _refuse(values, bool, "a bool is not a number")
    array = pa.array(values, type=type)
    infinite = pc.is_inf(array)
    if pc.any(infinite).as_py() and not infinite.equals(pc.is_inf(pa.array(values, type=pa.float64()))):
        raise ValueError("the number is too large for the column")
    return array


def _text(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    _refuse(values, (bytes, bytearray, memoryview), "bytes are not text: decode them first")
    return pa.array(values, type=type)


def _bytes(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    _refuse(values, str, "text is not bytes: encode it first")
    return pa.array(values, type=type)


def _dates(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    _refuse(values, dt.datetime, "a datetime is not a date: take its date() first")
    _refuse(values, (int, float), "a number is not a date")
    return pa.array(values, type=type)


def _times(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    _refuse(values, (int, float), "a number is not a time")
    _refuse_zones(values)
    return _in_unit(values, type, pa.time64("us"))


def _durations(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    _refuse(values, (int, float), "a number is not a length of time")
    return _in_unit(values, type, pa.duration("us"))


def _timestamps(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    kinds = set(map(_CLASS, values))
    if Instant in kinds:
        return _instants(values, type)
    if not kinds <= _DATETIMES:
        _refuse(values, (int, float), "a number is not a time")
    if type.tz is None:
        _refuse_zones(values)
    return _in_unit(values, type, pa.timestamp("us", type.tz))


def _instants(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    """Return instants as a column of any unit. Raises `ValueError` for an instant with digits below the unit."""
    if type.tz is None:
        raise ValueError("an instant is a time with a zone, and the column has none")
    per_second = _PER_SECOND[type.unit]
    ticks = [_ticks(value, per_second) if isinstance(value, Instant) else value for value in values]
    if all(tick is None or isinstance(tick, int) for tick in ticks):
        return pa.array(ticks, type=pa.int64()).cast(type)
    return pa.concat_arrays([scalars([value], type) for value in values])


def _ticks(instant: Instant, per_second: int) -> int:
    ticks, rest = divmod(instant.nanos * per_second, 1_000_000_000)
    if rest:
        raise ValueError("would lose data: the column has no nanoseconds")
    return instant.seconds * per_second + ticks


def _in_unit(values: Sequence[Any], type: pa.DataType, micros: pa.DataType) -> pa.Array:
    """Return a column of times. Raises `ArrowInvalid` for a time with digits below the unit: Arrow alone cuts them."""
    is_coarse = type.unit in ("s", "ms") and not any(kind.__module__ == "numpy" for kind in set(map(_CLASS, values)))
    return pa.array(values, type=micros).cast(type) if is_coarse else pa.array(values, type=type)


def _refuse(values: Sequence[Any], classes: type | tuple[type, ...], why: str) -> None:
    if any(issubclass(kind, classes) for kind in set(map(_CLASS, values))):
        raise ValueError(why)


def _refuse_zones(values: Sequence[Any]) -> None:
    """Raise `ValueError` if one of the times has a zone."""
    try:
        has_zone = any(map(_ZONE, filter(None, values)))
    except AttributeError:  # there are times of other libraries
        has_zone = any(getattr(value, "tzinfo", None) for value in values)
    if has_zone:
        raise ValueError("a time with a zone does not go into a column without one: convert it first")


_CLASS: Final = type
_ZONE: Final = attrgetter("tzinfo")
_NONE: Final[type] = type(None)
_NOTHING: Final = frozenset[type]()
_DATETIMES: Final = frozenset([dt.datetime, _NONE])
_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

_INTEGERS: Final = (frozenset([int, _NONE]), _whole)
_TEXT: Final = (frozenset([str, _NONE]), _text)
_BYTES: Final = (frozenset([bytes, _NONE]), _bytes)
_DATES: Final = (frozenset([dt.date, _NONE]), _dates)
_TIMES: Final = (_NOTHING, _times)
_MADE_BY: Final[dict[int, tuple[frozenset[type], Make]]] = {
    **{kind.id: _INTEGERS for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{kind.id: _INTEGERS for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    **{kind.id: (_NOTHING, _floats) for kind in (pa.float16(), pa.float32())},
    pa.float64().id: (frozenset([float, int, _NONE]), _floats),
    **{kind.id: _TEXT for kind in (pa.string(), pa.large_string(), pa.string_view())},
    **{kind.id: _BYTES for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1))},
    pa.date32().id: _DATES,
    pa.date64().id: _DATES,
    pa.time32("s").id: _TIMES,
    pa.time64("us").id: _TIMES,
    pa.timestamp("us").id: (_NOTHING, _timestamps),
    pa.duration("us").id: (_NOTHING, _durations),
}
"""By a type's id: the classes of values that Arrow converts without a change, and the function for all others."""
