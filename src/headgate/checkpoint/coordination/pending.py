"""Pending checkpoints and savepoints, neither complete nor given up, and the stop of a job with a savepoint. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

from headgate.checkpoint.coordination.failures import CheckpointFailure, FailureReason
from headgate.checkpoint.coordination.vocabulary import (
    CheckpointRequest,
    CoordinatorEffect,
    DiscardFiles,
    DiscardSavepoint,
    NotifyAborted,
    RequestCompleted,
    RequestFailed,
    StoreManifest,
)
from headgate.checkpoint.handles import SubtaskState
from headgate.elements import Barrier, SavepointOrder
from headgate.ids import Attempt, CheckpointId, SubtaskId

_NAMED_MAX: Final = 5


@final
@dataclass(slots=True, kw_only=True)
class PendingCheckpoint:
    """A checkpoint that is neither complete nor given up.

    `expires_ms` is the monotonic time at which it times out. `request` is the request that it answers. It is None for
    a periodic checkpoint, and for the savepoint of a stop, which `Stop` answers.
    """

    barrier: Barrier
    attempt: Attempt
    expires_ms: float
    final: bool
    request: CheckpointRequest | None
    states: dict[SubtaskId, SubtaskState] = field(default_factory=dict)

    @property
    def checkpoint_id(self) -> CheckpointId:
        """The id of the checkpoint."""
        return self.barrier.checkpoint_id

    @property
    def savepoint(self) -> SavepointOrder | None:
        """The savepoint's location and format, None for a checkpoint."""
        return self.barrier.savepoint

    @property
    def stops(self) -> bool:
        """Whether the job ends with this savepoint."""
        return self.savepoint is not None and self.savepoint.stops

    def is_acked(self, subtasks: frozenset[SubtaskId]) -> bool:
        """Return whether all subtasks have acknowledged the checkpoint."""
        return self.states.keys() == subtasks

    def ack(self, subtask: SubtaskId, state: SubtaskState) -> None:
        """Keep the state that a subtask has acknowledged. A repeated acknowledgement changes nothing."""
        self.states.setdefault(subtask, state)

    def expired(self, subtasks: frozenset[SubtaskId], timeout_ms: int) -> CheckpointFailure:
        """Return the timeout as a failure: it names subtasks that have not acknowledged."""
        missing = sorted(subtasks - self.states.keys())
        names = ", ".join(str(subtask) for subtask in missing[:_NAMED_MAX]) + (", ..." if missing[_NAMED_MAX:] else "")
        return FailureReason.EXPIRED.told(
            timeout_ms=timeout_ms, missing=len(missing), subtasks=len(subtasks), names=names
        )

    def manifest_order(self) -> StoreManifest:
        """Return the order to store the manifest."""
        return StoreManifest(
            checkpoint_id=self.checkpoint_id,
            attempt=self.attempt,
            states=dict(self.states),
            trigger_ms=self.barrier.trigger_ms,
            final=self.final,
            savepoint=self.savepoint,
        )

    def abort(self, failure: CheckpointFailure) -> list[CoordinatorEffect]:
        """Give the checkpoint up while its attempt runs: tell subtasks and asker, and delete its files."""
        told = NotifyAborted(attempt=self.attempt, checkpoint_id=self.checkpoint_id, failure=failure)
        return [told, *self.forget(failure)]

    def forget(self, failure: CheckpointFailure) -> list[CoordinatorEffect]:
        """Give the checkpoint up after its attempt: delete its files, and tell its asker."""
        return [
            self.discard(),
            *([] if self.request is None else [RequestFailed(request=self.request, failure=failure)]),
        ]

    def discard(self) -> DiscardFiles | DiscardSavepoint:
        """Return the order to delete the files that were written for the checkpoint."""
        if self.savepoint is not None:
            return DiscardSavepoint(checkpoint_id=self.checkpoint_id, savepoint=self.savepoint)
        return DiscardFiles(checkpoint_id=self.checkpoint_id, attempt=self.attempt)


@final
@dataclass(frozen=True, slots=True)
class Stop:
    """A request to stop the job, from its turn to the end of the job.

    `saved` is the savepoint, once it is complete. `is_committed`: everything that the savepoint holds is committed.
    """

    request: CheckpointRequest
    saved: PendingCheckpoint | None = None
    is_committed: bool = False

    @property
    def savepoint(self) -> SavepointOrder:
        """The savepoint's location and format."""
        assert self.request.savepoint is not None
        return self.request.savepoint

    def answer_without(self, reason: FailureReason, **details: object) -> RequestFailed:
        """Return the answer when the savepoint is complete, but the job does not end with it."""
        return RequestFailed(request=self.request, failure=reason.told(location=self.savepoint.location, **details))

    def answer_at_end(self, finished: bool, cause: str | None) -> RequestCompleted | RequestFailed:
        """Return the answer when the job is over."""
        if finished and self.saved is not None:
            return RequestCompleted(request=self.request, checkpoint_id=self.saved.checkpoint_id)
        why = "it was cancelled" if cause is None else f"it failed: {cause}"
        reason = FailureReason.STOP_NOT_CLOSED if self.is_committed else FailureReason.STOP_NOT_COMMITTED
        return self.answer_without(reason, why=why)
