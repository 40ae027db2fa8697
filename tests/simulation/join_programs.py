"""Programs with joins for the simulator, and faults of theirs to plant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, final

import pytest

from headgate.common import Time, WatermarkStrategy
from headgate.datastream import (
    CoGroupFunction,
    DataStream,
    KeyedStream,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from headgate.datastream.connectors.number_seq import NumberSequenceSource
from headgate.datastream.window import TumblingEventTimeWindows
from headgate.operators.joins.asof import AsOfJoinOperator
from headgate.operators.joins.interval import IntervalJoinOperator
from tests.simulation.plants import Plant

RECORDS: Final = 150
KEYS: Final = 5


@final
class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left, right, ctx.get_timestamp()


@final
class Both(CoGroupFunction):
    def co_group(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        yield sorted(first), sorted(second)


def _numbers(env: StreamExecutionEnvironment, name: str, step: int) -> KeyedStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda number, _: number * step)
    source = env.from_source(NumberSequenceSource(1, RECORDS), strategy, name)
    return source.key_by(_key)


def _key(number: int) -> int:
    return number % KEYS


def interval_join(env: StreamExecutionEnvironment) -> DataStream:
    """Return pairs, and the numbers of either stream that are in none; each number has three that are near."""
    left, right = _numbers(env, "left", 6), _numbers(env, "right", 9)
    return left.interval_join(right, "full").between(Time.milliseconds(-40), Time.milliseconds(25)).process(Pair())


def asof_join(env: StreamExecutionEnvironment) -> DataStream:
    """Return each number with the one that is nearest in time, or with none where it is too far."""
    left, right = _numbers(env, "left", 6), _numbers(env, "right", 9)
    return left.join_asof(right, "nearest", tolerance=Time.milliseconds(12), how="left").process(Pair())


def join_latest(env: StreamExecutionEnvironment) -> DataStream:
    """Return each number with the value of its key at its time, which every fourth number ends."""
    left, right = _numbers(env, "left", 6), _numbers(env, "right", 9)
    latest = left.join_latest(right, Time.milliseconds(10), how="left", is_deletion=lambda number: number % 4 == 0)
    return latest.process(Pair())


def co_group(env: StreamExecutionEnvironment) -> DataStream:
    """Return the numbers of either stream for each key and window."""
    left, right = _numbers(env, "left", 6), _numbers(env, "right", 9)
    grouped = left.co_group(right).where(_key).equal_to(_key)
    return grouped.window(TumblingEventTimeWindows.of(Time.milliseconds(50))).apply(Both())


def a_side_is_not_kept(patch: pytest.MonkeyPatch) -> None:
    """A restored operator has no records of the right stream."""
    opened = IntervalJoinOperator.open

    def without_right(self: IntervalJoinOperator, context: Any) -> None:
        opened(self, context)
        for cell in list(self._backend.cells.values()):
            cell[self._right.own.column] = None

    patch.setattr(IntervalJoinOperator, "open", without_right)


def matches_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """In a restored operator no record has matched yet."""
    opened = IntervalJoinOperator.open

    def without_marks(self: IntervalJoinOperator, context: Any) -> None:
        opened(self, context)
        for cell in list(self._backend.cells.values()):
            for column in (self._left.own.column, self._right.own.column):
                cell[column] = cell[column] and [(time, value, False) for time, value, _ in cell[column]]

    patch.setattr(IntervalJoinOperator, "open", without_marks)


def records_that_wait_are_lost(patch: pytest.MonkeyPatch) -> None:
    """A restored as-of join has no records that wait."""
    opened = AsOfJoinOperator.open

    def without_left(self: AsOfJoinOperator, context: Any) -> None:
        opened(self, context)
        for cell in list(self._backend.cells.values()):
            cell[self._lefts.column] = None

    patch.setattr(AsOfJoinOperator, "open", without_left)


def values_are_lost(patch: pytest.MonkeyPatch) -> None:
    """A restored as-of join has no values of the right stream."""
    opened = AsOfJoinOperator.open

    def without_right(self: AsOfJoinOperator, context: Any) -> None:
        opened(self, context)
        for cell in list(self._backend.cells.values()):
            cell[self._rights.column] = None

    patch.setattr(AsOfJoinOperator, "open", without_right)


PROGRAMS: Final = [interval_join, asof_join, join_latest, co_group]
PLANTS: Final[list[tuple[Plant, Callable[[StreamExecutionEnvironment], DataStream]]]] = [
    (a_side_is_not_kept, interval_join),
    (matches_are_forgotten, interval_join),
    (records_that_wait_are_lost, asof_join),
    (values_are_lost, join_latest),
]
