"""The checkpoints and savepoints under way: collecting, waiting for their manifest to be written, or storing. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from headgate.checkpoint.coordination.pending import PendingCheckpoint
from headgate.checkpoint.coordination.vocabulary import CoordinatorEffect, DiscardSavepoint
from headgate.elements import SavepointOrder
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.story import Story


@final
class UnderWay:
    """What has been triggered and is neither complete nor given up, oldest first. Owned by the coordinator."""

    def __init__(self, subtasks: frozenset[SubtaskId], story: Story) -> None:
        self.storing: CheckpointId | None = None
        """Whose manifest is being written."""
        self._subtasks = subtasks
        self._story = story
        self._pending: dict[CheckpointId, PendingCheckpoint] = {}
        self._spoilt: dict[CheckpointId, SavepointOrder] = {}
        self._taken: set[CheckpointId] = set()

    def __iter__(self) -> Iterator[PendingCheckpoint]:
        return iter(list(self._pending.values()))

    def __len__(self) -> int:
        return len(self._pending)

    def get(self, checkpoint_id: CheckpointId) -> PendingCheckpoint | None:
        """Return a checkpoint if it is under way."""
        return self._pending.get(checkpoint_id)

    @property
    def has_final(self) -> bool:
        """Whether the checkpoint after the end of all data is among them."""
        return any(pending.final for pending in self)

    @property
    def stops(self) -> bool:
        """Whether a savepoint that the job ends with is among them."""
        return any(pending.stops for pending in self)

    def collecting(self) -> list[PendingCheckpoint]:
        """Return those that not all subtasks have acknowledged."""
        return [pending for pending in self if not pending.is_acked(self._subtasks)]

    def over(self, last_id: CheckpointId) -> CheckpointId:
        """Return the highest id up to which nobody needs to wait for barriers any more."""
        return CheckpointId(min((pending.checkpoint_id - 1 for pending in self.collecting()), default=last_id))

    def to_be_stored(self) -> PendingCheckpoint | None:
        """Return the oldest that all subtasks have acknowledged, unless a manifest is being written."""
        acked = (pending for pending in self if pending.is_acked(self._subtasks))
        return None if self.storing is not None else next(acked, None)

    def add(self, pending: PendingCheckpoint) -> None:
        """A checkpoint is triggered."""
        self._pending[pending.checkpoint_id] = pending

    def drop(self, pending: PendingCheckpoint) -> None:
        """A checkpoint is given up."""
        self._pending.pop(pending.checkpoint_id, None)
        if pending.savepoint is not None:
            self._spoilt[pending.checkpoint_id] = pending.savepoint

    def settle(self, checkpoint_id: CheckpointId) -> PendingCheckpoint:
        """It is known what became of the manifest that was being written."""
        if checkpoint_id != self.storing:
            raise self._story.broken(f"the manifest of checkpoint {checkpoint_id} is not being stored")
        self.storing = None
        return self._pending.pop(checkpoint_id)

    def taken(self, savepoint: PendingCheckpoint) -> None:
        """A savepoint is complete: nothing of it is to be deleted."""
        self._taken.add(savepoint.checkpoint_id)

    def late(self, checkpoint_id: CheckpointId) -> list[CoordinatorEffect] | None:
        """Return what to do about files of a savepoint that come when it is over; None: it was none of this attempt."""
        if checkpoint_id in self._taken:
            return []
        savepoint = self._spoilt.get(checkpoint_id)
        return None if savepoint is None else [DiscardSavepoint(checkpoint_id=checkpoint_id, savepoint=savepoint)]

    def begin(self) -> list[CoordinatorEffect]:
        """A new attempt begins: have deleted what slots wrote for savepoints after the last one had ended."""
        spoilt, self._spoilt = self._spoilt, {}
        self._taken.clear()
        return [DiscardSavepoint(checkpoint_id=id_, savepoint=savepoint) for id_, savepoint in spoilt.items()]

    def check_invariants(self, attempt: Attempt | None, last_id: CheckpointId) -> None:
        """Raise InternalError if the state contradicts itself."""
        broken = self._story.broken
        if self.storing is not None and not self._pending[self.storing].is_acked(self._subtasks):
            raise broken(f"manifest of checkpoint {self.storing} ordered before all subtasks acknowledged")
        if any(pending.attempt != attempt for pending in self if pending.checkpoint_id != self.storing):
            raise broken("a checkpoint of an ended attempt is pending")
        if any(pending.checkpoint_id > last_id for pending in self):
            raise broken("checkpoint ids do not grow")
        if len([pending for pending in self if pending.final]) > 1:
            raise broken("two final checkpoints under way")
        overtaking = any(pending.barrier.unaligned_after_ms is not None for pending in self)
        if overtaking and any(pending.savepoint is not None and not pending.final for pending in self):
            raise broken("a savepoint beside a checkpoint that may overtake batches")
