"""The end of a job in storage: what stays of it, what is deleted, and how sinks and sources are released.

A job that failed before this driver's first complete checkpoint gets no result, and nothing is deleted: the next start,
with the right settings or with the missing file, needs the same snapshot. Only copies of the sources' input are
deleted, if this driver has made them: the next start makes its own. A driver that does not own the job yet also deletes
and records nothing. A driver that is cancelled before it has restored keeps the checkpoints of earlier drivers. Of a
suspended job everything stays: a later driver continues it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from headgate import options
from headgate.checkpoint.cleanup import deletion
from headgate.checkpoint.drivers import job_records
from headgate.checkpoint.drivers.begun_savepoints import given_up
from headgate.checkpoint.drivers.job_records import JobResult
from headgate.checkpoint.restore.latest import Resolution
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import as_programmed
from headgate.job_status import JobStatus
from headgate.runtime.job_storage.lease import LeaseLost, recorded_result
from headgate.runtime.job_storage.location import keeps_checkpoints
from headgate.runtime.job_storage.owners import Parts, Steps, step
from headgate.runtime.job_storage.restore import Known
from headgate.runtime.monitoring.outcome import JobOutcome


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndFacts:
    """The facts about a job that decide what happens in storage when it has ended.

    `keeps`: the settings keep checkpoints after such an end. `owns`: this driver has the lease. `has_restored`: no
    checkpoint of earlier drivers waits to be restored. `has_completed`: this driver has completed a checkpoint.
    `recorded` is the result in storage, None for none.
    """

    status: JobStatus
    keeps: bool
    owns: bool
    has_restored: bool
    has_completed: bool
    recorded: JobResult | None


class DeletedInputs(enum.Enum):
    """Which copies of the sources' input are deleted."""

    NONE = "none"
    NEW = "copies that this driver has made"
    UNREAD = "copies that no remaining checkpoint still reads"
    ALL = "all"


class DeletedCheckpoints(enum.Enum):
    """Which checkpoints are deleted."""

    NONE = "none"
    BEYOND = "older checkpoints beyond the retained number"
    ALL = "all"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndPlan:
    """The work at the end of a job.

    `records`: the result is written. `kept`: the checkpoints stay. `deletes_output`: sinks remove output that they have
    prepared and not committed. `deletes_claimed`: the claimed snapshot is deleted.
    """

    records: bool = False
    kept: bool = True
    deletes_output: bool = False
    inputs: DeletedInputs = DeletedInputs.NONE
    deletes_claimed: bool = False
    checkpoints: DeletedCheckpoints = DeletedCheckpoints.NONE


