"""A program with patterns for the simulator, and faults of theirs to plant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from headgate.common import Duration, Time, WatermarkStrategy
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.datastream.connectors.number_seq import NumberSequenceSource
from headgate.operators.patterns.operator import EventTimePatternOperator
from headgate.pattern import CEP, Match, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler, WithinType
from tests.simulation.plants import Plant

RECORDS: Final = 240
KEYS: Final = 4


class Shown(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> list[Any]:
        return [("match", sorted(match.items()), ctx.timestamp())]

    def process_timed_out_match(self, match: Match, ctx: PatternProcessFunction.Context) -> list[Any]:
        return [("timed out", sorted(match.items()), ctx.timestamp())]


def _of(kind: int) -> Callable[[int], bool]:
    return lambda number: number // KEYS * 7 % 5 == kind


def pattern(env: StreamExecutionEnvironment) -> DataStream:
    """Return what is found in numbers of four keys, whose times are a little out of order."""
    steps = Pattern.begin("a").where(_of(0)).followed_by("b").where(_of(1)).one_or_more().followed_by("c").where(_of(2))
    return _found(env, steps.within(Time.milliseconds(400)))


def groups(env: StreamExecutionEnvironment) -> DataStream:
    """Return what is found of groups, and of what does not come for a time."""
    near = Time.milliseconds(160), WithinType.PREVIOUS_AND_CURRENT
    pairs = Pattern.begin(Pattern.begin("a").where(_of(0)).followed_by("b").where(_of(1)).within(*near)).one_or_more()
    return _found(env, pairs.not_followed_by("c").where(_of(2)).within(*near).within(Time.milliseconds(600)))


def _found(env: StreamExecutionEnvironment, steps: Pattern) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(40))
    timed = strategy.with_timestamp_assigner(lambda number, _: number * 10 - number * 7 % 30)
    numbers = env.from_source(NumberSequenceSource(1, RECORDS), timed, "numbers")
    return CEP.pattern(numbers.key_by(lambda number: number % KEYS), steps).process(Shown())


def _opened(patch: pytest.MonkeyPatch, forget: Callable[[EventTimePatternOperator, Any], None]) -> None:
    """Have each cell of an operator that is restored forget something."""
    opened = EventTimePatternOperator.open

    def forgetful(self: EventTimePatternOperator, context: Any) -> None:
        opened(self, context)
        for cell in list(self._backend.cells.values()):
            forget(self, cell)

    patch.setattr(EventTimePatternOperator, "open", forgetful)


def matches_under_way_are_not_kept(patch: pytest.MonkeyPatch) -> None:
    """A restored operator begins all matches anew."""

    def forget(operator: EventTimePatternOperator, cell: Any) -> None:
        cell[operator._matching.column] = None

    _opened(patch, forget)


def early_records_are_not_kept(patch: pytest.MonkeyPatch) -> None:
    """A restored operator has no records that wait for the watermark."""

    def forget(operator: EventTimePatternOperator, cell: Any) -> None:
        cell[operator._early.column] = None

    _opened(patch, forget)


PLANTS: Final[list[Plant]] = [matches_under_way_are_not_kept, early_records_are_not_kept]
