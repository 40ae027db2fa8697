"""Findings: sentences that say what is wrong in a job, where, and which page shows more. Pure.

The rules only use what the job reports anyway. A finding has a `kind`, a `severity` ("bad" or "warn"), a `text`, and
the address of the `page` that shows more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from math import inf
from typing import Final, final

from headgate.elements import MAX_TIMESTAMP
from headgate.graph.job_graph import VertexPlan
from headgate.ids import SubtaskId
from headgate.runtime.control.subtask_metrics import SubtaskMetrics
from headgate.runtime.job_storage.sources import sources_of
from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord, CheckpointStatus, waiting_of
from headgate.runtime.monitoring.progress import JobProgress
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.checkpoint_phases import flow_of, slowest
from headgate.web.page.history import JobHistory
from headgate.web.page.overview_json import vertex_json
from headgate.web.page.vertex_json import skew
from headgate.web.question import ServedJob, vertex_id

STILL_MS: Final = 15_000
"""Milliseconds after which a watermark that does not advance, or a source that reads nothing, is a finding."""
LOOP_MS: Final = 300_000
LOOP_FAILURES: Final = 3
BUSY: Final = 0.9
HELD: Final = 0.5
SKEWED: Final = 2.0
"""Multiple of the even share of records from which a subtask's share counts as skewed."""
SKEWED_OF_TWO: Final = 0.8
"""The share itself from which one of two subtasks counts as skewed."""
SLOW_MS: Final = 2_000.0
GROWTH: Final = 2.0
GROWN_BYTES: Final = 1_000_000
GROWTH_SAMPLES: Final = 5
_TEXT_MAX: Final = 200


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """The data that the rules use; `now_ms` is wall clock."""

    job: ServedJob
    history: JobHistory
    now_ms: int

    @property
    def progress(self) -> JobProgress:
        """The progress of the job."""
        return self.job.view.progress

    @property
    def vertices(self) -> tuple[VertexPlan, ...]:
        """The vertices of the plan."""
        return tuple(self.job.view.plan.vertices)

    def subtasks(self, vertex: VertexPlan) -> dict[SubtaskId, SubtaskMetrics]:
        """Return the metrics that the subtasks of a vertex report."""
        return {subtask: own for subtask, own in self.progress.subtasks.items() if subtask.vertex == vertex.id}


def findings(seen: Seen) -> list[Json]:
    """Return the findings, those of severity "bad" first."""
    found = [finding for rule in RULES for finding in _found(rule, seen)]
    return sorted(found, key=lambda finding: finding["severity"] != "bad")


def _found(rule: Callable[[Seen], Iterator[Json]], seen: Seen) -> list[Json]:
    """Return the findings of a rule. A rule that fails becomes a finding, and the other rules still run."""
    try:
        return list(rule(seen))
    except Exception as error:  # noqa: BLE001  # a faulty rule must not break the page
        what = rule.__name__.replace("_", " ")
        text = f"The check for trouble ({what}) failed: {type(error).__name__}: {error}"[:_TEXT_MAX]
        return [_finding("broken-rule", "warn", text, "overview")]


def _finding(kind: str, severity: str, text: str, page: str) -> Json:
    return {"kind": kind, "severity": severity, "text": text, "page": page}


# --- failures


def restart_loop(seen: Seen) -> Iterator[Json]:
    """Report repeated failures, and their record if all of them have the same record."""
    recent = [failure for failure in list(seen.progress.failures) if failure.wall_ms > seen.now_ms - LOOP_MS]
    if len(recent) < LOOP_FAILURES:
        return
    minutes = max(1, round((seen.now_ms - recent[0].wall_ms) / 60_000))
    text = f"The job has failed {len(recent)} times in {minutes} min, last: {recent[-1].line()}"
    yield _finding("restart-loop", "bad", text, "exceptions")
    records = {failure.origin.user.record for failure in recent if failure.origin.user is not None}
    user = recent[-1].origin.user
    if user is not None and user.record is not None and records == {user.record}:
        text = f"Each time {user.operator!r} fails for the same record: {user.record[:_TEXT_MAX]}"
        yield _finding("poison-record", "bad", text, "exceptions")


def lost_slot(seen: Seen) -> Iterator[Json]:
    """Report the newest failure if a slot caused it and no operator."""
    failures = list(seen.progress.failures)
    if failures and failures[-1].origin.slot is not None and failures[-1].origin.operator is None:
        where = failures[-1].origin.slot
        yield _finding("lost-slot", "warn", f"Slot {where} failed or was lost: {failures[-1].line()}", "exceptions")


