"""What Spark sorts the rows of a task with keys by.

Spark compares the first 64 bits of what it sorts by without looking at the rows, which is most of what sorting costs.
So these are half of a hash of the key, and the time in steps of a second: they decide nearly all comparisons.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from headgate.batch.rows import KEY

_HALF_BITS: Final = 32
_LOWER: Final = (1 << _HALF_BITS) - 1
_SECOND_BITS: Final = 10


def sorted_by_key(rows: DataFrame, key: Column, time: Column | None, *then: str) -> DataFrame:
    """Return rows sorted within their partitions by a hash of the key, 64 bits, by the time and by other columns.

    They have the upper half of the hash as `_key`: equal for rows of one key, and seldom for those of two.
    """
    times = [] if time is None else [time]
    in_order = rows.withColumn(KEY, _packed(key, time)).sortWithinPartitions(KEY, *times, *then)
    return in_order.withColumn(KEY, f.shiftright(KEY, _HALF_BITS))


def _packed(key: Column, time: Column | None) -> Column:
    """Return the upper half of the hash, and below it the time in milliseconds, where there is one.

    What is before 1970 or without a time is all the same here, as is what comes after the year 2109: what is sorted by
    next has to tell it apart.
    """
    upper = key.bitwiseAND(~_LOWER)
    if time is None:
        return upper
    steps = f.shiftright(f.coalesce(time, f.lit(0)), _SECOND_BITS)
    return upper.bitwiseOR(f.greatest(f.lit(0), f.least(steps, f.lit(_LOWER))))
