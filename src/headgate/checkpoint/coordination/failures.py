"""Failed checkpoints in a row: which ones count, and when there are too many. Pure.

A timeout, a state that cannot be written, a refusal by a subtask and a manifest that cannot be stored count. Savepoints
do not, nor does what is no fault: a newer checkpoint came first, or the attempt ended. Each checkpoint counts once, and
not if a later one is complete already. Each completed checkpoint begins a new row.
"""

from __future__ import annotations

from typing import final

from headgate.ids import CheckpointId


@final
class FailureCounter:
    """Counts the failed checkpoints since the last completed one. Owned by the coordinator."""

    def __init__(self, tolerable: int) -> None:
        self._tolerable = tolerable
        self._failed: set[CheckpointId] = set()
        self._completed = CheckpointId(0)

    def completed(self, checkpoint_id: CheckpointId) -> None:
        """The checkpoint is complete: a new row begins, unless a later one has begun it."""
        if checkpoint_id > self._completed:
            self._completed = checkpoint_id
            self._failed.clear()

    def failed(self, checkpoint_id: CheckpointId, reason: str) -> str | None:
        """The checkpoint has failed. If these are too many in a row, say so, and begin a new row."""
        if checkpoint_id > self._completed:
            self._failed.add(checkpoint_id)
        in_row = len(self._failed)
        if in_row <= self._tolerable:
            return None
        self._failed.clear()
        return f"checkpoint {checkpoint_id} failed ({reason}): {in_row} in a row, {self._tolerable} tolerated"
