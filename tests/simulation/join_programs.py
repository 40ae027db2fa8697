"""Programs with joins for the simulator, and faults of theirs to plant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, final

import pytest

from headgate.common import Time, WatermarkStrategy
from headgate.datastream import DataStream, KeyedStream, ProcessJoinFunction, StreamExecutionEnvironment
from headgate.datastream.connectors.number_seq import NumberSequenceSource
from headgate.operators.joins.interval import IntervalJoinOperator
from tests.simulation.plants import Plant

RECORDS: Final = 150
KEYS: Final = 5


@final
class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left, right, ctx.get_timestamp()


def _numbers(env: StreamExecutionEnvironment, name: str, step: int) -> KeyedStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda number, _: number * step)
    source = env.from_source(NumberSequenceSource(1, RECORDS), strategy, name)
    return source.key_by(lambda number: number % KEYS)


def interval_join(env: StreamExecutionEnvironment) -> DataStream:
    """Return pairs, and the numbers of either stream that are in none; each number has three that are near."""
    left, right = _numbers(env, "left", 6), _numbers(env, "right", 9)
    return left.interval_join(right, "full").between(Time.milliseconds(-40), Time.milliseconds(25)).process(Pair())


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


PLANTS: Final[list[Plant]] = [a_side_is_not_kept, matches_are_forgotten]
