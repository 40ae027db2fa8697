"""Metrics of a whole job: a slow end, and those behind which records pile up; what functions count."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.clock import VirtualClock
from headgate.functions.api import KeyedProcessFunction, MapFunction
from headgate.functions.context import RuntimeContext
from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.graph.logical import Partitioning
from headgate.ids import SubtaskId
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.operators.keyed_functions import KeyedProcessFactory
from headgate.operators.plain_functions import MapFactory
from headgate.runtime.monitoring.exposition import exposition
from headgate.runtime.monitoring.metrics import JobMetrics
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import Step, line_plan

CLOCK: list[VirtualClock] = []
SOURCE, MIDDLE, END = SubtaskId(0, 0), SubtaskId(1, 0), SubtaskId(2, 0)


class Numbers(Source[int]):
    """Numbers up to a limit, as fast as they are taken."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def splits(self, parallelism: int) -> list[int]:
        return [self.limit]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return NumbersReader()


class NumbersReader(SourceReader[int]):
    def __init__(self) -> None:
        self.left = 0

    def add_splits(self, splits: list[int]) -> None:
        self.left += sum(splits)

    def poll(self, records_max: int) -> Poll:
        taken = min(self.left, records_max)
        self.left -= taken
        return Records(list(range(taken))) if taken else END_OF_INPUT

    def snapshot(self) -> list[int]:
        return [self.left]


class Waiting(Source[int]):
    """A number each ten milliseconds."""

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return WaitingReader(context)


class WaitingReader(SourceReader[int]):
    def __init__(self, context: SourceContext) -> None:
        self.context = context
        self.due_ms = 0.0

    def add_splits(self, splits: list[int]) -> None:
        pass

    def poll(self, records_max: int) -> Poll:
        now_ms = self.context.monotonic_ms()
        if now_ms < self.due_ms:
            return NotReady(self.due_ms)
        self.due_ms = now_ms + 10.0
        return Records([1])

    def snapshot(self) -> list[int]:
        return [0]


class Slow(MapFunction):
    """Takes its time for each record, by the virtual clock, in one subtask; and counts."""

    def __init__(self, takes_ms: float, subtask: int = 0) -> None:
        self.takes_ms = takes_ms
        self.subtask = subtask

    def open(self, runtime_context: RuntimeContext) -> None:
        if runtime_context.get_index_of_this_subtask() != self.subtask:
            self.takes_ms = 0.0
        group = runtime_context.get_metrics_group()
        self.seen = group.counter("seen")
        self.sizes = group.add_group("kind", "even").distribution("sizes")
        self.calls = group.meter("calls", 10)
        group.gauge("twice", lambda: 2 * self.seen.get_count())

    def map(self, value: int) -> int:
        CLOCK[0].advance(self.takes_ms)
        self.seen.inc()
        self.calls.mark_event()
        if value % 2 == 0:
            self.sizes.update(value)
        return value


def rig_with(*steps: Any) -> MasterRig:
    """A job of these steps, with channels that are soon full."""
    rig = MasterRig(line_plan(*steps, CollectFactory(), settings={"headgate.batch.records": "64"}))
    CLOCK[:] = [rig.clock]
    return rig


def rig_of(limit: int, middle_ms: float, end_ms: float) -> MasterRig:
    """A source and two operators behind one another, in one slot."""
    middle, end = (Step(MapFactory(Slow(ms)), Partitioning.REBALANCE, None, 1) for ms in (middle_ms, end_ms))
    return rig_with(Numbers(limit), middle, end)


def run(rig: MasterRig, for_ms: float) -> JobMetrics:
    rig.master.submit()
    until_ms = rig.clock.monotonic_ms() + for_ms
    rig.run_until(lambda: rig.clock.monotonic_ms() > until_ms, turns=100_000)
    return JobMetrics(rig.plan, rig.master.progress)


def shares(metrics: JobMetrics, subtask: SubtaskId) -> tuple[float, float, float]:
    found = metrics.of_subtask(subtask)
    names = ("busyTimeMsPerSecond", "backPressuredTimeMsPerSecond", "idleTimeMsPerSecond")
    busy, held, idle = (found[name] for name in names)
    return busy, held, idle


