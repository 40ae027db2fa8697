"""The arithmetic of Spark's hash partitioning."""

from __future__ import annotations

import pytest

from headgate.deploy.spark.batch.partitions import numbers_of, spark_hash


def test_the_hash_is_that_of_spark() -> None:
    found = [spark_hash(number) for number in (0, 1, 2, 3, 42, -1, 2**31 - 1, -(2**31))]
    assert found == [933211791, -559580957, 1765031574, -1823081949, 29417773, -1604776387, 133916647, 723455942]


@pytest.mark.parametrize("partitions", [1, 2, 3, 16, 200])
def test_there_is_a_number_for_every_partition(partitions: int) -> None:
    assert [spark_hash(number) % partitions for number in numbers_of(partitions)] == list(range(partitions))
