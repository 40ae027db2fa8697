"""Counting in windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headgate.datastream import AggregateFunction, ProcessWindowFunction
from headgate.datastream.window import TimeWindow


class Count(AggregateFunction):
    """The number of records."""

    mergeable = True  # so that sliding windows count each record once, by slice

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class WithWindow(ProcessWindowFunction[int, tuple[int, int, int, int], int, TimeWindow]):
    """Adds the key to the number, and the start and the end of the window."""

    def process(
        self, key: int, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[int]
    ) -> Iterator[tuple[int, int, int, int]]:
        for count in elements:
            yield key, count, context.window().start, context.window().end
