"""A source is not idle because its slot is at other work, or because there is no room for what it reads."""

from __future__ import annotations

from typing import Any, Final

import pytest

from headgate.clock import VirtualClock
from headgate.common import Duration, WatermarkStrategy
from headgate.datastream import MapFunction, ProcessFunction
from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.functions.watermarks import WatermarkGenerator, WatermarkOutput
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from tests.unit.datastream.environments import environment
from tests.unit.runtime.masters import MasterRig

FAR: Final = 1_000_000
CLOCK: list[VirtualClock] = []
SEEN: list[tuple[int, int]] = []
"""Each record, and event time when it came."""


class EachRecord(WatermarkGenerator):
    """A watermark behind every record."""

    def on_event(self, event: int, timestamp_ms: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event)


STRATEGY: Final = WatermarkStrategy.for_generator(EachRecord)


class Each(Source[tuple[int, int]]):
    """Numbers; one is there whenever the reader is asked for the second time."""

    def __init__(self, first: int, count: int, *, at_once: bool) -> None:
        self.first, self.count, self.at_once = first, count, at_once

    def splits(self, parallelism: int) -> list[tuple[int, int]]:
        return [(self.first, self.first + self.count)]

    def reader(self, context: SourceContext) -> EachReader:
        return EachReader(context, at_once=self.at_once)


class EachReader(SourceReader[tuple[int, int]]):
    def __init__(self, context: SourceContext, *, at_once: bool) -> None:
        self._context = context
        self._at_once = at_once
        self._asked = False
        self._next, self._end = 0, 0

    def add_splits(self, splits: list[tuple[int, int]]) -> None:
        for self._next, self._end in splits:
            pass

    def poll(self, records_max: int) -> Poll:
        if self._next >= self._end:
            return END_OF_INPUT
        self._asked = not self._asked
        if self._asked and not self._at_once:
            return NotReady(self._context.monotonic_ms() + 5.0)
        self._next += 1
        return Records([self._next - 1])

    def snapshot(self) -> list[tuple[int, int]]:
        return [(self._next, self._end)]


class Slow(MapFunction):
    """Takes its time for each record, by the virtual clock."""

    def __init__(self, takes_ms: float) -> None:
        self.takes_ms = takes_ms

    def map(self, value: int) -> int:
        CLOCK[0].advance(self.takes_ms)
        return value


class Note(ProcessFunction):
    """Notes each record with event time, and passes none on."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Any:
        SEEN.append((value, ctx.timer_service().current_watermark()))
        return ()


def run(early: Source[Any], behind_early_ms: float, behind_late_ms: float) -> None:
    """Run a job of two sources in one slot, each with slow work behind it; those of `early` come first by time."""
    SEEN.clear()
    env = environment(headgate__batch__records="1").set_parallelism(1)
    timing_out = STRATEGY.with_idleness(Duration.of_seconds(1))
    first = env.from_source(early, timing_out, "early").rebalance().map(Slow(behind_early_ms))
    second = env.from_source(Each(FAR, 20, at_once=True), STRATEGY, "late").flat_map(lambda value: [value] * 40)
    second = second.rebalance().map(Slow(behind_late_ms))
    first.union(second).rebalance().process(Note())._end("collect", CollectFactory())
    rig = MasterRig(env.job_graph())
    CLOCK[:] = [rig.clock]
    assert rig.run().status is JobStatus.FINISHED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at_once", "behind_early_ms", "behind_late_ms"),
    [(False, 0.0, 100.0), (False, 0.0, 240.0), (True, 400.0, 0.0), (True, 100.0, 100.0)],
    ids=["other work", "long pieces", "no room", "both"],
)
def test_a_source_that_has_records_is_never_idle(at_once: bool, behind_early_ms: float, behind_late_ms: float) -> None:
    run(Each(0, 40, at_once=at_once), behind_early_ms, behind_late_ms)
    assert [(value, time) for value, time in SEEN if value < FAR and time >= FAR] == []
    assert len(SEEN) == 840


class SilentAtLast(Each):
    """Has nothing behind the first ten numbers when it is asked the next ten times."""

    def reader(self, context: SourceContext) -> EachReader:
        return SilentReader(context, at_once=True)


class SilentReader(EachReader):
    silent_polls = 10

    def poll(self, records_max: int) -> Poll:
        if self._next == 10 and self.silent_polls:
            self.silent_polls -= 1
            return NotReady(self._context.monotonic_ms() + 5.0)
        return super().poll(records_max)


def test_a_source_that_has_none_is_idle_also_beside_other_work() -> None:
    run(SilentAtLast(0, 20, at_once=True), 0.0, 100.0)
    assert any(time >= FAR for value, time in SEEN if value < FAR)
