"""The checkpoints of a job: performs the coordinator's effects on storage, and returns its other effects."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import assert_never, final

from headgate import options
from headgate.checkpoint.cleanup.registry import SharedStateRegistry
from headgate.checkpoint.coordination import vocabulary as coordination
from headgate.checkpoint.coordination.failures import CheckpointFailure, FailureReason
from headgate.checkpoint.drivers.ownership import Superseded
from headgate.checkpoint.manifest import Manifest
from headgate.checkpoint.manifest_storage import Refused, Stored
from headgate.checkpoint.messages import CheckpointMessage, SubtaskAcked
from headgate.clock import Clock
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import as_programmed
from headgate.ids import Attempt, CheckpointId
from headgate.runtime.control import messages
from headgate.runtime.job_storage.job_storage import JobStorage
from headgate.runtime.job_storage.lease import Outcome
from headgate.runtime.job_storage.restore import RestorePoint, restore_is_retriable
from headgate.runtime.job_storage.sink_commits import PreparedCommittables
from headgate.runtime.master.assembly import committing_subtasks, coordinator_of, manifest_of
from headgate.runtime.master.requests import Requests, SavepointRequest
from headgate.runtime.master.services import SendToAll
from headgate.runtime.master.supervisor_vocabulary import (
    AttemptFailed,
    EndJob,
    JobDone,
    ResolveRestore,
    RestoreFailed,
    RestoreResolved,
)
from headgate.runtime.monitoring.statistics import CheckpointStatistics, Restore

_log = logging.getLogger(__name__)


@final
@dataclass(frozen=True, slots=True)
class JobTakenOver:
    """Another driver owns the job: this driver must end it here, and may neither complete nor commit anything."""

    reason: str


@final
@dataclass(frozen=True, slots=True)
class GateAwaited:
    """A restore, or the end of the job, waits for the gate."""

    order: ResolveRestore | EndJob


@final
@dataclass(frozen=True, slots=True)
class BeginEnd:
    """End the job, as the supervisor ordered: nothing is in doubt, and no deletion is under way."""

    order: EndJob


CheckpointEffect = SendToAll | AttemptFailed | JobDone | JobTakenOver | RestoreResolved | RestoreFailed | BeginEnd
CheckpointEvent = coordination.CoordinatorEvent | JobTakenOver | RestoreResolved | RestoreFailed | GateAwaited


@final
class Checkpoints:
    """The checkpoints of one job. Owned by the job master's loop."""

    def __init__(
        self, plan: JobGraph, storage: JobStorage, clock: Clock, post: Callable[[CheckpointEvent], None]
    ) -> None:
        """`post` queues an event: the job master calls `handle` with it after the event that it handles now."""
        get = plan.settings.get
        self.statistics = CheckpointStatistics(get(options.CHECKPOINTS_HISTORY))
        self._plan = plan
        self._placement = as_programmed(plan)
        self._storage = storage
        self._clock = clock
        self._post = post
        self._coordinator = coordinator_of(plan)
        self._registry = SharedStateRegistry(get(options.CHECKPOINTS_RETAINED) + get(options.CHECKPOINT_MAX_CONCURRENT))
        self._requests = Requests(plan, storage, clock)
        self._prepared = PreparedCommittables()
        self._stored = CheckpointId(0)
        self._being_stored: set[CheckpointId] = set()
        self._restoring = Attempt(0)
        self._awaiting: ResolveRestore | EndJob | None = None
        """The order that waits for the gate."""
        self.point: RestorePoint | None = None
        """The starting point of the newest attempt, once it is found."""
        self._heard: set[str] = set()
        """The locations of savepoints under way that subtasks have heard of."""

    @property
    def has_requests(self) -> bool:
        """Whether a request for a checkpoint or savepoint is unanswered."""
        return self._requests.is_open

    @property
    def latest(self) -> CheckpointId | None:
        """The newest checkpoint that this driver knows to be complete."""
        return max(self._coordinator.completed, default=None)

    @property
    def stored_up_to(self) -> CheckpointId:
        """The newest checkpoint or savepoint of this or an earlier attempt that may be in storage; 0: none.

        Output that the attempt has prepared for later checkpoints is in no snapshot.
        """
        return max({self._stored, *self._being_stored})

    # --- events

    def trigger_checkpoint(self, answer: Future[str]) -> None:
        """Take a checkpoint now. `answer` gets its location, or a CheckpointError with the reason of the failure."""
        request = self._requests.checkpoint(answer)
        if request is not None:
            self._ask(request)

    def take_savepoint(self, wanted: SavepointRequest, answer: Future[str]) -> None:
        """Take a savepoint, after a check that its folder can be written: sources may stop for it.

        `answer` gets its location, or an error with the reason of the failure.
        """
        request = self._requests.savepoint(wanted, answer)
        if request is None or request.savepoint is None:
            return
        location = request.savepoint.location

        def prepared(result: BaseException | None) -> None:
            if result is None:
                self._ask(request)
            else:
                failure = FailureReason.NOT_WRITABLE.told(location=location, why=result)
                self._requests.failed(coordination.RequestFailed(request=request, failure=failure))

        self._storage.prepare_savepoint(location, prepared)

    def _ask(self, request: coordination.CheckpointRequest) -> None:
        self._post(coordination.CheckpointRequested(request=request, now_ms=self._now()))

    def begin_when_settled(self, order: ResolveRestore | EndJob) -> None:
        """Begin the restore, or the end of the job, as soon as the gate is open: see `restore_gate`."""
        self._post(GateAwaited(order))

    def may_pass_over(self, cause: str) -> bool:
        """Note that a file of the restored snapshot is damaged. Return whether an older snapshot may be used."""
        return self.point is not None and self._storage.note_damaged(self._plan, self.point, cause)

    def attempt_started(self, attempt: Attempt, point: RestorePoint) -> None:
        """Tell the coordinator that all slots start the attempt."""
        clock = self._clock
        self._placement = point.placement
        self._prepared.begin(attempt, point.checkpoint_id)
        self._stored = max(self._stored, point.checkpoint_id or CheckpointId(0))
        if point.manifest is not None:
            self._note_restore(point.manifest, point.root)
        for own in [*reversed(point.older), *([] if point.own is None else [point.own])]:
            self._registry.register(own)
        self._post(
            coordination.AttemptStarted(
                attempt=attempt,
                subtasks=frozenset(point.placement.subtasks()),
                committing=committing_subtasks(self._plan, point.placement),
                now_ms=clock.monotonic_ms(),
                wall_ms=clock.wall_ms(),
                last_id=point.last_id,
                restored=None if point.own is None else point.checkpoint_id,
                older=tuple(manifest.checkpoint_id for manifest in point.older),
                recovering=frozenset(subtask for subtask, parts in point.in_flight.items() if parts),
                finishing=point.checkpoint_id if point.finishing else None,
                commits_for_all=self._storage.acts_on_completion,
            )
        )
        self._storage.tidy()

    def _note_restore(self, manifest: Manifest, root: str | None) -> None:
        checkpoint_id = manifest.checkpoint_id
        restore = Restore(
            checkpoint_id=checkpoint_id,
            wall_ms=self._clock.wall_ms(),
            is_savepoint=manifest.savepoint is not None,
            location=self._storage.locate(checkpoint_id) if root is None else root,
        )
        self.statistics.restored(restore, manifest.files())

    def attempt_ended(self, attempt: Attempt, cause: str | None) -> None:
        """Tell the coordinator that the attempt has ended. `cause` is one line, None if it did not fail."""
        self._post(coordination.AttemptEnded(attempt=attempt, cause=cause, now_ms=self._now()))

    def received(self, message: CheckpointMessage) -> None:
        """Pass a message of a subtask to the coordinator."""
        if isinstance(message, SubtaskAcked):
            self._prepared.acked(message)
            self.statistics.acked(message, self._clock.wall_ms())
        self._post(coordination.Received(message=message, now_ms=self._now()))

    def job_ended(self, *, finished: bool, cause: str | None) -> None:
        """Tell the coordinator that the job has ended."""
        self._post(coordination.JobEnded(finished=finished, cause=cause, now_ms=self._now()))

    @property
    def wake_ms(self) -> float | None:
        """When to call `step` next, None: no need."""
        wakes = (self._coordinator.next_wake_ms(), self._storage.wake_ms)
        return min((wake for wake in wakes if wake is not None), default=None)

    def step(self, now_ms: float) -> None:
        """Settle writes in doubt, and tell the coordinator the time if it is due."""
        self._storage.step(now_ms)
        due_ms = self._coordinator.next_wake_ms()
        if due_ms is not None and now_ms >= due_ms:
            self._post(coordination.Tick(now_ms=now_ms))

    def handle(self, event: CheckpointEvent) -> Iterator[CheckpointEffect]:
        """Handle an event: order its work on storage, and yield the other effects in the order to perform them."""
        match event:
            case JobTakenOver() | RestoreResolved() | RestoreFailed():
                yield event
            case GateAwaited(order=order):
                self._awaiting = order
            case _:
                for effect in self._coordinator.handle(event):
                    yield from self._perform(effect)
        yield from self._pass_gate()

    def _pass_gate(self) -> Iterator[CheckpointEffect]:
        """Begin the order that waits for the gate, if the gate is open for it."""
        gate = self._coordinator.gate
        match self._awaiting:
            case ResolveRestore() as order if gate.is_open_for_restore:
                self._awaiting = None
                self._restore(order)
            case EndJob() as order if gate.is_open_for_end:
                self._awaiting = None
                yield BeginEnd(order)

    def _restore(self, order: ResolveRestore) -> None:
        attempt = order.attempt
        self._restoring = attempt

        def done(result: RestorePoint | BaseException) -> None:
            if attempt != self._restoring:
                return  # a slot was lost meanwhile: the next attempt looks for its own checkpoint
            now_ms = self._now()
            if isinstance(result, BaseException):
                reason = f"attempt {attempt} cannot start: {str(result) or type(result).__name__}"
                retriable = restore_is_retriable(result)
                self._post(RestoreFailed(attempt=attempt, reason=reason, now_ms=now_ms, retriable=retriable))
            else:
                self.point = result
                self._post(RestoreResolved(attempt=attempt, checkpoint_id=result.checkpoint_id, now_ms=now_ms))

        self._storage.resolve(self._plan, attempt, order.placement, self.latest, done)

    def _now(self) -> float:
        return self._clock.monotonic_ms()

    # --- effects

    def _perform(self, effect: coordination.CoordinatorEffect) -> Iterator[CheckpointEffect]:
        match effect:
            case coordination.TriggerCheckpoint(attempt=attempt, barrier=barrier):
                self.statistics.triggered(barrier, attempt, self._placement.parallelism, self._now())
                if barrier.savepoint is not None:
                    self._heard.add(barrier.savepoint.location)
                yield SendToAll(messages.InjectBarrier(attempt=attempt, barrier=barrier, completed=self.latest))
            case coordination.EndAllSources(attempt=attempt, over=over):
                yield SendToAll(messages.EndSources(attempt=attempt, over=over))
            case coordination.NotifyCompleted(attempt=attempt, checkpoint_id=checkpoint_id):
                yield SendToAll(messages.CheckpointCompleted(attempt=attempt, checkpoint_id=checkpoint_id))
            case coordination.NotifyAborted(attempt=attempt, checkpoint_id=checkpoint_id, failure=failure):
                _log.warning("checkpoint %d was given up: %s", checkpoint_id, failure)
                self._note_failed(checkpoint_id, failure)
                yield SendToAll(
                    messages.CheckpointAborted(attempt=attempt, checkpoint_id=checkpoint_id, completed=self.latest)
                )
            case coordination.FailAttempt(attempt=attempt, failure=failure, retriable=retriable):
                yield AttemptFailed(attempt=attempt, cause=failure.text, retriable=retriable, now_ms=self._now())
            case coordination.FinishJob(attempt=attempt):
                yield JobDone(attempt=attempt, now_ms=self._now())
            case coordination.RequestCompleted():
                self._requests.completed(effect)
                self._forget(effect.request)
            case coordination.RequestFailed():
                self._requests.failed(effect)
                self._forget(effect.request)
            case _:
                self._store(effect)

    def _store(self, effect: coordination.StorageEffect) -> None:
        match effect:
            case coordination.StoreManifest():
                self._store_manifest(effect)
            case coordination.RecordStop():
                self._record_stop(effect)
            case coordination.CommitForAll(order=order):
                self._commit_for_all(order)
            case coordination.DiscardFiles(checkpoint_id=checkpoint_id, attempt=attempt):
                self._note_failed(checkpoint_id)
                self._storage.discard(checkpoint_id, attempt)
            case coordination.DiscardSavepoint(checkpoint_id=checkpoint_id, savepoint=savepoint):
                self._note_failed(checkpoint_id)
                self._storage.discard_savepoint(savepoint.location)
            case coordination.RetainCheckpoints(keep=keep):
                self._storage.retain(
                    self._plan, keep, self._registry.files(), self._telling(coordination.CheckpointsRetained)
                )
            case coordination.AbortOutput():
                after, prepared = self._prepared.take(self.latest)
                self._storage.abort(prepared, after, self.stored_up_to, self._telling(coordination.OutputAborted))
            case _:
                assert_never(effect)

    def _forget(self, request: coordination.CheckpointRequest) -> None:
        """Delete the record of an answered savepoint, unless subtasks have heard of it and may keep output for it."""
        if request.savepoint is not None:
            if request.savepoint.location not in self._heard:
                self._storage.forget_savepoint(request.savepoint.location)
            self._heard.discard(request.savepoint.location)

    def _note_failed(self, checkpoint_id: CheckpointId, failure: CheckpointFailure | None = None) -> None:
        """Note the failure of a checkpoint in the statistics, which keep only its first reason."""
        text = str(failure or FailureReason.ATTEMPT_ENDED.told())
        self.statistics.failed(checkpoint_id, text, self._clock.wall_ms())

    def _store_manifest(self, order: coordination.StoreManifest) -> None:
        checkpoint_id = order.checkpoint_id
        location = None if order.savepoint is None else order.savepoint.location
        stops = order.savepoint is not None and order.savepoint.stops
        manifest = manifest_of(self._plan, self._placement, order, self.latest)
        if location is not None:
            self._prepared.saving(checkpoint_id)
        self._being_stored.add(checkpoint_id)

        answer = self._answering(checkpoint_id, coordination.ManifestStored, _manifest_refused)

        def known(outcome: Outcome) -> None:
            self._being_stored.discard(checkpoint_id)
            if not isinstance(outcome, Superseded) or outcome.stored:
                self._stored = max(self._stored, checkpoint_id)
            if isinstance(outcome, Stored):
                if location is None:
                    self._registry.register(manifest)
                self.statistics.completed(checkpoint_id, location or self._storage.locate(checkpoint_id), self._now())
            answer(outcome)

        gone = [] if location is not None else self._registry.unknown(manifest)
        if gone:
            known(Refused(f"it builds on {gone[0]}, which no kept checkpoint needs any more, so it may be gone"))
            return
        self._storage.store(manifest, location, known, stops=stops)

    def _record_stop(self, order: coordination.RecordStop) -> None:
        answer = self._answering(order.checkpoint_id, coordination.StopRecorded, _stop_refused)
        self._storage.record_stop(order.checkpoint_id, order.savepoint.location, answer)

    def _commit_for_all(self, order: coordination.StoreManifest) -> None:
        savepoint = None if order.savepoint is None else order.savepoint.location
        manifest = manifest_of(self._plan, self._placement, order, None)
        answer = self._answering(order.checkpoint_id, coordination.CommittedForAll, _commit_refused)
        self._storage.commit(self._plan, manifest, savepoint, answer)

    def _answering(
        self,
        checkpoint_id: CheckpointId,
        stored: type[coordination.ManifestStored | coordination.StopRecorded | coordination.CommittedForAll],
        refused: Callable[[CheckpointId, Refused | Superseded, float], coordination.CoordinatorEvent],
    ) -> Callable[[Outcome], None]:
        """Return a function that tells the coordinator the outcome of its order.

        It also tells the job master when another driver has taken over the job.
        """

        def known(outcome: Outcome) -> None:
            if isinstance(outcome, Stored):
                self._post(stored(checkpoint_id=checkpoint_id, now_ms=self._now()))
                return
            if isinstance(outcome, Superseded):
                self._post(JobTakenOver(outcome.reason))
            self._post(refused(checkpoint_id, outcome, self._now()))

        return known

    def _telling(self, over: type[coordination.CheckpointsRetained | coordination.OutputAborted]) -> Callable[[], None]:
        """Return a function that tells the coordinator that a clean-up is over, whether it succeeded or not."""
        return lambda: self._post(over(now_ms=self._now()))


def _manifest_refused(id_: CheckpointId, outcome: Refused | Superseded, now_ms: float) -> coordination.ManifestRefused:
    return coordination.ManifestRefused(checkpoint_id=id_, reason=outcome.reason, now_ms=now_ms)


def _stop_refused(id_: CheckpointId, outcome: Refused | Superseded, now_ms: float) -> coordination.StopRefused:
    return coordination.StopRefused(checkpoint_id=id_, reason=outcome.reason, now_ms=now_ms)


def _commit_refused(id_: CheckpointId, outcome: Refused | Superseded, now_ms: float) -> coordination.CommitRefused:
    retriable = isinstance(outcome, Refused) and outcome.retriable
    return coordination.CommitRefused(checkpoint_id=id_, reason=outcome.reason, retriable=retriable, now_ms=now_ms)
