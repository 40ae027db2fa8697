"""Finishing: doing what `ending` says, owner by owner, and giving sinks and sources back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from headgate import options
from headgate.checkpoint import workflow
from headgate.checkpoint.drivers.begun_savepoints import given_up
from headgate.checkpoint.workflow import JobResult
from headgate.graph.job_graph import JobGraph
from headgate.job_status import JobStatus
from headgate.runtime.job_storage.ending import CheckpointsThatGo, EndFacts, Ending, InputsThatGo, ending_of
from headgate.runtime.job_storage.lease import LeaseLost
from headgate.runtime.job_storage.owners import Steps, step
from headgate.runtime.job_storage.parts import Parts
from headgate.runtime.job_storage.place import keeps_checkpoints
from headgate.runtime.job_storage.restoring import Known
from headgate.runtime.job_storage.snapshots import recorded_result
from headgate.runtime.monitoring.outcome import JobOutcome


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finishing:
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
            ending = ending_of(self._facts(recorded))
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

    def _recording(self, ending: Ending) -> Steps[None]:
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
            yield from step(parts.snapshot_owner, lambda: workflow.write_result(parts.folder(), result))
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

    def _checkpoints_going(self, ending: Ending) -> Steps[None]:
        parts, snapshots = self.parts, self.parts.snapshots
        if ending.claimed_goes:
            yield from step(parts.clean_up_owner, parts.clean_up().drop_claimed)
        if ending.checkpoints is CheckpointsThatGo.ALL:
            yield from step(parts.clean_up_owner, lambda: workflow.delete_checkpoints(parts.folder()))
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
