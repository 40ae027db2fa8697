"""Kernels of arithmetic, for what numpy has and Arrow has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.typed import Values

Integers = npt.NDArray[np.int64]

_STORED_IN_32_BITS: Final = (pa.types.is_date32, pa.types.is_time32, pa.types.is_int32)


def on_integers(compute: Callable[..., npt.NDArray[Any]], result: pa.DataType, *columns: Values) -> Values:
    """Return what `compute` makes of the int64 arrays of columns, as a type; NULL where an argument is NULL.

    Dates, times and durations are the integers that Arrow stores. `compute` gets an array of one element for a scalar,
    and any integer for NULL. A result of 32 bits is wrapped around.

    >>> on_integers(np.add, pa.date32(), pa.array([1, None], pa.date32()), pa.scalar(30)).to_pylist()
    [datetime.date(1970, 2, 1), None]
    """
    nulls: npt.NDArray[np.bool_] | None = None
    numbers = []
    for own in columns:
        plain = integers(pa.repeat(own, 1) if isinstance(own, pa.Scalar) else own)
        if plain.null_count:
            here = pc.is_null(plain).to_numpy(zero_copy_only=False)
            nulls = here if nulls is None else nulls | here
            plain = pc.fill_null(plain, 0)
        numbers.append(plain.to_numpy())
    found = compute(*numbers)
    if nulls is not None:
        nulls = np.broadcast_to(nulls, found.shape)
    if pa.types.is_boolean(result):
        made = pa.array(found, mask=nulls)
    else:
        stored = np.int32 if any(is_one(result) for is_one in _STORED_IN_32_BITS) else np.int64
        made = pa.array(found.astype(stored, copy=False), mask=nulls).view(result)
    return made[0] if all(isinstance(own, pa.Scalar) for own in columns) else made


def integers(values: pa.Array) -> pa.Array:
    """Return the integers that Arrow stores for dates, times, durations and integers, as int64."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if any(is_one(values.type) for is_one in _STORED_IN_32_BITS):
        return values.view(pa.int32()).cast(pa.int64())
    if pa.types.is_integer(values.type):
        return values.cast(pa.int64())
    return values.view(pa.int64())


def on_numbers(compute: Callable[..., npt.NDArray[Any]], result: pa.DataType, *columns: pa.Array) -> pa.Array:
    """Return what `compute` makes of columns of numbers of the same length, as a type; NULL where one of them is NULL.

    `compute` gets the numbers in their own types, and 1 for NULL. NaN stays NaN.
    """
    valid = np.ones(len(columns[0]), bool)
    values = []
    for own in columns:
        if own.null_count:
            valid &= pc.is_valid(own).to_numpy(zero_copy_only=False)
        values.append(pc.fill_null(own, 1).to_numpy(zero_copy_only=False))
    with np.errstate(all="ignore"):
        made = compute(*values)
    return pa.array(made, result, mask=None if valid.all() else ~valid, from_pandas=False)


def truncated(values: Integers, by: int) -> Integers:
    """Return the quotients without their fractions, as SQL divides integers."""
    found: Integers = np.sign(values) * (np.abs(values) // by)
    return found


def month_of(days: Integers) -> Integers:
    """Return the months since January 1970 of days since January 1, 1970."""
    found: Integers = days.view("M8[D]").astype("M8[M]").view(np.int64)
    return found


def first_day(months: Integers) -> Integers:
    """Return the first day of each month: `month_of` undone."""
    found: Integers = months.view("M8[M]").astype("M8[D]").view(np.int64)
    return found
