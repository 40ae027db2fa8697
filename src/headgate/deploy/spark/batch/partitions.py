"""Which partition Spark puts a row into: the arithmetic of its hash partitioning, so that a task gets what is its own.

`repartition(n, column)` puts a row into partition `pmod(hash(value), n)`, with Murmur3 and the seed 42 (Spark's
`HashPartitioning` and `Murmur3Hash`). For each partition there is a number that comes there.
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


def sorted_by_key(rows: DataFrame, key: Column, time: Column | None, *then: str) -> DataFrame:
    """Return rows sorted within their partitions by a hash of the key, 64 bits, by the time and by other columns.

    The column `_key` is the upper half of the hash: equal for rows of one key, and seldom equal for rows of two keys.
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


_SEED: Final = 42


def spark_hash(number: int) -> int:
    """Return Spark's `hash` of an INT.

    >>> spark_hash(0), spark_hash(1)
    (933211791, -559580957)
    """
    h = murmur3(number, _SEED)
    return h - 2**32 if h >= 2**31 else h


def numbers_of(partitions: int) -> list[int]:
    """Return for each partition a number that comes there.

    >>> [spark_hash(number) % 3 for number in numbers_of(3)]
    [0, 1, 2]
    """
    found: dict[int, int] = {}
    for number in itertools.count():
        found.setdefault(spark_hash(number) % partitions, number)
        if len(found) == partitions:
            return [found[partition] for partition in range(partitions)]
    raise AssertionError  # an endless count has no end


def to_partition(task: Column, partitions: int) -> Column:
    """Return what to repartition by, so that a row comes to the partition that `task` says, an INT from 0."""
    numbers = f.array(*map(f.lit, numbers_of(partitions)))
    return f.element_at(numbers, task + 1)