def test_in_one_slot_the_slow_operator_is_busy_and_the_source_held_back() -> None:
    metrics = run(rig_of(1_000_000, 0.0, 5.0), 5000.0)
    assert [metrics.back_pressure(vertex, 0)["backpressureLevel"] for vertex in range(3)] == ["high", "ok", "ok"]
    busy, held, _ = shares(metrics, END)
    assert busy > 950.0
    assert held == 0.0
    busy, held, _ = shares(metrics, SOURCE)
    assert busy < 50.0
    assert held > 900.0
    for subtask in (SOURCE, MIDDLE, END):
        assert sum(shares(metrics, subtask)) == pytest.approx(1000.0)


def test_a_full_channel_to_another_slot_holds_back_whoever_fills_it() -> None:
    steps = (
        Step(MapFactory(Slow(0.0)), Partitioning.REBALANCE, None, 1),
        Step(MapFactory(Slow(5.0, subtask=1)), Partitioning.REBALANCE, None, 2),
    )
    metrics = run(rig_with(Numbers(1_000_000), *steps), 20_000.0)
    assert [metrics.back_pressure(vertex, 0)["backpressureLevel"] for vertex in range(3)] == ["high", "high", "ok"]
    assert shares(metrics, SubtaskId(2, 1))[0] > 950.0
    assert shares(metrics, SubtaskId(2, 0))[2] > 950.0
    assert shares(metrics, MIDDLE)[1] > 900.0


def test_a_source_that_waits_for_records_is_idle() -> None:
    metrics = run(rig_with(Waiting(), MapFactory(Slow(1.0))), 3000.0)
    assert metrics.back_pressure(0, 0)["backpressureLevel"] == "ok"
    busy, held, idle = shares(metrics, SOURCE)
    assert held == 0.0
    assert 75.0 < busy < 105.0
    assert busy + idle == pytest.approx(1000.0)


class SlowTimers(KeyedProcessFunction):
    """Sets a timer of processing time at each record, and takes its time for the timers."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        CLOCK[0].advance(10.0)


def test_a_subtask_is_busy_while_its_timers_of_processing_time_are_fired() -> None:
    timers = Step(KeyedProcessFactory(SlowTimers()), Partitioning.KEY_GROUP, lambda number: number)
    metrics = run(rig_with(Waiting(), timers), 3000.0)
    assert shares(metrics, MIDDLE)[0] > 400.0
    assert sum(shares(metrics, MIDDLE)) == pytest.approx(1000.0)


def test_records_in_and_out_agree_along_the_way_and_rates_with_the_time_they_took() -> None:
    rig = rig_of(400, 0.0, 10.0)
    metrics = run(rig, 3000.0)
    assert metrics.of_subtask(END)["numRecordsInPerSecond"] == pytest.approx(100.0, rel=0.1)
    rig.end()
    ins, outs = (
        [metrics.of_subtask(each)[name] for each in (SOURCE, MIDDLE)] for name in ("numRecordsIn", "numRecordsOut")
    )
    assert ins == outs == [400, 400]
    assert metrics.of_subtask(END)["numRecordsIn"] == 400
    assert metrics.of_subtask(SOURCE)["currentOutputWatermark"] == 2**63 - 1


def test_metrics_of_functions_arrive_under_their_operator() -> None:
    rig = rig_of(300, 1.0, 10.0)
    metrics = run(rig, 1500.0)
    rig.end()
    found = metrics.of_subtask(END)
    name = rig.plan.vertices[2].operators[0].name
    assert found[f"{name}.seen"] == 300
    assert found[f"{name}.twice"] == 600
    assert found[f"{name}.calls"] == pytest.approx(100.0, rel=0.2)
    assert found[f"{name}.even.sizes.count"] > 0
    assert found[f"{name}.even.sizes.min"] == 0
    text = exposition([metrics], 0).decode()
    assert "headgate_operator_sizes_count{" in text
    assert 'kind="even"' in text


def test_metrics_that_are_switched_off_are_refused_by_their_key() -> None:
    rig = MasterRig(line_plan([1], MapFactory(Slow(0.0)), settings={"python.metric.enabled": "false"}))
    outcome = rig.run()
    assert outcome.status is JobStatus.FAILED
    assert "python.metric.enabled is false" in (outcome.cause or "")
