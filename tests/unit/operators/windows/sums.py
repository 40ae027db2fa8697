"""Aggregate functions that add up the numbers of records, for tests of windows."""

from __future__ import annotations

from typing import Any, final

from headgate.datastream import AggregateFunction


class Sum(AggregateFunction):
    """Adds up numbers, and has no `merge` worth the name."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + int(value[1])

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        raise NotImplementedError


@final
class MergeableSum(Sum):
    mergeable = True

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b
