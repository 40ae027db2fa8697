"""The end of a job in storage: what stays of it, what is deleted, and how sinks and sources are released.

A job that failed before this driver's first complete checkpoint has no result, and nothing is deleted: what it was to
start from is there for the next start, which may have the right settings, or the file that was missing. Only copies of
what sources read are deleted, if this driver has made them: the next start makes its own. A driver that does not own
the job yet deletes and records nothing either. A driver that is cancelled before it has restored keeps the checkpoints
of earlier drivers. Of a suspended job everything stays: a later driver continues it.
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
from headgate.graph.job_graph import JobGraph
from headgate.job_status import JobStatus
from headgate.runtime.job_storage.lease import LeaseLost
from headgate.runtime.job_storage.location import keeps_checkpoints
from headgate.runtime.job_storage.owners import Parts, Steps, step
from headgate.runtime.job_storage.restore import Known
from headgate.runtime.job_storage.snapshots import recorded_result
from headgate.runtime.monitoring.outcome import JobOutcome


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndFacts:
    """What is known of a job when it has ended.

    `keeps`: its settings keep checkpoints after such an end. `owns`: this driver has the lease. `has_restored`: nothing
    that earlier drivers have left waits to be restored. `recorded` is the result in storage, if there is one.
    """

    status: JobStatus
    keeps: bool
    owns: bool
    has_restored: bool
    has_completed: bool
    recorded: JobResult | None


class InputsThatGo(enum.Enum):
    """Which copies of what sources read go."""

    NONE = "none"
    NEW = "those that this driver has made"
    UNREAD = "those that no checkpoint which stays has still to read"
    ALL = "all"


class CheckpointsThatGo(enum.Enum):
    """Which checkpoints go."""

    NONE = "none"
    BEYOND = "those beyond the number that is retained"
    ALL = "all"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndPlan:
    """What is done at the end. Without `records` no result is written; `output` is what sinks have prepared only."""

    records: bool = False
    kept: bool = True
    output_goes: bool = False
    inputs: InputsThatGo = InputsThatGo.NONE
    claimed_goes: bool = False
    checkpoints: CheckpointsThatGo = CheckpointsThatGo.NONE


def end_plan_of(facts: EndFacts) -> EndPlan:
    """Return what is done at the end of a job."""
    if facts.status is JobStatus.SUSPENDED:
        return EndPlan()
    is_early = facts.status is JobStatus.FAILED and not facts.has_completed
    if facts.recorded is None and (is_early or not facts.owns):
        return EndPlan(inputs=InputsThatGo.NEW)
    kept = facts.keeps or not facts.has_restored if facts.recorded is None else facts.recorded.kept
    beyond = CheckpointsThatGo.BEYOND if facts.owns and facts.has_restored else CheckpointsThatGo.NONE
    return EndPlan(
        records=facts.recorded is None,
        kept=kept,
        output_goes=not kept,
        inputs=InputsThatGo.UNREAD if kept else InputsThatGo.ALL,
        claimed_goes=facts.owns and facts.status is JobStatus.FINISHED,
        checkpoints=beyond if kept else CheckpointsThatGo.ALL,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobFinish:
    """The end of one job that this driver has run. `known`, `has_restored` and `has_completed` are of this driver."""

    parts: Parts
    plan: JobGraph
    outcome: JobOutcome
    ended_ms: int
    known: Known
    has_restored: bool
    has_completed: bool

    def steps(self) -> Steps[None]:
        """Write the durable result, then give sinks back and delete what does not stay.

        A driver that is taken over meanwhile leaves all the rest as it is.
        """
        parts = self.parts
        if self.outcome.status is JobStatus.SUSPENDED:
            yield from releasing(parts)
            return
        yield from _closing(parts)
        try:
            recorded = yield from step(parts.snapshot_owner, lambda: recorded_result(parts.folder()))
            ending = end_plan_of(self._facts(recorded))
            try:
                yield from self._recording(ending)
                yield from self._inputs_going(ending.inputs)
            except Exception:
                yield from releasing(parts)
                raise
            yield from releasing(parts)
            yield from self._checkpoints_going(ending)
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

    def _recording(self, ending: EndPlan) -> Steps[None]:
        """Write the result, then have sinks remove what they have prepared, if nothing can commit it any more."""
        parts, sinks = self.parts, self.parts.sinks
        result = JobResult(
            status=self.outcome.status,
            cause=self.outcome.cause,
            ended_ms=self.ended_ms,
            owner="" if parts.lease is None else str(parts.lease.driver),
            kept=ending.kept,
        )
        if ending.records:
            yield from step(parts.snapshot_owner, lambda: job_records.write_result(parts.folder(), result))
        if ending.output_goes and sinks is not None:
            yield from giving_up(parts)
            yield from step(parts.sink_owner, self._acting(sinks.discard))

    def _inputs_going(self, which: InputsThatGo) -> Steps[None]:
        parts, inputs, snapshots = self.parts, self.parts.inputs, self.parts.snapshots
        if inputs is None or which is InputsThatGo.NONE:
            return
        if which is InputsThatGo.NEW:
            yield from step(parts.source_owner, inputs.discard_new)
        elif which is InputsThatGo.ALL or snapshots is None:
            yield from step(parts.source_owner, self._acting(inputs.discard))
        else:
            found = yield from step(parts.snapshot_owner, lambda: snapshots.complete(self.plan, self.known))
            complete = [*found.older, *([] if found.manifest is None else [found.manifest])]
            yield from step(parts.source_owner, lambda: inputs.discard_unread(parts.folder(), complete))

    def _acting(self, action: Callable[[], None]) -> Callable[[], None]:
        def work() -> None:
            self.parts.folder()
            action()

        return work

    def _checkpoints_going(self, ending: EndPlan) -> Steps[None]:
        parts, snapshots = self.parts, self.parts.snapshots
        if ending.claimed_goes:
            yield from step(parts.clean_up_owner, parts.clean_up().drop_claimed)
        if ending.checkpoints is CheckpointsThatGo.ALL:
            yield from step(parts.clean_up_owner, lambda: deletion.delete_checkpoints(parts.folder()))
        elif ending.checkpoints is CheckpointsThatGo.BEYOND and snapshots is not None:
            clean_up, number = parts.clean_up(), self.plan.settings.get(options.CHECKPOINTS_RETAINED)
            found = yield from step(parts.snapshot_owner, lambda: snapshots.complete(self.plan, self.known))
            yield from step(parts.clean_up_owner, lambda: clean_up.keep_retained(found, number))


def giving_up(parts: Parts) -> Steps[None]:
    """Have sinks keep nothing for savepoints that never became complete; none is being stored meanwhile."""
    sinks = parts.sinks
    savepoints = yield from step(parts.snapshot_owner, lambda: given_up(parts.folder(), parts.open_store))
    if sinks is not None and savepoints:
        yield from step(parts.sink_owner, lambda: sinks.give_up(savepoints))


def releasing(parts: Parts) -> Steps[None]:
    """Close sources and give the targets of all sinks back; raise the first failure of a sink at the end."""
    yield from _closing(parts)
    sinks = parts.sinks
    if parts.lease is not None and parts.lease.is_lost:
        return
    try:
        if sinks is not None:
            yield from step(parts.sink_owner, sinks.release)
    except Exception:
        yield from _letting_go(parts)
        raise
    yield from _letting_go(parts)


def _letting_go(parts: Parts) -> Steps[None]:
    if parts.inputs is not None:
        yield from step(parts.source_owner, parts.inputs.release)


def _closing(parts: Parts) -> Steps[None]:
    if parts.inputs is not None:
        yield from step(parts.source_owner, parts.inputs.close)
