"""The arithmetic of Spark's hash partitioning, to send a row to a given partition, and sorting by key.

`repartition(n, column)` puts a row into partition `pmod(hash(value), n)`, with Murmur3 and the seed 42 (Spark's
`HashPartitioning` and `Murmur3Hash`). So for each partition there is a number that Spark puts there.
"""

from __future__ import annotations

import itertools
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from headgate.batch.rows import KEY
from headgate.state.keygroups import murmur3

_HALF_BITS: Final = 32
_LOWER: Final = (1 << _HALF_BITS) - 1
_SECOND_BITS: Final = 10
_SEED: Final = 42


def sorted_by_key(rows: DataFrame, key: Column, time: Column | None, *then: str) -> DataFrame:
    """Return the rows, sorted within their partitions by a 64-bit hash of the key, by time and by other columns.

    The column `_key` is the upper half of the hash: equal for rows of one key, seldom equal for rows of two keys.
    """
    times = [] if time is None else [time]
    in_order = rows.withColumn(KEY, _packed(key, time)).sortWithinPartitions(KEY, *times, *then)
    return in_order.withColumn(KEY, f.shiftright(KEY, _HALF_BITS))


def _packed(key: Column, time: Column | None) -> Column:
    """Return the upper half of the hash, with the time in units of 1024 ms in the lower half.

    All times before 1970 and missing times are equal here, and so are all times after the year 2109: the next column of
    the sort order distinguishes them.
    """
    upper = key.bitwiseAND(~_LOWER)
    if time is None:
        return upper
    steps = f.shiftright(f.coalesce(time, f.lit(0)), _SECOND_BITS)
    return upper.bitwiseOR(f.greatest(f.lit(0), f.least(steps, f.lit(_LOWER))))


def spark_hash(number: int) -> int:
    """Return Spark's `hash` of an INT.

    >>> spark_hash(0), spark_hash(1)
    (933211791, -559580957)
    """
    h = murmur3(number, _SEED)
    return h - 2**32 if h >= 2**31 else h


def numbers_of(partitions: int) -> list[int]:
    """Return for each partition a number that Spark puts there.

    >>> [spark_hash(number) % 3 for number in numbers_of(3)]
    [0, 1, 2]
    """
    found: dict[int, int] = {}
    for number in itertools.count():
        found.setdefault(spark_hash(number) % partitions, number)
        if len(found) == partitions:
            return [found[partition] for partition in range(partitions)]
    raise AssertionError  # count() does not end


def to_partition(task: Column, partitions: int) -> Column:
    """Return the column for `repartition` that puts each row into the partition `task`, an INT from 0."""
    numbers = f.array(*map(f.lit, numbers_of(partitions)))
    return f.element_at(numbers, task + 1)
