"""What Spark sorts the rows of a task with keys by.

Spark compares the first 64 bits of what it sorts by without looking at the rows, which is most of what sorting costs.
So these are half of a hash of the key, and the time in steps of a second: they decide nearly all comparisons.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as f

_HALF_BITS: Final = 32
_LOWER: Final = (1 << _HALF_BITS) - 1
_SECOND_BITS: Final = 10


def packed(key: Column, time: Column | None) -> Column:
    """Return the upper half of a hash of the key, 64 bits, and below it the time in milliseconds, where there is one.

    What is before 1970 or without a time is all the same here, as is what comes after the year 2109: what is sorted by
    next has to tell it apart.
    """
    upper = key.bitwiseAND(~_LOWER)
    if time is None:
        return upper
    steps = f.shiftright(f.coalesce(time, f.lit(0)), _SECOND_BITS)
    return upper.bitwiseOR(f.greatest(f.lit(0), f.least(steps, f.lit(_LOWER))))


def key_of(first: Column) -> Column:
    """Return what is packed of the key: equal for rows of one key, and seldom for those of two."""
    return f.shiftright(first, _HALF_BITS)
