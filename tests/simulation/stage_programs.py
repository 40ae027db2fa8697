"""A program whose source reads in stages, for the simulator, and faults of the switch to plant."""

from __future__ import annotations

from typing import Any, Final

import pytest

from headgate.common import Time, WatermarkStrategy
from headgate.connectors.hybrid import HybridReader, HybridSource
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.datastream.connectors.number_seq import NumberSequenceSource
from headgate.datastream.window import TumblingEventTimeWindows
from headgate.operators.stage_watermarks import StageWatermarks
from headgate.runtime.master.discovery import Reading
from tests.simulation.plants import Plant
from tests.simulation.source_plants import known_splits_forgotten

LENGTH: Final = 100


def in_stages(env: StreamExecutionEnvironment) -> DataStream:
    """Return how many numbers there are in each window of 20; those of a stage are later than those of the one before.

    A switch too early makes records late: a subtask without a split of the first stage would be far ahead.
    """
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda number, _: number)
    stages = [NumberSequenceSource(first, first + LENGTH - 1) for first in range(0, 3 * LENGTH, LENGTH)]
    numbers = env.from_source(HybridSource(stages), strategy, "numbers").map(lambda number: (number // 20, 1))
    return numbers.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(20))).sum(1)


def next_stage_begins_twice(patch: pytest.MonkeyPatch) -> None:
    """Which stage was begun is not noted."""
    next_stage = HybridSource.next_stage

    def of_the_first(self: HybridSource, known: frozenset[str], parallelism: int) -> Any:
        return next_stage(self, frozenset(each for each in known if each.startswith("0")) or known, parallelism)

    patch.setattr(HybridSource, "to_remember", lambda self, known: list(known))
    patch.setattr(HybridSource, "next_stage", of_the_first)


def stage_is_dealt_to_some(patch: pytest.MonkeyPatch) -> None:
    """Only the first subtask hears of the next stage."""
    deal = Reading.deal
    patch.setattr(Reading, "deal", lambda self, splits, known: dict(list(deal(self, splits, known).items())[:1]))


def later_splits_are_not_kept(patch: pytest.MonkeyPatch) -> None:
    """A snapshot has what is left of the first stage only."""
    snapshot = HybridReader.snapshot
    patch.setattr(HybridReader, "snapshot", lambda self: [each for each in snapshot(self) if each.stage == 0])


def who_waits_for_a_stage_is_idle(patch: pytest.MonkeyPatch) -> None:
    """Event time does not wait for a subtask that is yet to hear of the next stage."""
    last_stage, wait = StageWatermarks.last_stage, StageWatermarks.wait

    def idle(self: StageWatermarks) -> None:
        last_stage(self, 0.0)
        wait(self)
        self._waits = True

    patch.setattr(StageWatermarks, "wait", idle)


PLANTS: Final[list[Plant]] = [
    known_splits_forgotten,
    next_stage_begins_twice,
    stage_is_dealt_to_some,
    later_splits_are_not_kept,
    who_waits_for_a_stage_is_idle,
]