def end_plan_of(facts: EndFacts) -> EndPlan:
    """Return the work at the end of a job."""
    if facts.status is JobStatus.SUSPENDED:
        return EndPlan()
    is_early = facts.status is JobStatus.FAILED and not facts.has_completed
    if facts.recorded is None and (is_early or not facts.owns):
        return EndPlan(inputs=DeletedInputs.NEW)
    kept = facts.keeps or not facts.has_restored if facts.recorded is None else facts.recorded.kept
    beyond = DeletedCheckpoints.BEYOND if facts.owns and facts.has_restored else DeletedCheckpoints.NONE
    return EndPlan(
        records=facts.recorded is None,
        kept=kept,
        deletes_output=not kept,
        inputs=DeletedInputs.UNREAD if kept else DeletedInputs.ALL,
        deletes_claimed=facts.owns and facts.status is JobStatus.FINISHED,
        checkpoints=beyond if kept else DeletedCheckpoints.ALL,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobFinish:
    """The end of one job in storage. `known` is what this driver knows of the job's snapshots; else as `EndFacts`."""

    parts: Parts
    plan: JobGraph
    outcome: JobOutcome
    ended_ms: int
    known: Known
    has_restored: bool
    has_completed: bool

    def steps(self) -> Steps[None]:
        """Write the durable result, then release sinks and sources and delete what does not stay.

        A driver that is taken over meanwhile does nothing more.
        """
        parts = self.parts
        if self.outcome.status is JobStatus.SUSPENDED:
            yield from release_all(parts)
            return
        yield from _close_inputs(parts)
        try:
            recorded = yield from step(parts.snapshot_owner, lambda: recorded_result(parts.folder()))
            end_plan = end_plan_of(self._facts(recorded))
            try:
                yield from self._record(end_plan)
                yield from self._delete_inputs(end_plan.inputs)
            except Exception:
                yield from release_all(parts)
                raise
            yield from release_all(parts)
            yield from self._delete_checkpoints(end_plan)
        except LeaseLost:
            return

    def _facts(self, recorded: JobResult | None) -> EndFacts:
        return EndFacts(
            status=self.outcome.status,
            keeps=keeps_checkpoints(self.plan, self.outcome.status),
            owns=self.parts.lease is not None,
            has_restored=self.has_restored,
            has_completed=self.has_completed,
            recorded=recorded,
        )

    def _record(self, end_plan: EndPlan) -> Steps[None]:
        """Write the result. Then sinks remove prepared output that nothing can commit any more."""
        parts, sinks = self.parts, self.parts.sinks
        result = JobResult(
            status=self.outcome.status,
            cause=self.outcome.cause,
            ended_ms=self.ended_ms,
            owner="" if parts.lease is None else str(parts.lease.driver),
            kept=end_plan.kept,
        )
        if end_plan.records:
            yield from step(parts.snapshot_owner, lambda: job_records.write_result(parts.folder(), result))
        if end_plan.deletes_output and sinks is not None:
            yield from give_up_savepoints(parts)
            yield from step(parts.sink_owner, self._acting(sinks.discard))

    def _delete_inputs(self, which: DeletedInputs) -> Steps[None]:
        parts, inputs = self.parts, self.parts.inputs
        if inputs is None or which is DeletedInputs.NONE:
            return
        if which is DeletedInputs.NEW:
            yield from step(parts.source_owner, inputs.discard_new)
        elif which is DeletedInputs.ALL:
            yield from step(parts.source_owner, self._acting(inputs.discard))
        else:
            found = yield from step(parts.snapshot_owner, self._complete)
            complete = [*found.older, *([] if found.manifest is None else [found.manifest])]
            yield from step(parts.source_owner, lambda: inputs.discard_unread(parts.folder(), complete))

    def _complete(self) -> Resolution:
        """Return which checkpoints of the job are complete. Blocks."""
        return self.parts.resolver(self.plan, as_programmed(self.plan)).complete(self.known)

    def _acting(self, action: Callable[[], None]) -> Callable[[], None]:
        def work() -> None:
            self.parts.folder()
            action()

        return work

    def _delete_checkpoints(self, end_plan: EndPlan) -> Steps[None]:
        parts = self.parts
        if end_plan.deletes_claimed:
            yield from step(parts.clean_up_owner, parts.clean_up().drop_claimed)
        if end_plan.checkpoints is DeletedCheckpoints.ALL:
            yield from step(parts.clean_up_owner, lambda: deletion.delete_checkpoints(parts.folder()))
        elif end_plan.checkpoints is DeletedCheckpoints.BEYOND:
            clean_up, number = parts.clean_up(), self.plan.settings.get(options.CHECKPOINTS_RETAINED)
            found = yield from step(parts.snapshot_owner, self._complete)
            yield from step(parts.clean_up_owner, lambda: clean_up.keep_retained(found, number))


def give_up_savepoints(parts: Parts) -> Steps[None]:
    """Tell sinks to release the output of savepoints that never became complete. No savepoint is being stored."""
    sinks = parts.sinks
    savepoints = yield from step(parts.snapshot_owner, lambda: given_up(parts.folder(), parts.open_store))
    if sinks is not None and savepoints:
        yield from step(parts.sink_owner, lambda: sinks.give_up(savepoints))


def release_all(parts: Parts) -> Steps[None]:
    """Close sources and release all sinks and sources. Raise the first failure of a sink at the end."""
    yield from _close_inputs(parts)
    sinks = parts.sinks
    if parts.lease is not None and parts.lease.is_lost:
        return
    try:
        if sinks is not None:
            yield from step(parts.sink_owner, sinks.release)
    except Exception:
        yield from _release_inputs(parts)
        raise
    yield from _release_inputs(parts)


def _release_inputs(parts: Parts) -> Steps[None]:
    if parts.inputs is not None:
        yield from step(parts.source_owner, parts.inputs.release)


def _close_inputs(parts: Parts) -> Steps[None]:
    if parts.inputs is not None:
        yield from step(parts.source_owner, parts.inputs.close)
