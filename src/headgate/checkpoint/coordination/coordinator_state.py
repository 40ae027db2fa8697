"""What the checkpoint coordinator knows, and how it gives up a checkpoint, a stop or an attempt. Pure."""

from __future__ import annotations

from typing import Final, final

from headgate.checkpoint import messages
from headgate.checkpoint.coordination import vocabulary as c
from headgate.checkpoint.coordination.failures import CheckpointFailure, FailureCounter, FailureReason
from headgate.checkpoint.coordination.pending import PendingCheckpoint, Stop
from headgate.checkpoint.coordination.restore_gate import Gate
from headgate.checkpoint.coordination.schedule import CheckpointSchedule, RequestQueue
from headgate.elements import SavepointOrder
from headgate.event_history import EventHistory
from headgate.ids import Attempt, CheckpointId, SubtaskId

Effects = list[c.CoordinatorEffect]

FINAL_RETRY_MS: Final = 1_000.0
"""Pause before the final checkpoint is tried again, so that broken storage is not hammered."""


@final
class CoordinatorState:
    """The attempt, its subtasks and its checkpoints under way. Shared by the coordinator and its `Completion`."""

    def __init__(self, settings: c.CheckpointSettings) -> None:
        self.settings = settings
        self.history = EventHistory("checkpoint coordinator", length=30)
        self.phase = c.Phase.IDLE
        self.attempt: Attempt | None = None
        self.last_attempt = Attempt(0)
        self.wall_offset_ms = 0.0
        self.commits_for_all = False
        # The subtasks of the attempt, and those among them that report commits.
        self.subtasks: frozenset[SubtaskId] = frozenset()
        self.committing: frozenset[SubtaskId] = frozenset()
        self.gate = Gate()
        # The checkpoints under way, oldest first.
        self.last_id = CheckpointId(0)
        self.pending: dict[CheckpointId, PendingCheckpoint] = {}
        self.completed: list[CheckpointId] = []
        self.failures = FailureCounter(settings.tolerable_failures)
        # Savepoints of this attempt that are not under way any more.
        self.given_up_savepoints: dict[CheckpointId, SavepointOrder] = {}
        self.complete_savepoints: set[CheckpointId] = set()
        # Requests that wait, and when the next checkpoint may start.
        self.queue = RequestQueue()
        self.schedule = CheckpointSchedule(settings)
        self.next_final_ms = 0.0
        # The progress of the subtasks, and commits reported before the attempt has started.
        self.recovering: set[SubtaskId] = set()
        self.ended: set[SubtaskId] = set()
        self.committed: set[SubtaskId] = set()
        self.early_commits: list[messages.SubtaskCommitted] = []
        # The end: the request to stop, and the checkpoint whose commits end the job.
        self.stop: Stop | None = None
        self.ending: CheckpointId | None = None

    def collecting(self) -> list[PendingCheckpoint]:
        """Return the checkpoints that some subtask has not acknowledged, oldest first."""
        return [pending for pending in self.pending.values() if not pending.is_acked(self.subtasks)]

    def is_saving_for_stop(self) -> bool:
        """Return whether the savepoint that the job is to end with is under way."""
        return any(pending.stops for pending in self.pending.values())

    def all_ended(self) -> bool:
        """Return whether all subtasks have processed all their input."""
        return self.ended == self.subtasks

    def is_too_late(self) -> bool:
        """Return whether a subtask has ended, and the settings allow no checkpoint after that."""
        return bool(self.ended) and not self.settings.after_tasks_ended

    def refuse_waiting(self, failure: CheckpointFailure) -> Effects:
        """Answer all requests that wait with the failure."""
        return [c.RequestFailed(request=request, failure=failure) for request in self.queue.take_all()]

    def subsume(self, checkpoint_id: CheckpointId, now_ms: float) -> Effects:
        """Give up the checkpoints that are older than this complete one. Savepoints stay: their askers want them."""
        failure = FailureReason.SUBSUMED.told(newer=checkpoint_id)
        effects: Effects = []
        for older in list(self.pending.values()):
            if older.checkpoint_id < checkpoint_id and older.savepoint is None:
                effects += self.abort(older, failure, now_ms)
        return effects

    def fail(self, pending: PendingCheckpoint, failure: CheckpointFailure, now_ms: float) -> Effects:
        """Give up a checkpoint that has failed. Fail the attempt when too many have failed in a row."""
        effects = self.abort(pending, failure, now_ms)
        if pending.savepoint is not None or self.phase not in (c.Phase.RUNNING, c.Phase.STOPPING):
            return effects
        too_many = self.failures.failed(pending.checkpoint_id, failure)
        return effects if too_many is None else [*effects, *self.fail_attempt(pending.attempt, too_many)]

    def abort(self, pending: PendingCheckpoint, failure: CheckpointFailure, now_ms: float) -> Effects:
        """Give up a checkpoint. The failure does not count."""
        self.drop(pending)
        self.note_end(pending, now_ms)
        effects = pending.abort(failure)
        if not pending.stops:
            return [*effects, *self.end_sources(pending.attempt)]
        effects += self.end_stop(failure)
        if self.phase is not c.Phase.STOPPING:
            return effects
        return [*effects, *self.fail_attempt(pending.attempt, FailureReason.SOURCES_HAVE_STOPPED.told(why=failure))]

    def drop(self, pending: PendingCheckpoint) -> None:
        """Remove a checkpoint from the pending checkpoints. A late acknowledgement has its files deleted again."""
        self.pending.pop(pending.checkpoint_id, None)
        if pending.savepoint is not None:
            self.given_up_savepoints[pending.checkpoint_id] = pending.savepoint

    def note_end(self, pending: PendingCheckpoint, now_ms: float) -> None:
        """Start the pause after a checkpoint that is complete or given up."""
        self.schedule.ended(now_ms)
        if pending.final:
            self.next_final_ms = now_ms + FINAL_RETRY_MS

    def end_stop(self, failure: CheckpointFailure) -> Effects:
        """Answer the request to stop the job with the failure: the job does not stop."""
        assert self.stop is not None
        request, self.stop = self.stop.request, None
        return [c.RequestFailed(request=request, failure=failure)]

    def fail_attempt(self, attempt: Attempt, failure: CheckpointFailure, *, retriable: bool = True) -> Effects:
        """Have the attempt fail, and refuse the requests that wait if it is the current attempt."""
        failed = c.FailAttempt(attempt=attempt, failure=failure, retriable=retriable)
        if attempt != self.attempt:
            return [failed]
        self.phase = c.Phase.FAILING
        return [*self.refuse_waiting(self.phase.refusal), failed]

    def end_sources(self, attempt: Attempt) -> Effects:
        """Tell all sources to end, if the job is being drained and its savepoint has not started.

        The order also says which checkpoints are over. No later barrier tells that to a subtask that missed an abort.
        """
        if (
            self.stop is None
            or self.phase is not c.Phase.STOPPING
            or self.is_saving_for_stop()
            or not self.stop.request.drains
        ):
            return []
        over = min((pending.checkpoint_id - 1 for pending in self.collecting()), default=self.last_id)
        return [c.EndAllSources(attempt=attempt, over=CheckpointId(over))]

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        broken = self.history.broken
        if (self.attempt is None) != (self.phase is c.Phase.IDLE):
            raise broken(f"phase {self.phase} with attempt {self.attempt}")
        if self.completed != sorted(set(self.completed)) or any(id_ > self.last_id for id_ in self.pending):
            raise broken("checkpoint ids do not grow")
        if self.stop is None and (self.phase in (c.Phase.STOPPING, c.Phase.RECORDING) or self.is_saving_for_stop()):
            raise broken(f"phase {self.phase} without a request to stop")
        if self.gate.storing is not None and not self.pending[self.gate.storing].is_acked(self.subtasks):
            raise broken(f"manifest of checkpoint {self.gate.storing} ordered before all subtasks acknowledged")
        under_way = self.pending.values()
        if any(pending.attempt != self.attempt for pending in under_way if pending.checkpoint_id != self.gate.storing):
            raise broken("a checkpoint of an ended attempt is pending")
        if len([pending for pending in under_way if pending.final]) > 1:
            raise broken("two final checkpoints under way")
        overtaking = any(pending.barrier.unaligned_after_ms is not None for pending in under_way)
        if overtaking and any(pending.savepoint is not None and not pending.final for pending in under_way):
            raise broken("a savepoint beside a checkpoint that may overtake batches")
