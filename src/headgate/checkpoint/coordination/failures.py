"""The reasons why a checkpoint, a savepoint or an attempt fails, and the counter of failed checkpoints. Pure.

These failures count: a timeout, state that cannot be written, a subtask that declines, a manifest that cannot be
stored. A failed savepoint does not count. Neither does a checkpoint that was given up without a fault, because a newer
checkpoint came first or the attempt ended. Each checkpoint counts once, and not if a later checkpoint is complete
already. Each complete checkpoint resets the counter.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import final

from headgate.ids import CheckpointId


@final
@dataclass(frozen=True, slots=True)
class CheckpointFailure:
    """The reason of a failure, and its text with the details."""

    reason: FailureReason
    text: str

    def __str__(self) -> str:
        return self.text


@final
class FailureReason(Enum):
    """Why a request or a checkpoint failed. The value is the text, with placeholders for the details."""

    EXPIRED = "not complete after {timeout_ms} ms: {missing} of {subtasks} subtasks have not acknowledged ({names})"
    DECLINED = "declined by subtask {subtask}: {why}"
    SUBSUMED = "subsumed by checkpoint {newer}"
    NOT_STORED = "manifest not stored: {why}"
    ATTEMPT_ENDED = "the job restarted, or ended, before it was complete"
    ATTEMPT_FAILED = "the job failed before it was complete: {why}"
    SUBTASK_ENDED = "subtask {subtask} has processed all its input, and checkpoints after that are switched off"

    NOT_RUNNING = "the job is not running at the moment: ask again when it is"
    STOPPING = "the job is being stopped with a savepoint"
    ENDING = "the job is ending"
    TOO_MANY_REQUESTS = "{waiting} requests are already waiting: ask again later"
    NOT_WRITABLE = "nothing can be written to {location}: {why}"

    FAILED_BEFORE_STOP = (
        "the savepoint {location} is complete, but the job failed before it could end with it, and runs on"
    )
    STOP_NOT_RECORDED = (
        "the savepoint {location} is complete, but headgate could not record that the job is to end with it: {why}"
    )
    STOP_NOT_CLOSED = (
        "the savepoint {location} is complete, and what it holds is committed, but the job did not end as it should: "
        "{why}"
    )
    STOP_NOT_COMMITTED = (
        "the savepoint {location} is complete, but the job could not commit what it holds before {why}. A job that "
        "starts from this savepoint commits it"
    )

    TOO_MANY_IN_A_ROW = "checkpoint {checkpoint_id} failed ({why}): {in_row} in a row, {tolerated} tolerated"
    SOURCES_HAVE_STOPPED = (
        "sources have stopped for a savepoint that failed ({why}): they go on from the last checkpoint"
    )
    NOT_COMMITTED = "commit of checkpoint {checkpoint_id} failed: {why}"

    def told(self, **details: object) -> CheckpointFailure:
        """Return the failure with this reason, and with `details` in its text.

        >>> str(FailureReason.SUBSUMED.told(newer=4))
        'subsumed by checkpoint 4'
        """
        return CheckpointFailure(self, self.value.format(**details))


@final
class FailureCounter:
    """Counts the failed checkpoints since the last completed one. Owned by the coordinator."""

    def __init__(self, tolerable: int) -> None:
        self._tolerable = tolerable
        self._failed: set[CheckpointId] = set()
        self._completed = CheckpointId(0)

    def completed(self, checkpoint_id: CheckpointId) -> None:
        """Reset the counter: the checkpoint is complete. Does nothing if a later checkpoint was complete before."""
        if checkpoint_id > self._completed:
            self._completed = checkpoint_id
            self._failed.clear()

    def failed(self, checkpoint_id: CheckpointId, why: CheckpointFailure) -> CheckpointFailure | None:
        """Count a failed checkpoint. Return a failure, and reset the counter, if too many have failed in a row."""
        if checkpoint_id > self._completed:
            self._failed.add(checkpoint_id)
        in_row = len(self._failed)
        if in_row <= self._tolerable:
            return None
        self._failed.clear()
        return FailureReason.TOO_MANY_IN_A_ROW.told(
            checkpoint_id=checkpoint_id, why=why, in_row=in_row, tolerated=self._tolerable
        )
