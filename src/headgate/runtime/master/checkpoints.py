"""The checkpoint coordinator's shell: performs what it orders, with messages to slots and work on storage."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol, assert_never, final

from headgate.checkpoint.cleanup.registry import SharedStateRegistry
from headgate.checkpoint.coordination import vocabulary as coordination
from headgate.checkpoint.coordination.coordinator import CheckpointCoordinator
from headgate.checkpoint.drivers.ownership import Superseded
from headgate.checkpoint.manifest import Manifest
from headgate.checkpoint.messages import CheckpointMessage, SubtaskAcked
from headgate.checkpoint.workflow import Refused, Stored
from headgate.clock import Clock
from headgate.graph.physical import JobPlan
from headgate.ids import Attempt, CheckpointId
from headgate.runtime.control import messages
from headgate.runtime.control.messages import ToSlot
from headgate.runtime.job_storage.job_storage import JobStorage
from headgate.runtime.job_storage.lease import Outcome
from headgate.runtime.job_storage.prepared import PreparedOutput
from headgate.runtime.job_storage.restoring import RestorePoint
from headgate.runtime.master.deployment import coordinator_of, manifest_of, registry_of, statistics_of
from headgate.runtime.master.requests import Requests
from headgate.runtime.monitoring.statistics import CheckpointStatistics, Restore

_log = logging.getLogger(__name__)


class CheckpointHost(Protocol):
    """What checkpoints ask of the job master."""

    @property
    def clock(self) -> Clock:
        """The injected clock."""
        ...

    def handle(self, event: Callable[[], None]) -> None:
        """Call `event` after what is being handled now is handled wholly."""
        ...

    def send_all(self, message: ToSlot) -> None:
        """Send a message to every slot."""
        ...

    def fail_attempt(self, attempt: Attempt, reason: str, *, may_mend: bool = True) -> None:
        """Too many checkpoints failed, or a commit; another attempt may do better, or may not."""
        ...

    def taken_over(self, reason: str) -> None:
        """Another driver owns the job."""
        ...

    def job_done(self, attempt: Attempt) -> None:
        """Everything is processed and committed."""
        ...


@final
class Checkpoints:
    """The checkpoints of one job. Owned by the job master's loop."""

    def __init__(self, plan: JobPlan, storage: JobStorage, host: CheckpointHost) -> None:
        self.statistics: CheckpointStatistics = statistics_of(plan)
        self._plan = plan
        self._storage = storage
        self._host = host
        self._coordinator: CheckpointCoordinator = coordinator_of(plan)
        self._registry: SharedStateRegistry = registry_of(plan)
        self._next_retention: Callable[[Callable[[], None]], None] | None = None
        self._retaining = False
        self._tidied: list[Callable[[], None]] = []
        self._settled: list[Callable[[], None]] = []
        self._stored: Manifest | None = None
        self._prepared = PreparedOutput()
        self._aborting = False
        self.requests = Requests(plan, storage, host, self._on)

    @property
    def latest(self) -> CheckpointId | None:
        """The newest checkpoint that this driver knows to be complete."""
        return max(self._coordinator.completed, default=None)

    # --- what happens

    def attempt_started(self, attempt: Attempt, point: RestorePoint) -> None:
        """All slots are told to start the attempt."""
        clock = self._host.clock
        self._prepared.begin(attempt, point.checkpoint_id)
        if point.manifest is not None:
            self._note_restore(point.manifest, point.root)
        for own in [*reversed(point.older), *([] if point.own is None else [point.own])]:
            self._registry.register(own)
        self._on(
            coordination.AttemptStarted(
                attempt=attempt,
                now_ms=clock.monotonic_ms(),
                wall_ms=clock.wall_ms(),
                last_id=point.last_id,
                restored=None if point.own is None else point.checkpoint_id,
                older=tuple(manifest.checkpoint_id for manifest in point.older),
                recovering=frozenset(subtask for subtask, parts in point.in_flight.items() if parts),
                finishing=point.checkpoint_id if point.finishing else None,
            )
        )
        self._storage.tidy()

    def _note_restore(self, manifest: Manifest, root: str | None) -> None:
        checkpoint_id = manifest.checkpoint_id
        restore = Restore(
            checkpoint_id=checkpoint_id,
            wall_ms=self._host.clock.wall_ms(),
            is_savepoint=manifest.savepoint is not None,
            location=self._storage.locate(checkpoint_id) if root is None else root,
        )
        self.statistics.restored(restore, manifest.files())

    def attempt_ended(self, attempt: Attempt) -> None:
        """Nothing of the attempt counts any more."""
        self._on(coordination.AttemptEnded(attempt=attempt, now_ms=self._now()))
        if self._storage.commits_globally:
            # Behind that event: what came before it may yet complete a checkpoint.
            self._host.handle(lambda: self.when_settled(self._abort_output))

    def _abort_output(self) -> None:
        after, prepared = self._prepared.take(self.latest)
        self._aborting = True

        def ended() -> None:
            self._aborting = False
            self._go_on_when_tidy()

        self._storage.abort(prepared, after, ended)

    def received(self, message: CheckpointMessage) -> None:
        """A subtask has answered, ended or committed."""
        if isinstance(message, SubtaskAcked):
            self._prepared.acked(message)
            self.statistics.acked(message, self._host.clock.wall_ms())
        self._on(coordination.Received(message=message, now_ms=self._now()))

    def job_ended(self, *, finished: bool, cause: str | None) -> None:
        """The job is over, and no attempt runs."""
        self._on(coordination.JobEnded(finished=finished, cause=cause, now_ms=self._now()))

    def step(self, now_ms: float) -> float | None:
        """Let time pass; return when to call again, None for no need."""
        storage_ms = self._storage.step(now_ms)
        due_ms = self._coordinator.next_wake_ms()
        if due_ms is not None and now_ms >= due_ms:
            self._on(coordination.Tick(now_ms=now_ms))
        wakes = (self._coordinator.next_wake_ms(), storage_ms)
        return min((wake for wake in wakes if wake is not None), default=None)

    def when_settled(self, action: Callable[[], None]) -> None:
        """Act now, or once the manifest write that is in doubt is settled."""
        if self._coordinator.in_doubt() is None:
            action()
        else:
            self._settled.append(action)

    def when_tidy(self, action: Callable[[], None]) -> None:
        """Act as `when_settled` does, and not before what is not retained is gone, and what is left over aborted."""

        def settled() -> None:
            self._tidied.append(action)
            self._go_on_when_tidy()

        self.when_settled(settled)

    def _go_on_when_tidy(self) -> None:
        if not self._retaining and not self._aborting:
            tidied, self._tidied = self._tidied, []
            for waiting in tidied:
                waiting()

    def _now(self) -> float:
        return self._host.clock.monotonic_ms()

    def _on(self, event: coordination.CoordinatorEvent) -> None:
        self._host.handle(lambda: self._handle(event))

    def _handle(self, event: coordination.CoordinatorEvent) -> None:
        for effect in self._coordinator.handle(event):
            self._perform(effect)
        if self._coordinator.in_doubt() is None:
            settled, self._settled = self._settled, []
            for waiting in settled:
                waiting()

    # --- what is ordered

    def _perform(self, effect: coordination.CoordinatorEffect) -> None:
        match effect:
            case coordination.TriggerCheckpoint(attempt=attempt, barrier=barrier):
                self.statistics.triggered(barrier, attempt, self._now())
                self._host.send_all(messages.Trigger(attempt=attempt, barrier=barrier, completed=self.latest))
            case coordination.EndSources(attempt=attempt, over=over):
                self._host.send_all(messages.EndSources(attempt=attempt, over=over))
            case coordination.StoreManifest():
                self._store_manifest(effect)
            case coordination.RecordStop():
                self._record_stop(effect)
            case coordination.NotifyCompleted(attempt=attempt, checkpoint_id=checkpoint_id):
                self._host.send_all(messages.CheckpointCompleted(attempt=attempt, checkpoint_id=checkpoint_id))
            case coordination.NotifyAborted(attempt=attempt, checkpoint_id=checkpoint_id, reason=reason):
                _log.warning("checkpoint %d was given up: %s", checkpoint_id, reason)
                self.statistics.failed(checkpoint_id, reason, self._host.clock.wall_ms())
                self._host.send_all(
                    messages.CheckpointAborted(attempt=attempt, checkpoint_id=checkpoint_id, completed=self.latest)
                )
            case coordination.DiscardFiles(checkpoint_id=checkpoint_id, attempt=attempt):
                self.statistics.failed(checkpoint_id, "its attempt has ended", self._host.clock.wall_ms())
                self._storage.discard(checkpoint_id, attempt)
            case coordination.DiscardSavepoint(checkpoint_id=checkpoint_id, savepoint=savepoint):
                self.statistics.failed(checkpoint_id, "its attempt has ended", self._host.clock.wall_ms())
                self._storage.discard_savepoint(savepoint.location)
            case coordination.RetainCheckpoints(keep=keep):
                shared = self._registry.files()
                self._next_retention = lambda ended: self._storage.retain(self._plan, keep, shared, ended)
                self._retain()
            case coordination.FailAttempt(attempt=attempt, reason=reason):
                self._host.fail_attempt(attempt, reason)
            case coordination.FinishJob(attempt=attempt):
                self._host.job_done(attempt)
            case coordination.RequestCompleted():
                self.requests.completed(effect)
            case coordination.RequestFailed():
                self.requests.failed(effect)
            case _:
                assert_never(effect)

    def _store_manifest(self, order: coordination.StoreManifest) -> None:
        checkpoint_id = order.checkpoint_id
        location = None if order.savepoint is None else order.savepoint.location
        stops = order.savepoint is not None and order.savepoint.stops
        manifest = manifest_of(self._plan, order, self.latest)
        if location is not None:
            self._prepared.saving(checkpoint_id)

        def known(outcome: Outcome) -> None:
            now_ms = self._now()
            if isinstance(outcome, Stored):
                if location is None:
                    self._registry.register(manifest)
                self.statistics.completed(checkpoint_id, location or self._storage.locate(checkpoint_id), now_ms)
                self._stored = manifest
                stored = coordination.ManifestStored(checkpoint_id=checkpoint_id, now_ms=now_ms)
                if location is None:
                    self._commit(manifest, None, lambda: self._on(stored))
                else:
                    self._on(stored)
            else:
                self._heed(outcome)
                reason = outcome.reason
                self._on(coordination.ManifestRefused(checkpoint_id=checkpoint_id, reason=reason, now_ms=now_ms))

        gone = [] if location is not None else self._registry.unknown(manifest)
        if gone:
            known(Refused(f"it builds on {gone[0]}, which no kept checkpoint needs any more, so that it may be gone"))
            return
        self._storage.store(manifest, location, known, stops=stops)

    def _record_stop(self, order: coordination.RecordStop) -> None:
        checkpoint_id, manifest = order.checkpoint_id, self._stored  # what was stored last, until others are stored
        assert manifest is not None
        assert manifest.checkpoint_id == checkpoint_id

        def known(outcome: Outcome) -> None:
            now_ms = self._now()
            if isinstance(outcome, Stored):
                recorded = coordination.StopRecorded(checkpoint_id=checkpoint_id, now_ms=now_ms)
                self._commit(manifest, order.savepoint.location, lambda: self._on(recorded))
            else:
                self._heed(outcome)
                reason = outcome.reason
                self._on(coordination.StopRefused(checkpoint_id=checkpoint_id, reason=reason, now_ms=now_ms))

        self._storage.record_stop(checkpoint_id, order.savepoint.location, known)

    def _commit(self, manifest: Manifest, savepoint: str | None, then: Callable[[], None]) -> None:
        """Have done what is one commit for all subtasks, then go on: until it is done, nobody hears of the checkpoint.

        If it cannot be done the attempt fails, and what it restores is committed again.
        """
        if not self._storage.acts_on_completion:
            then()
            return

        def known(outcome: Outcome) -> None:
            if isinstance(outcome, Refused):
                reason = f"commit of checkpoint {manifest.checkpoint_id} failed: {outcome.reason}"
                self._host.fail_attempt(manifest.attempt, reason, may_mend=outcome.may_mend)
            elif isinstance(outcome, Superseded):
                self._heed(outcome)
            then()  # after the end of the attempt: the checkpoint is complete, but its subtasks do not hear of it

        self._storage.commit(self._plan, manifest, savepoint, known)

    def _heed(self, outcome: Refused | Superseded) -> None:
        if isinstance(outcome, Superseded):
            self._host.taken_over(outcome.reason)

    def _retain(self) -> None:
        """Have the newest retention done, which covers those before: one at a time, as deleting may take long."""
        if self._retaining or self._next_retention is None:
            return
        work, self._next_retention = self._next_retention, None
        self._retaining = True

        def ended() -> None:
            self._retaining = False
            self._retain()
            self._go_on_when_tidy()

        work(ended)
