"""The checkpoint coordinator: decides when a checkpoint starts, is complete, is given up, and when the job is done.

Theory of operation
-------------------
A checkpoint begins with a trigger to the sources and is *collecting* until every subtask has acknowledged it. Then its
manifest is written; from that order until the outcome is known the checkpoint is *in doubt* and nobody may abort it,
clean up its files or restore. Once the manifest is stored the checkpoint is complete, whatever happens to the attempt
that took it; notifying the subtasks only tells them so. One manifest is written at a time, oldest first.

    phase       meaning                                          legal edges
    IDLE        no attempt runs                                  AttemptStarted -> RUNNING
    RUNNING     checkpoints are triggered                        more failures in a row than tolerated -> FAILING
                                                                 manifest of the final checkpoint stored -> COMMITTING
    FAILING     the attempt was told to fail                     (only its end is awaited)
    COMMITTING  the last commits are awaited                     every committing subtask has committed -> DONE
    DONE        the job was told to finish                       (only the end of the attempt is awaited)
    all         the attempt is over                              AttemptEnded -> IDLE

    a checkpoint: COLLECTING -> (all acknowledged) -> WAITING -> (no other manifest in flight) -> STORING -> complete
    COLLECTING or WAITING -> aborted: timeout (COLLECTING only), decline, subsumed by a later one, end of the attempt
    STORING -> aborted: ManifestRefused only

Time. The first periodic checkpoint starts one interval after the attempt, each later one an interval after the *start*
of the one before; at the concurrency limit, or within the pause after the last one ended, it waits, and starts as soon
as it may. A requested checkpoint waits for the concurrency limit only.

Failures. A timeout, a decline and a refused manifest count; being subsumed and the end of the attempt do not. Each id
counts once, ids below the last success do not, a success sets the count to zero.

The end. Subtasks that have ended stay, acknowledge and forward barriers like all others. When all have ended, one final
checkpoint starts at once, beside any that is under way (which was triggered earlier and may miss last records) and also
if periodic checkpoints are off. If it fails it is tried again a little later.

Ids grow and are never reused, also across attempts and masters. Messages of another attempt are dropped. A late
acknowledgement of an aborted checkpoint has its files discarded once more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, assert_never, final

from headgate.checkpoint.coordination import (
    AttemptEnded,
    AttemptStarted,
    CheckpointRequested,
    CheckpointSettings,
    CoordinatorEffect,
    CoordinatorEvent,
    DiscardFiles,
    FailAttempt,
    FinishJob,
    ManifestRefused,
    ManifestStored,
    NotifyAborted,
    NotifyCompleted,
    Received,
    RetainCheckpoints,
    StoreManifest,
    Tick,
    TriggerCheckpoint,
)
from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import (
    CheckpointMessage,
    SubtaskAcked,
    SubtaskCommitted,
    SubtaskDeclined,
    SubtaskEnded,
)
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.story import Story

FINAL_RETRY_MS: Final = 1_000.0
"""Pause before the final checkpoint is tried again, so that broken storage is not hammered."""


@final
class Phase(Enum):
    """What the coordinator is doing; see the theory of operation."""

    IDLE = "idle"
    RUNNING = "running"
    FAILING = "failing"
    COMMITTING = "committing"
    DONE = "done"


@final
@dataclass(slots=True, kw_only=True)
class _Pending:
    """A checkpoint that is neither complete nor aborted."""

    checkpoint_id: CheckpointId
    attempt: Attempt
    trigger_ms: int
    expires_ms: float
    final: bool
    states: dict[SubtaskId, SubtaskState] = field(default_factory=dict)


@final
class CheckpointCoordinator:
    """Coordinates the checkpoints of one job through all its attempts. Pure; owned by the job master's loop."""

    def __init__(
        self, settings: CheckpointSettings, subtasks: frozenset[SubtaskId], committing: frozenset[SubtaskId]
    ) -> None:
        if not subtasks or not committing <= subtasks:
            raise ValueError("a job has subtasks, and those that commit are some of them")
        self._settings = settings
        self._subtasks = subtasks
        self._committing = committing
        self._story = Story("checkpoint coordinator", length=30)
        self._phase = Phase.IDLE
        self._attempt: Attempt | None = None
        self._last_id = CheckpointId(0)
        self._completed: list[CheckpointId] = []
        self._pending: dict[CheckpointId, _Pending] = {}
        self._storing: CheckpointId | None = None
        self._failures_in_row = 0
        self._wall_offset_ms = 0.0
        self._ended: set[SubtaskId] = set()
        self._committed: set[SubtaskId] = set()
        self._requested = False
        self._next_periodic_ms: float | None = None
        self._next_final_ms = 0.0
        self._last_end_ms: float | None = None

    @property
    def phase(self) -> Phase:
        """What the coordinator is doing."""
        return self._phase

    @property
    def completed(self) -> tuple[CheckpointId, ...]:
        """The completed checkpoints that are retained, oldest first."""
        return tuple(self._completed)

    @property
    def last_id(self) -> CheckpointId:
        """The highest checkpoint id used so far; 0 when none was."""
        return self._last_id

    def in_doubt(self) -> CheckpointId | None:
        """The checkpoint whose manifest write has been ordered and not yet answered."""
        return self._storing

    def next_wake_ms(self) -> float | None:
        """When to send the next `Tick`, if nothing else happens before; None: no need."""
        if self._phase is not Phase.RUNNING:
            return None
        times = [self._trigger_due_ms()]
        times += [pending.expires_ms for pending in self._pending.values() if not self._is_acked(pending)]
        return min((time for time in times if time is not None), default=None)

    def handle(self, event: CoordinatorEvent) -> list[CoordinatorEffect]:
        """Return what to do, in this order. Raises InternalError for an event that the protocol rules out."""
        self._story.add(event)
        return [*self._apply(event), *self._progress(event.now_ms)]

    def _apply(self, event: CoordinatorEvent) -> list[CoordinatorEffect]:
        match event:
            case AttemptStarted():
                return self._on_attempt_started(event)
            case AttemptEnded(attempt=attempt):
                return self._on_attempt_ended(attempt)
            case Received(message=message, now_ms=now_ms):
                return self._on_message(message, now_ms)
            case ManifestStored(checkpoint_id=checkpoint_id, now_ms=now_ms):
                return self._on_stored(checkpoint_id, now_ms)
            case ManifestRefused(checkpoint_id=checkpoint_id, reason=reason, now_ms=now_ms):
                return self._on_refused(checkpoint_id, reason, now_ms)
            case CheckpointRequested():
                self._requested = self._phase is Phase.RUNNING
                return []
            case Tick():
                return []
            case _:
                assert_never(event)

    # --- attempts ---------------------------------------------------------------------------------------------------

    def _on_attempt_started(self, event: AttemptStarted) -> list[CoordinatorEffect]:
        if self._attempt is not None:
            raise self._story.broken(f"attempt {event.attempt} started before the end of attempt {self._attempt}")
        if self._storing is not None:
            raise self._story.broken(f"attempt {event.attempt} started with checkpoint {self._storing} in doubt")
        self._attempt, self._phase = event.attempt, Phase.RUNNING
        self._last_id = max(self._last_id, event.last_id)
        self._completed = [known for known in self._completed if event.restored and known < event.restored]
        if event.restored is not None:
            self._completed.append(event.restored)
        self._wall_offset_ms = event.wall_ms - event.now_ms
        self._ended.clear()
        self._committed.clear()
        self._requested = False
        interval_ms = self._settings.interval_ms
        self._next_periodic_ms = None if interval_ms is None else event.now_ms + interval_ms
        self._next_final_ms = event.now_ms
        self._last_end_ms = None
        return []

    def _on_attempt_ended(self, attempt: Attempt) -> list[CoordinatorEffect]:
        if attempt != self._attempt:
            return []
        self._attempt, self._phase = None, Phase.IDLE
        given_up = [pending for pending in self._pending.values() if pending.checkpoint_id != self._storing]
        for pending in given_up:
            del self._pending[pending.checkpoint_id]
        return [DiscardFiles(checkpoint_id=p.checkpoint_id, attempt=p.attempt) for p in given_up]

    # --- messages of subtasks ---------------------------------------------------------------------------------------

    def _on_message(self, message: CheckpointMessage, now_ms: float) -> list[CoordinatorEffect]:
        if message.attempt != self._attempt:
            return []
        if message.subtask not in self._subtasks:
            raise self._story.broken(f"there is no subtask {message.subtask}")
        match message:
            case SubtaskAcked():
                return self._on_acked(message)
            case SubtaskDeclined():
                return self._on_declined(message, now_ms)
            case SubtaskEnded(subtask=subtask):
                self._ended.add(subtask)
                return []
            case SubtaskCommitted():
                return self._on_committed(message)
            case _:
                assert_never(message)

    def _on_acked(self, ack: SubtaskAcked) -> list[CoordinatorEffect]:
        if ack.checkpoint_id > self._last_id:
            raise self._story.broken(f"subtask {ack.subtask} acknowledged a checkpoint that was never triggered")
        pending = self._pending.get(ack.checkpoint_id)
        if pending is not None:
            pending.states.setdefault(ack.subtask, ack.state)
            return []
        if self._completed and ack.checkpoint_id <= self._completed[-1]:
            return []  # complete, or older than a complete one: retention deletes it
        return [DiscardFiles(checkpoint_id=ack.checkpoint_id, attempt=ack.attempt)]

    def _on_declined(self, decline: SubtaskDeclined, now_ms: float) -> list[CoordinatorEffect]:
        pending = self._pending.get(decline.checkpoint_id)
        if pending is None or self._is_acked(pending):
            return []
        return self._fail(pending, f"declined by subtask {decline.subtask}: {decline.reason}", now_ms)

    def _on_committed(self, message: SubtaskCommitted) -> list[CoordinatorEffect]:
        if self._phase is not Phase.COMMITTING or message.checkpoint_id < self._completed[-1]:
            return []
        self._committed.add(message.subtask)
        return self._finish_if_committed(message.attempt)

    # --- manifests --------------------------------------------------------------------------------------------------

    def _on_stored(self, checkpoint_id: CheckpointId, now_ms: float) -> list[CoordinatorEffect]:
        stored = self._settle(checkpoint_id)
        self._completed = [*self._completed, checkpoint_id][-self._settings.num_retained :]
        self._failures_in_row = 0
        self._last_end_ms = now_ms
        if stored.attempt != self._attempt:
            return []
        effects: list[CoordinatorEffect] = [NotifyCompleted(attempt=stored.attempt, checkpoint_id=checkpoint_id)]
        for older in [pending for pending in self._pending.values() if pending.checkpoint_id < checkpoint_id]:
            effects += self._abort(older, f"subsumed by checkpoint {checkpoint_id}", now_ms)
        effects.append(RetainCheckpoints(keep=self.completed))
        if stored.final and self._phase is Phase.RUNNING:
            self._phase = Phase.COMMITTING
            effects += self._finish_if_committed(stored.attempt)
        return effects

    def _on_refused(self, checkpoint_id: CheckpointId, reason: str, now_ms: float) -> list[CoordinatorEffect]:
        refused = self._settle(checkpoint_id)
        if refused.attempt != self._attempt:
            return [DiscardFiles(checkpoint_id=checkpoint_id, attempt=refused.attempt)]
        return self._fail(refused, f"manifest not stored: {reason}", now_ms)

    def _settle(self, checkpoint_id: CheckpointId) -> _Pending:
        if checkpoint_id != self._storing:
            raise self._story.broken(f"the manifest of checkpoint {checkpoint_id} is not being stored")
        self._storing = None
        return self._pending.pop(checkpoint_id)

    def _finish_if_committed(self, attempt: Attempt) -> list[CoordinatorEffect]:
        if not self._committing <= self._committed:
            return []
        self._phase = Phase.DONE
        return [FinishJob(attempt=attempt)]

    # --- giving up --------------------------------------------------------------------------------------------------

    def _fail(self, pending: _Pending, reason: str, now_ms: float) -> list[CoordinatorEffect]:
        effects = self._abort(pending, reason, now_ms)
        if self._phase is not Phase.RUNNING:
            return effects
        self._failures_in_row += 1
        if self._failures_in_row <= self._settings.tolerable_failures:
            return effects
        text = f"checkpoint {pending.checkpoint_id} failed ({reason}): {self._failures_in_row} in a row, "
        text += f"{self._settings.tolerable_failures} tolerated"
        self._phase, self._failures_in_row = Phase.FAILING, 0
        return [*effects, FailAttempt(attempt=pending.attempt, reason=text)]

    def _abort(self, pending: _Pending, reason: str, now_ms: float) -> list[CoordinatorEffect]:
        self._pending.pop(pending.checkpoint_id, None)
        self._last_end_ms = now_ms
        if pending.final:
            self._next_final_ms = now_ms + FINAL_RETRY_MS
        return [
            NotifyAborted(attempt=pending.attempt, checkpoint_id=pending.checkpoint_id, reason=reason),
            DiscardFiles(checkpoint_id=pending.checkpoint_id, attempt=pending.attempt),
        ]

    # --- what time and room allow -----------------------------------------------------------------------------------

    def _progress(self, now_ms: float) -> list[CoordinatorEffect]:
        effects: list[CoordinatorEffect] = []
        for pending in list(self._pending.values()):
            if now_ms >= pending.expires_ms and not self._is_acked(pending):
                effects += self._fail(pending, self._describe_missing(pending), now_ms)
        effects += self._store_next()
        due_ms = self._trigger_due_ms()
        if due_ms is not None and now_ms >= due_ms:
            effects.append(self._trigger(now_ms))
        return effects

    def _store_next(self) -> list[CoordinatorEffect]:
        acked = [pending for pending in self._pending.values() if self._is_acked(pending)]
        if self._storing is not None or not acked or self._phase is Phase.FAILING:
            return []
        ready = acked[0]
        self._storing = ready.checkpoint_id
        return [
            StoreManifest(
                checkpoint_id=ready.checkpoint_id,
                attempt=ready.attempt,
                states=dict(ready.states),
                trigger_ms=ready.trigger_ms,
                final=ready.final,
            )
        ]

    def _trigger_due_ms(self) -> float | None:
        """When the next checkpoint starts, as things stand; None: not before something else happens."""
        if self._phase is not Phase.RUNNING:
            return None
        if self._ended == self._subtasks:
            final_under_way = any(pending.final for pending in self._pending.values())
            return None if final_under_way else self._next_final_ms
        if len(self._pending) >= self._settings.max_concurrent:
            return None
        if self._requested:
            return float("-inf")
        if self._next_periodic_ms is None or self._last_end_ms is None:
            return self._next_periodic_ms
        return max(self._next_periodic_ms, self._last_end_ms + self._settings.min_pause_ms)

    def _trigger(self, now_ms: float) -> TriggerCheckpoint:
        assert self._attempt is not None
        self._requested = False
        if self._settings.interval_ms is not None:
            self._next_periodic_ms = now_ms + self._settings.interval_ms
        self._last_id = CheckpointId(self._last_id + 1)
        pending = _Pending(
            checkpoint_id=self._last_id,
            attempt=self._attempt,
            trigger_ms=int(now_ms + self._wall_offset_ms),
            expires_ms=now_ms + self._settings.timeout_ms,
            final=self._ended == self._subtasks,
        )
        self._pending[self._last_id] = pending
        return TriggerCheckpoint(
            attempt=self._attempt, checkpoint_id=self._last_id, trigger_ms=pending.trigger_ms, final=pending.final
        )

    def _is_acked(self, pending: _Pending) -> bool:
        return pending.states.keys() == self._subtasks

    def _describe_missing(self, pending: _Pending) -> str:
        missing = sorted(self._subtasks - pending.states.keys())
        names = ", ".join(str(subtask) for subtask in missing[:5]) + (", ..." if len(missing) > 5 else "")
        return (
            f"not complete after {self._settings.timeout_ms} ms: {len(missing)} of {len(self._subtasks)} subtasks "
            f"have not acknowledged ({names})"
        )

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        broken = self._story.broken
        if (self._attempt is None) != (self._phase is Phase.IDLE):
            raise broken(f"phase {self._phase} with attempt {self._attempt}")
        if self._storing is not None and not self._is_acked(self._pending[self._storing]):
            raise broken(f"manifest of checkpoint {self._storing} ordered before all subtasks acknowledged")
        if any(pending.attempt != self._attempt for id_, pending in self._pending.items() if id_ != self._storing):
            raise broken("a checkpoint of an ended attempt is pending")
        if self._completed != sorted(set(self._completed)) or any(id_ > self._last_id for id_ in self._pending):
            raise broken("checkpoint ids do not grow")
        if len([pending for pending in self._pending.values() if pending.final]) > 1:
            raise broken("two final checkpoints under way")
