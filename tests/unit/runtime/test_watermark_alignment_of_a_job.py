"""Sources that are aligned, in whole jobs in virtual time: none reads far ahead of the others, and all is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

import pytest

from headgate.common import Duration, Time, WatermarkStrategy
from headgate.datastream import DataStream, MapFunction, ProcessJoinFunction
from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.functions.watermarks import WatermarkGenerator, WatermarkOutput
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import Placement, PlacementPolicy, as_programmed
from headgate.ids import Attempt, Launch, SubtaskId
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.operators.source import SourceFactory
from headgate.runtime.control.messages import AllowWatermarks, Start, TearDown, WatermarkReported
from headgate.runtime.master.requests import SavepointRequest
from headgate.runtime.monitoring.metrics import JobMetrics
from tests.unit.datastream.environments import environment
from tests.unit.runtime.masters import MasterRig

pytestmark = pytest.mark.slow  # whole jobs

DRIFT: Final = 30
GATES: Final[dict[str, int]] = {}
"""How many records each source may give, all if it is not in here."""
READ: Final[dict[str, int]] = defaultdict(lambda: -1)
"""The newest record that each source has given."""
AHEAD: Final[dict[str, int]] = defaultdict(int)
"""How far each source has been ahead of the other ones at most."""
FAILS: Final[list[str]] = []
"""A failure to come."""


@pytest.fixture(autouse=True)
def _fresh() -> None:
    for noted in (GATES, READ, AHEAD, FAILS):
        noted.clear()


@dataclass(eq=False)
class Counted(Source[tuple[int, int, int]]):
    """Numbers from 0, one each `every_ms`; of several subtasks each reads its own. They are their event times."""

    name: str
    count: int
    every_ms: float = 1.0

    def splits(self, parallelism: int) -> list[tuple[int, int, int]]:
        return [(subtask, parallelism, self.count) for subtask in range(parallelism)]

    def reader(self, context: SourceContext) -> CountedReader:
        return CountedReader(self, context)


class CountedReader(SourceReader[tuple[int, int, int]]):
    def __init__(self, source: Counted, context: SourceContext) -> None:
        self._source = source
        self._context = context
        self._left: list[tuple[int, int, int]] = []
        self._due_ms = context.monotonic_ms()

    def add_splits(self, splits: list[tuple[int, int, int]]) -> None:
        self._left += splits

    def poll(self, records_max: int) -> Poll:
        if not self._left:
            return END_OF_INPUT
        now_ms, name = self._context.monotonic_ms(), self._source.name
        number, step, count = self._left[0]
        if now_ms < self._due_ms or number >= GATES.get(name, count):
            return NotReady(max(self._due_ms, now_ms + 1.0))
        self._due_ms += self._source.every_ms
        self._left[0] = (number + step, step, count)
        if number + step >= count:
            self._left.pop(0)
        self._note(name, number)
        return Records([number], [number])

    def _note(self, name: str, number: int) -> None:
        READ[name] = max(READ[name], number)
        others = [newest for other, newest in READ.items() if other != name]
        if others and FIRST_ANNOUNCED[0] and min(others) < SLOW.count - 1:
            AHEAD[name] = max(AHEAD[name], number - min(others))

    def snapshot(self) -> list[tuple[int, int, int]]:
        return list(self._left)


FIRST_ANNOUNCED: Final = [False]
"""Whether sources have heard of each other."""


class EachRecord(WatermarkGenerator):
    """A watermark behind every record."""

    def on_event(self, event: Any, timestamp_ms: int, output: WatermarkOutput) -> None:
        output.emit_watermark(timestamp_ms)


PLAIN: Final = WatermarkStrategy.for_generator(EachRecord)


def aligned(strategy: WatermarkStrategy = PLAIN, drift: int = DRIFT) -> WatermarkStrategy:
    return strategy.with_watermark_alignment("all", Duration.of_millis(drift), Duration.of_millis(20))


class Failing(MapFunction):
    """Passes records on, and fails when the test says so."""

    def map(self, value: Any) -> Any:
        if FAILS:
            raise RuntimeError(FAILS.pop())
        return value


class Named(MapFunction):
    """Tells of which source a record is."""

    def __init__(self, source: str) -> None:
        self.source = source

    def map(self, value: int) -> tuple[str, int]:
        return self.source, value


def rig_of(
    *sources: tuple[Counted, WatermarkStrategy],
    parallelism: int = 1,
    placed: PlacementPolicy = as_programmed,
    settings: Mapping[str, str] | None = None,
) -> MasterRig:
    """A job that brings the records of all sources together."""
    env = environment(headgate__batch__records="1", **(settings or {})).set_parallelism(parallelism)
    first, *rest = [
        env.from_source(source, strategy, source.name).map(Named(source.name)) for source, strategy in sources
    ]
    collected(first.union(*rest).rebalance().map(Failing()))
    return MasterRig(env.job_graph(), placed=placed)


def collected(stream: DataStream) -> None:
    stream._end("collect", CollectFactory())


def announcements(rig: MasterRig, attempt: int = 1) -> list[dict[int, int]]:
    """What the slot has been told in an attempt."""
    told = [message for link in rig.links.values() for message in link.told if isinstance(message, AllowWatermarks)]
    return [message.allowed for message in told if message.attempt == attempt]


def start(rig: MasterRig, gate: str, records: int = 3) -> None:
    """Run until the sources have heard of each other; until then `gate` gives so many records."""
    GATES[gate] = records
    FIRST_ANNOUNCED[0] = False
    rig.master.submit()
    rig.run_until(lambda: announcements(rig), step_ms=1.0)
    FIRST_ANNOUNCED[0] = True
    del GATES[gate]


def settle(rig: MasterRig, ms: float = 300.0) -> None:
    """Let so much time pass that whatever may be read is read."""
    until_ms = rig.clock.monotonic_ms() + ms
    rig.run_until(lambda: rig.clock.monotonic_ms() >= until_ms, step_ms=1.0)


def all_of(**counts: int) -> list[tuple[str, int]]:
    return sorted((name, number) for name, count in counts.items() for number in range(count))


FAST, SLOW = Counted("fast", 2_000, 0.1), Counted("slow", 400, 5.0)


def test_a_fast_source_stays_within_the_drift_of_a_slow_one_and_all_is_read() -> None:
    rig = rig_of((FAST, aligned()), (SLOW, aligned()))
    start(rig, "fast")
    assert rig.end().status is JobStatus.FINISHED
    assert DRIFT - 5 <= AHEAD["fast"] <= DRIFT + 1
    assert sorted(rig.collected()) == all_of(fast=2_000, slow=400)


def test_without_alignment_it_does_not() -> None:
    rig = rig_of((FAST, PLAIN), (SLOW, PLAIN))
    FIRST_ANNOUNCED[0] = True
    rig.run()
    assert AHEAD["fast"] > 1_500


class Paid(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        yield left


@pytest.mark.parametrize("is_aligned", [True, False])
def test_what_a_join_keeps_of_the_fast_source_is_bounded(is_aligned: bool) -> None:
    strategy = aligned() if is_aligned else PLAIN
    env = environment(headgate__batch__records="1").set_parallelism(1)
    left, right = (env.from_source(source, strategy, source.name).key_by(int) for source in (FAST, SLOW))
    joined = left.interval_join(right).between(Time.milliseconds(0), Time.milliseconds(0)).process(Paid())
    collected(joined)
    rig = MasterRig(env.job_graph())
    if is_aligned:
        start(rig, "fast")
    else:
        rig.master.submit()
    kept: list[int] = []

    def note() -> bool:
        operators = [own for slot in rig.slots.values() for own in _operators(slot)]
        kept.append(sum(len(own._backend.cells) for own in operators if hasattr(own, "_backend")))
        return rig.master.outcome is not None

    rig.run_until(note, step_ms=1.0, turns=50_000)
    assert sorted(rig.collected()) == list(range(400))
    assert (max(kept) <= DRIFT + 10) is is_aligned


def _operators(slot: Any) -> list[Any]:
    execution = slot._execution
    return [] if execution is None else [own for each in execution.subtasks.values() for own in each.operators]


def test_each_subtask_of_a_source_is_aligned_with_all_others() -> None:
    rig = rig_of((FAST, aligned()), (SLOW, aligned()), parallelism=3)
    start(rig, "fast")
    assert rig.end().status is JobStatus.FINISHED
    assert AHEAD["fast"] <= DRIFT + 3  # a subtask has every third number
    assert sorted(rig.collected()) == all_of(fast=2_000, slow=400)


def test_a_source_that_is_idle_is_not_waited_for() -> None:
    silent = aligned(PLAIN.with_idleness(Duration.of_millis(200)))
    GATES["silent"] = 0
    rig = rig_of((FAST, aligned()), (SLOW, aligned()), (Counted("silent", 10), silent))
    start(rig, "fast")
    rig.run_until(lambda: READ["fast"] >= 1_000, step_ms=1.0)
    del GATES["silent"]
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(rig.collected()) == all_of(fast=2_000, slow=400, silent=10)


def test_a_source_without_a_watermark_is_waited_for_once_it_has_reported() -> None:
    GATES["late"] = 0
    rig = rig_of((FAST, aligned()), (Counted("late", 100), aligned()))
    start(rig, "fast")
    settle(rig)
    assert READ["fast"] == 2
    del GATES["late"]
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(rig.collected()) == all_of(fast=2_000, late=100)


def test_when_the_slow_source_has_ended_the_fast_one_reads_on() -> None:
    rig = rig_of((FAST, aligned()), (Counted("short", 10), aligned()))
    start(rig, "fast")
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(rig.collected()) == all_of(fast=2_000, short=10)


def paused_rig(settings: Mapping[str, str] | None = None) -> MasterRig:
    """A job whose fast source waits at the allowed watermark, as the slow one gives nothing any more."""
    GATES["slow"] = 20
    rig = rig_of((FAST, aligned()), (SLOW, aligned()), settings=settings)
    start(rig, "fast")
    rig.run_until(lambda: READ["slow"] == 19 and READ["fast"] == 19 + DRIFT + 1, step_ms=1.0)
    return rig


CHECKPOINTING: Final = {
    "execution__checkpointing__interval": "1 h",
    "restart-strategy__type": "fixed-delay",
    "restart-strategy__fixed-delay__delay": "0 ms",
}


def checkpoint(rig: MasterRig) -> str:
    answer = Future[str]()
    rig.master.trigger_checkpoint(answer)
    rig.run_until(answer.done, step_ms=1.0)
    return answer.result()


def test_a_checkpoint_completes_while_a_source_waits_and_the_source_still_does() -> None:
    rig = paused_rig(settings=CHECKPOINTING)
    assert checkpoint(rig)
    settle(rig)
    assert READ["fast"] == 19 + DRIFT + 1
    GATES.clear()
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(rig.collected()) == all_of(fast=2_000, slow=400)


def test_after_a_restart_a_source_that_waited_waits_again_and_nothing_is_lost_or_twice() -> None:
    rig = paused_rig(settings=CHECKPOINTING)
    checkpoint(rig)
    GATES["fast"] = 60  # until it hears of the slow one in the new attempt, nothing else holds it
    FAILS.append("on purpose")
    GATES["slow"] = 21
    rig.run_until(lambda: announcements(rig, attempt=2), step_ms=1.0)
    del GATES["fast"]
    settle(rig)
    assert READ["slow"] == 20
    assert READ["fast"] <= 60
    GATES.clear()
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(rig.collected()) == all_of(fast=2_000, slow=400)


def test_nothing_is_announced_between_two_attempts() -> None:
    rig = paused_rig(settings={**CHECKPOINTING, "restart-strategy__fixed-delay__delay": "200 ms"})
    checkpoint(rig)
    FAILS.append("on purpose")
    GATES["slow"] = 21
    rig.run_until(lambda: announcements(rig, attempt=2), step_ms=1.0)
    told = rig.links[0].told
    ended, started = told.index(TearDown(attempt=Attempt(1))), told.index(Start(attempt=Attempt(2)))
    assert [message for message in told[ended:started] if isinstance(message, AllowWatermarks)] == []


def test_the_master_asks_to_be_stepped_when_an_announcement_is_due() -> None:
    rig = paused_rig()
    wake_ms = rig.master.step(rig.clock.monotonic_ms())
    assert wake_ms is not None
    assert wake_ms <= rig.clock.monotonic_ms() + 20.0


def test_what_an_earlier_attempt_has_said_is_forgotten() -> None:
    rig = paused_rig(settings=CHECKPOINTING)
    checkpoint(rig)
    GATES["fast"] = 55
    FAILS.append("on purpose")
    GATES["slow"] = 21
    rig.run_until(lambda: announcements(rig, attempt=2), step_ms=1.0)
    del GATES["fast"]
    vertices = [vertex.id for vertex in rig.plan.vertices]
    rig.slots[0].receive(AllowWatermarks(attempt=Attempt(1), allowed=dict.fromkeys(vertices, 1_000_000)))
    for vertex in vertices:
        report = WatermarkReported(attempt=Attempt(1), subtask=SubtaskId(vertex, 0), watermark_ms=None)
        rig.master.receive(Launch(rig.launches[-1]), report)
    settle(rig)
    assert READ["fast"] <= 55


def narrowing(plan: JobGraph, attempt: Attempt) -> Placement:
    """Two subtasks of each source, and one from the second attempt on."""
    sources = [isinstance(vertex.operators[0].factory, SourceFactory) for vertex in plan.vertices]
    return Placement(parallelism=tuple(2 if is_source and attempt == 1 else 1 for is_source in sources))


def test_at_another_parallelism_those_subtasks_count_that_there_are() -> None:
    rig = rig_of((FAST, aligned()), (SLOW, aligned()), placed=narrowing, settings=CHECKPOINTING)
    start(rig, "fast")
    rig.run_until(lambda: READ["slow"] >= 50, step_ms=1.0)
    checkpoint(rig)
    FAILS.append("on purpose")
    assert rig.end().status is JobStatus.FINISHED
    assert rig.master.progress.placement.slots == 1
    assert sorted(rig.collected()) == all_of(fast=2_000, slow=400)


def test_a_source_that_waits_can_be_drained() -> None:
    rig = paused_rig(settings=CHECKPOINTING)
    answer = Future[str]()
    rig.master.take_savepoint(SavepointRequest(target="/savepoints", stops=True, drains=True), answer)
    assert rig.end().status is JobStatus.FINISHED
    assert answer.result().startswith("/savepoints")
    assert sorted(rig.collected()) == all_of(fast=19 + DRIFT + 2, slow=20)


def test_the_drift_is_a_metric_and_so_is_the_lag_of_the_watermark() -> None:
    rig = paused_rig()
    settle(rig, 2_000.0)
    metrics = JobMetrics(rig.plan, rig.master.progress)
    sources = {vertex.operators[0].name: SubtaskId(vertex.id, 0) for vertex in rig.plan.vertices}
    fast, slow = (metrics.of_subtask(sources[f"Source: {name}"]) for name in ("fast", "slow"))
    assert (fast["watermarkAlignmentDrift"], slow["watermarkAlignmentDrift"]) == (DRIFT + 1, 0)
    assert fast["currentOutputWatermark"] == 19 + DRIFT + 1
    assert fast["watermarkLag"] > 2_000.0
    assert fast["currentEmitEventTimeLag"] < fast["watermarkLag"]
    (behind,) = [
        vertex.id for vertex in rig.plan.vertices if not isinstance(vertex.operators[0].factory, SourceFactory)
    ]
    both = metrics.of_subtask(SubtaskId(behind, 0))
    assert both["currentInputWatermark"] == 19
    assert both["watermarkLag"] > fast["watermarkLag"]
    assert "watermarkAlignmentDrift" not in both
