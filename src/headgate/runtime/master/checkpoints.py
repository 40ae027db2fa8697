"""The checkpoint coordinator's shell: performs what it orders, with messages to slots and work on storage."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, assert_never, final

from headgate.checkpoint import coordination
from headgate.checkpoint.coordinator import CheckpointCoordinator
from headgate.checkpoint.messages import CheckpointMessage
from headgate.checkpoint.registry import SharedStateRegistry
from headgate.clock import Clock
from headgate.graph.physical import JobPlan
from headgate.ids import Attempt, CheckpointId
from headgate.runtime.control import messages
from headgate.runtime.control.messages import ToSlot
from headgate.runtime.io import Io
from headgate.runtime.master.deployment import coordinator_of, registry_of
from headgate.runtime.master.job_storage import InDoubt, JobStorage, Refused, RestorePoint, Stored, manifest_of
from headgate.runtime.master.outcome import CheckpointFigures

_log = logging.getLogger(__name__)

SETTLE_RETRY_MS: Final = 200.0
"""Pause before a manifest write in doubt is looked at again."""

FIGURES_MAX: Final = 1000
"""Completed checkpoints whose figures are kept."""


class CheckpointHost(Protocol):
    """What checkpoints ask of the job master."""

    @property
    def clock(self) -> Clock:
        """The injected clock."""
        ...

    @property
    def io(self) -> Io:
        """Where work on storage is done."""
        ...

    def handle(self, event: Callable[[], None]) -> None:
        """Call `event` after what is being handled now is handled wholly."""
        ...

    def send_all(self, message: ToSlot) -> None:
        """Send a message to every slot."""
        ...

    def fail_attempt(self, attempt: Attempt, reason: str) -> None:
        """Too many checkpoints failed."""
        ...

    def job_done(self, attempt: Attempt) -> None:
        """Everything is processed and committed."""
        ...


@final
class Checkpoints:
    """The checkpoints of one job. Owned by the job master's loop."""

    def __init__(self, plan: JobPlan, storage: JobStorage, host: CheckpointHost) -> None:
        self.figures: deque[CheckpointFigures] = deque(maxlen=FIGURES_MAX)
        self._plan = plan
        self._storage = storage
        self._host = host
        self._coordinator: CheckpointCoordinator = coordinator_of(plan)
        self._registry: SharedStateRegistry = registry_of(plan)
        self._triggered_ms: dict[CheckpointId, float] = {}
        self._next_retention: Callable[[], None] | None = None
        self._retaining = False
        self._tidied: list[Callable[[], None]] = []
        self._settled: list[Callable[[], None]] = []
        self._retry: tuple[float, Callable[[], None]] | None = None

    @property
    def latest(self) -> CheckpointId | None:
        """The newest checkpoint that this driver knows to be complete."""
        return max(self._coordinator.completed, default=None)

    # --- what happens

    def attempt_started(self, attempt: Attempt, point: RestorePoint) -> None:
        """All slots are told to start the attempt."""
        self._triggered_ms.clear()
        if point.manifest is not None:
            self._registry.register(point.manifest)
        clock = self._host.clock
        self._on(
            coordination.AttemptStarted(
                attempt=attempt,
                now_ms=clock.monotonic_ms(),
                wall_ms=clock.wall_ms(),
                last_id=point.last_id,
                restored=point.checkpoint_id,
            )
        )

    def attempt_ended(self, attempt: Attempt) -> None:
        """Nothing of the attempt counts any more."""
        self._on(coordination.AttemptEnded(attempt=attempt, now_ms=self._now()))

    def received(self, message: CheckpointMessage) -> None:
        """A subtask has answered, ended or committed."""
        self._on(coordination.Received(message=message, now_ms=self._now()))

    def step(self, now_ms: float) -> float | None:
        """Let time pass; return when to call again, None for no need."""
        if self._retry is not None and now_ms >= self._retry[0]:
            (_, again), self._retry = self._retry, None
            again()
        due_ms = self._coordinator.next_wake_ms()
        if due_ms is not None and now_ms >= due_ms:
            self._on(coordination.Tick(now_ms=now_ms))
        wakes = (self._coordinator.next_wake_ms(), self._retry[0] if self._retry else None)
        return min((wake for wake in wakes if wake is not None), default=None)

    def when_settled(self, action: Callable[[], None]) -> None:
        """Act now, or once the manifest write that is in doubt is settled."""
        if self._coordinator.in_doubt() is None:
            action()
        else:
            self._settled.append(action)

    def when_tidy(self, action: Callable[[], None]) -> None:
        """Act as `when_settled` does, and not before the checkpoints that are not retained are gone."""

        def settled() -> None:
            if self._retaining:
                self._tidied.append(action)
            else:
                action()

        self.when_settled(settled)

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
            case coordination.TriggerCheckpoint(attempt=attempt, checkpoint_id=checkpoint_id, trigger_ms=trigger_ms):
                self._triggered_ms[checkpoint_id] = self._now()
                self._host.send_all(
                    messages.Trigger(
                        attempt=attempt, checkpoint_id=checkpoint_id, trigger_ms=trigger_ms, completed=self.latest
                    )
                )
            case coordination.StoreManifest():
                self._store_manifest(effect)
            case coordination.NotifyCompleted(attempt=attempt, checkpoint_id=checkpoint_id):
                self._host.send_all(messages.CheckpointCompleted(attempt=attempt, checkpoint_id=checkpoint_id))
            case coordination.NotifyAborted(attempt=attempt, checkpoint_id=checkpoint_id, reason=reason):
                _log.warning("checkpoint %d was given up: %s", checkpoint_id, reason)
                self._triggered_ms.pop(checkpoint_id, None)
                self._host.send_all(
                    messages.CheckpointAborted(attempt=attempt, checkpoint_id=checkpoint_id, completed=self.latest)
                )
            case coordination.DiscardFiles(checkpoint_id=checkpoint_id, attempt=attempt):
                self._clean_up(lambda: self._storage.discard(checkpoint_id, attempt))
            case coordination.RetainCheckpoints(keep=keep):
                shared = self._registry.files()
                self._next_retention = lambda: self._storage.retain(keep, shared)
                self._retain()
            case coordination.FailAttempt(attempt=attempt, reason=reason):
                self._host.fail_attempt(attempt, reason)
            case coordination.FinishJob(attempt=attempt):
                self._host.job_done(attempt)
            case _:
                assert_never(effect)

    def _store_manifest(self, order: coordination.StoreManifest) -> None:
        def done(result: Stored | Refused | BaseException) -> None:
            now_ms = self._now()
            if isinstance(result, (InDoubt, OSError)):
                _log.warning("the outcome of writing checkpoint %d is not known yet: %s", order.checkpoint_id, result)
                self._retry = (now_ms + SETTLE_RETRY_MS, settle)
            elif isinstance(result, Stored):
                self._registry.register(manifest)
                self._note_figures(order)
                self._on(coordination.ManifestStored(checkpoint_id=order.checkpoint_id, now_ms=now_ms))
            else:
                reason = result.reason if isinstance(result, Refused) else str(result)
                self._on(coordination.ManifestRefused(checkpoint_id=order.checkpoint_id, reason=reason, now_ms=now_ms))

        def settle() -> None:
            self._host.io.submit(lambda: self._storage.settle(manifest), done)

        manifest = manifest_of(self._plan, order, self.latest)
        gone = self._registry.unknown(manifest)
        if gone:
            done(Refused(f"it builds on {gone[0]}, which no kept checkpoint needs any more, so that it may be gone"))
            return
        self._host.io.submit(lambda: self._storage.store(manifest), done)

    def _note_figures(self, order: coordination.StoreManifest) -> None:
        now_ms = self._now()
        self.figures.append(
            CheckpointFigures(
                checkpoint_id=order.checkpoint_id,
                duration_ms=now_ms - self._triggered_ms.pop(order.checkpoint_id, now_ms),
                size_bytes=sum(state.size_bytes for state in order.states.values()),
                sync_ms_max=max((state.sync_ms for state in order.states.values()), default=0.0),
            )
        )

    def _retain(self) -> None:
        """Have the newest retention done, which covers those before: one at a time, as deleting may take long."""
        if self._retaining or self._next_retention is None:
            return
        work, self._next_retention = self._next_retention, None
        self._retaining = True

        def ended() -> None:
            self._retaining = False
            self._retain()
            if not self._retaining:
                tidied, self._tidied = self._tidied, []
                for waiting in tidied:
                    waiting()

        self._clean_up(work, ended)

    def _clean_up(self, work: Callable[[], None], ended: Callable[[], None] = lambda: None) -> None:
        def done(result: object) -> None:
            ended()
            if isinstance(result, BaseException):
                _log.warning("clean-up failed, which harms nothing but leaves files behind: %s", result)

        self._host.io.submit(work, done)