def failed_records(seen: Seen) -> Iterator[Json]:
    """Report records for which functions failed and which were skipped."""
    for vertex in seen.vertices:
        found = vertex_json(vertex, 1, list(seen.subtasks(vertex).values()))
        if found["failed"]:
            text = f"{found['failed']} records failed in {vertex.name!r} and were skipped or sent aside"
            yield _finding("failed-records", "warn", text, "failed")


# --- checkpoints


def failing_checkpoints(seen: Seen) -> Iterator[Json]:
    """Report checkpoints that failed since the newest complete checkpoint."""
    failed = list(takewhile(lambda record: record.status is not CheckpointStatus.COMPLETED, _ended(seen)))
    if failed:
        newest = failed[0]
        times = "The newest checkpoint" if len(failed) == 1 else f"The newest {len(failed)} checkpoints"
        text = f"{times} failed: {(newest.failure or '')[:_TEXT_MAX]}"
        yield _finding("failing-checkpoints", "bad", text, f"checkpoints/{newest.checkpoint_id}")


def waiting_barrier(seen: Seen) -> Iterator[Json]:
    """Report a checkpoint in progress that takes long because its barrier waits behind records."""
    for record in seen.progress.statistics.under_way():
        found = waiting_of(record, seen.progress.subtasks)
        if found is None:
            continue
        waited_ms = seen.now_ms - record.barrier.trigger_ms
        if waited_ms + 1000.0 * (found.wait.seconds or 0.0) >= SLOW_MS:
            what = "Savepoint" if record.is_savepoint else "Checkpoint"
            text = f"{what} {record.checkpoint_id}: {found.text(seen.vertices[found.subtask.vertex].name)}"
            yield _finding("waiting-barrier", "warn", text, f"checkpoints/{record.checkpoint_id}")


def slow_checkpoint(seen: Seen) -> Iterator[Json]:
    """Report the newest complete checkpoint if it took long, and where most of the time was spent."""
    newest = seen.progress.statistics.latest.completed
    if newest is None or not newest.subtasks:
        return
    took_ms = max(figures.duration_ms for figures in newest.acked())
    told = slowest(newest, flow_of(seen.job.view.plan), seen.now_ms)
    if took_ms < SLOW_MS or told is None:
        return
    text = f"Checkpoint {newest.checkpoint_id} took {took_ms / 1000:.1f} s. {told.text}"
    yield _finding("slow-checkpoint", "warn", text, f"checkpoints/{newest.checkpoint_id}")


def _ended(seen: Seen) -> list[CheckpointRecord]:
    records = seen.progress.statistics.history()
    return [record for record in records if record.status is not CheckpointStatus.IN_PROGRESS]


# --- the flow of records


def slow_operator(seen: Seen) -> Iterator[Json]:
    """Report an operator that is busy all the time while an operator before it is back-pressured."""
    for vertex in seen.vertices:
        own = seen.subtasks(vertex)
        busiest = max(own, key=lambda subtask: own[subtask].rates.time.busy_ms, default=None)
        if busiest is None or own[busiest].rates.time.busy_ms < BUSY * 1000:
            continue
        before = {edge.source_vertex for edge in seen.job.view.plan.edges if edge.target_vertex == vertex.id}
        held = [
            other
            for other in seen.vertices
            if other.id in before
            and any(each.rates.time.back_pressured_ms > HELD * 1000 for each in seen.subtasks(other).values())
        ]
        if held:
            share = own[busiest].rates.time.busy_ms / 1000
            text = (
                f"{vertex.name!r} is too slow: subtask {busiest.index} is busy {share:.0%} of its time, and holds back "
                f"{held[0].name!r}"
            )
            yield _finding("slow-operator", "warn", text, f"overview/{vertex_id(vertex)}")


def skewed_keys(seen: Seen) -> Iterator[Json]:
    """Report a busy subtask that receives far more than an even share of its vertex's records."""
    for vertex in seen.vertices:
        parallelism = seen.progress.placement.parallelism[vertex.id]
        own = seen.subtasks(vertex)
        rates = [0.0] * parallelism
        for subtask, metrics in own.items():
            if subtask.index < parallelism:
                rates[subtask.index] = metrics.rates.records_in
        found = skew(rates)
        if found is None or own[SubtaskId(vertex.id, found["subtask"])].rates.time.busy_ms < HELD * 1000:
            continue  # the subtask keeps up with its records
        limit = SKEWED_OF_TWO if parallelism == 2 else SKEWED * found["even"]
        if found["share"] >= limit:
            text = (
                f"{vertex.name!r} is skewed: subtask {found['subtask']} gets {found['share']:.0%} of the records; "
                f"{found['even']:.0%} would be even"
            )
            yield _finding("skew", "warn", text, f"overview/{vertex_id(vertex)}")


