"""A pending checkpoint or savepoint: who has acknowledged it, and what becomes of it when it is given up. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from headgate.checkpoint.coordination.vocabulary import (
    CheckpointRequest,
    CoordinatorEffect,
    DiscardFiles,
    DiscardSavepoint,
    NotifyAborted,
    RequestFailed,
    StoreManifest,
)
from headgate.checkpoint.handles import SubtaskState
from headgate.elements import Barrier, SavepointOrder
from headgate.ids import Attempt, CheckpointId, SubtaskId

_NAMED_MAX = 5


@final
@dataclass(slots=True, kw_only=True)
class PendingCheckpoint:
    """A checkpoint that is neither complete nor given up. `request` is what it answers, None: it is periodic."""

    barrier: Barrier
    attempt: Attempt
    expires_ms: float
    final: bool
    request: CheckpointRequest | None
    states: dict[SubtaskId, SubtaskState] = field(default_factory=dict)

    @property
    def checkpoint_id(self) -> CheckpointId:
        """Its id."""
        return self.barrier.checkpoint_id

    @property
    def savepoint(self) -> SavepointOrder | None:
        """Where and how it is written, if it is a savepoint."""
        return self.barrier.savepoint

    @property
    def stops(self) -> bool:
        """Whether the job ends with it."""
        return self.savepoint is not None and self.savepoint.stops

    def is_acked(self, subtasks: frozenset[SubtaskId]) -> bool:
        """Whether all subtasks have acknowledged it."""
        return self.states.keys() == subtasks

    def describe_missing(self, subtasks: frozenset[SubtaskId], timeout_ms: int) -> str:
        """Return why it is late, as a text."""
        missing = sorted(subtasks - self.states.keys())
        names = ", ".join(str(subtask) for subtask in missing[:_NAMED_MAX]) + (", ..." if missing[_NAMED_MAX:] else "")
        return (
            f"not complete after {timeout_ms} ms: {len(missing)} of {len(subtasks)} subtasks have not acknowledged "
            f"({names})"
        )

    def manifest_order(self) -> StoreManifest:
        """Return the order to store its manifest."""
        return StoreManifest(
            checkpoint_id=self.checkpoint_id,
            attempt=self.attempt,
            states=dict(self.states),
            trigger_ms=self.barrier.trigger_ms,
            final=self.final,
            savepoint=self.savepoint,
        )

    def abort(self, reason: str) -> list[CoordinatorEffect]:
        """Return what is owed to its subtasks, its files and its asker when it is given up while its attempt runs."""
        told = NotifyAborted(attempt=self.attempt, checkpoint_id=self.checkpoint_id, reason=reason)
        return [told, *self.forget(reason)]

    def forget(self, reason: str) -> list[CoordinatorEffect]:
        """Return what is owed to its files and its asker."""
        answer = [] if self.request is None else [RequestFailed(request=self.request, reason=reason)]
        return [self.discard(), *answer]

    def discard(self) -> DiscardFiles | DiscardSavepoint:
        """Return the order to delete what was written for it."""
        if self.savepoint is not None:
            return DiscardSavepoint(checkpoint_id=self.checkpoint_id, savepoint=self.savepoint)
        return DiscardFiles(checkpoint_id=self.checkpoint_id, attempt=self.attempt)
