"""Columns as values: Arrow arrays as lists of Python objects, column by column, also within structs, lists and maps."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.types.instant import Instant
from headgate.types.row import make_rows

_NANOS: Final = 1_000_000_000
_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": _NANOS}
_DAYS_MIN: Final = (dt.date.min - dt.date(1970, 1, 1)).days
_DAYS_MAX: Final = (dt.date.max - dt.date(1970, 1, 1)).days
_DAY_MICROS: Final = 86_400_000_000


def values_of(array: pa.Array) -> list[Any]:
    """Return the values of a column; null is None. Raises ArrowInvalid or ValueError for values beyond Python.

    >>> values_of(pa.array([[{"a": 1}], None]))
    [[Row(a=1)], None]
    """
    made = _MADE_BY.get(array.type.id)
    return array.to_pylist() if made is None else made(array)


def _with_nulls(make: Callable[[pa.Array], list[Any]]) -> Callable[[pa.Array], list[Any]]:
    """Return `make` with None at the positions of nulls, where `make` itself may return any value."""

    def make_all(array: pa.Array) -> list[Any]:
        values = make(array)
        if array.null_count:
            for place in pc.indices_nonzero(array.is_null()).to_pylist():
                values[place] = None
        return values

    return make_all


def _by_numpy(array: pa.Array) -> list[Any]:
    """Return dates, times without a zone, or lengths of time: numpy converts them all at once, nulls to None."""
    return array.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]


def _dates(array: pa.Array) -> list[Any]:
    days = array.cast(pa.date32())
    _check_years(days.cast(pa.int32()), _DAYS_MIN, _DAYS_MAX)
    return _by_numpy(days)


def _times(array: pa.Array) -> list[Any]:
    """Return times in microseconds, the precision of Python; a time with nanoseconds is an error."""
    if array.type.tz is not None:
        return _instants(array)
    micros = array.cast(pa.timestamp("us"))
    _check_years(micros.cast(pa.int64()), _DAYS_MIN * _DAY_MICROS, (_DAYS_MAX + 1) * _DAY_MICROS - 1)
    return _by_numpy(micros)


def _check_years(array: pa.Array, least: int, most: int) -> None:
    found = pc.min_max(array)
    if found["min"].is_valid and not least <= found["min"].as_py() <= found["max"].as_py() <= most:
        raise ValueError("a date before the year 1, or after the year 9999")


def _durations(array: pa.Array) -> list[Any]:
    return _by_numpy(array.cast(pa.duration("us")))


@_with_nulls
def _instants(array: pa.Array) -> list[Any]:
    per_second = _PER_SECOND[array.type.unit]
    nanos = _NANOS // per_second
    ticks = array.cast(pa.int64()).fill_null(0).to_pylist()
    return [Instant(tick // per_second, tick % per_second * nanos) for tick in ticks]


def _decimals(array: pa.Array) -> list[Any]:
    if (array.type.precision, array.type.scale) == (38, 0):
        return [None if value is None else int(value) for value in array.to_pylist()]
    return array.to_pylist()  # type: ignore[no-any-return]


def _decoded(array: pa.Array) -> list[Any]:
    return values_of(array.dictionary_decode())


@_with_nulls
def _rows(array: pa.Array) -> list[Any]:
    names = tuple(field.name for field in array.type.fields)
    columns = [values_of(column) for column in array.flatten()]
    values = zip(*columns, strict=True) if columns else itertools.repeat((), len(array))
    rows: list[Any] = [*make_rows(values, names)]
    return rows


@_with_nulls
def _lists(array: pa.Array) -> list[Any]:
    offsets = array.offsets.to_pylist()
    first = offsets[0] if offsets else 0
    values = values_of(array.values[first : offsets[-1] if offsets else 0])
    return [values[start - first : end - first] for start, end in itertools.pairwise(offsets)]


@_with_nulls
def _maps(array: pa.Array) -> list[Any]:
    offsets = array.offsets.to_pylist()
    first, last = (offsets[0], offsets[-1]) if offsets else (0, 0)
    pairs = list(zip(values_of(array.keys[first:last]), values_of(array.items[first:last]), strict=True))
    return [dict(pairs[start - first : end - first]) for start, end in itertools.pairwise(offsets)]


def _fixed_lists(array: pa.Array) -> list[Any]:
    return _lists(array.cast(pa.list_(array.type.value_type)))


_MADE_BY: Final[dict[int, Callable[[pa.Array], list[Any]]]] = {
    pa.date32().id: _dates,
    pa.date64().id: _dates,
    pa.timestamp("us").id: _times,
    pa.duration("us").id: _durations,
    pa.decimal128(1).id: _decimals,
    pa.dictionary(pa.int8(), pa.string()).id: _decoded,
    pa.struct([]).id: _rows,
    pa.list_(pa.null()).id: _lists,
    pa.large_list(pa.null()).id: _lists,
    pa.list_(pa.null(), 1).id: _fixed_lists,
    pa.map_(pa.int8(), pa.null()).id: _maps,
}
"""The functions that read columns, by the id of the type, where Arrow itself is slow or returns other values."""