def idle_source(seen: Seen) -> Iterator[Json]:
    """Report a source that reads nothing although it has not ended."""
    for number in sources_of(seen.job.view.plan):
        vertex = seen.vertices[number]
        still_ms = _unchanged_ms(seen, number, "in", lambda value: not value)
        if still_ms >= STILL_MS and not _has_ended(seen, vertex):
            text = f"The source {vertex.name!r} has read nothing for {still_ms / 1000:.0f} s"
            yield _finding("idle-source", "warn", text, f"overview/{vertex_id(vertex)}")


def stuck_watermark(seen: Seen) -> Iterator[Json]:
    """Report a source whose watermark does not advance although it reads records."""
    for number in sources_of(seen.job.view.plan):
        newest = next(seen.history.series(number, "watermark"), (0, None))[1]
        still_ms = _unchanged_ms(seen, number, "watermark", lambda value, newest=newest: value == newest)  # type: ignore[misc]
        reads = any(value for _, value in _within(seen, number, "in", STILL_MS))
        if _has_ended(seen, seen.vertices[number]):
            continue
        has_times = any(own.watermark_out is not None for own in seen.subtasks(seen.vertices[number]).values())
        if still_ms >= STILL_MS and reads and (newest is not None or has_times):
            yield _finding("stuck-watermark", "bad", _stuck(seen, number, still_ms), _page(seen, number))


def _has_ended(seen: Seen, source: VertexPlan) -> bool:
    """Return whether all subtasks of a source have ended: each has sent the last watermark."""
    own = seen.subtasks(source).values()
    return bool(own) and all(each.watermark_out == MAX_TIMESTAMP for each in own)


def _stuck(seen: Seen, number: int, still_ms: int) -> str:
    vertex = seen.vertices[number]
    own = seen.subtasks(vertex)
    told = {subtask: -inf if each.watermark_out is None else each.watermark_out for subtask, each in own.items()}
    behind = min(told, key=lambda subtask: told[subtask])
    what = "has no watermark" if told[behind] == -inf else "is the furthest behind"
    return (
        f"The watermark of {vertex.name!r} has not moved for {still_ms / 1000:.0f} s although records come: "
        f"subtask {behind.index} {what}; windows wait for it"
    )


def growing_state(seen: Seen) -> Iterator[Json]:
    """Report state that grows with each checkpoint."""
    for number, vertex in enumerate(seen.vertices):
        sizes = [size for _, size in seen.history.series(number, "stateBytes") if size is not None]
        steps = [size for place, size in enumerate(sizes) if place == 0 or size != sizes[place - 1]]
        if len(steps) < GROWTH_SAMPLES or steps != sorted(steps, reverse=True):
            continue
        if steps[0] - steps[-1] >= GROWN_BYTES and steps[0] >= GROWTH * max(1.0, steps[-1]):
            text = (
                f"The state of {vertex.name!r} grows: {steps[-1] / 1e6:.1f} MB to {steps[0] / 1e6:.1f} MB, more at "
                "each checkpoint; does it have a time to live?"
            )
            yield _finding("growing-state", "warn", text, _page(seen, number))


def _unchanged_ms(seen: Seen, vertex: int, name: str, is_same: Callable[[float | None], bool]) -> int:
    """Return for how many milliseconds of this attempt `is_same` has held for a figure."""
    since_ms = seen.progress.running_since_ms
    if since_ms is None:
        return 0
    same = takewhile(lambda item: item[0] >= since_ms and is_same(item[1]), seen.history.series(vertex, name))
    first_ms = min((at_ms for at_ms, _ in same), default=seen.now_ms)
    return seen.now_ms - first_ms


def _within(seen: Seen, vertex: int, name: str, ms: int) -> Iterator[tuple[int, float | None]]:
    return takewhile(lambda item: item[0] > seen.now_ms - ms, seen.history.series(vertex, name))


def _page(seen: Seen, vertex: int) -> str:
    return f"overview/{vertex_id(seen.vertices[vertex])}"


RULES: Final[tuple[Callable[[Seen], Iterator[Json]], ...]] = (
    restart_loop,
    lost_slot,
    failing_checkpoints,
    stuck_watermark,
    waiting_barrier,
    slow_checkpoint,
    slow_operator,
    skewed_keys,
    idle_source,
    growing_state,
    failed_records,
)
