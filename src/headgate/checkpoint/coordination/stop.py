"""The request to stop a job with a savepoint, from its turn to the end of the job. Pure.

From its turn on nothing else starts: the sources put out nothing behind the savepoint's barrier or, when the job is
drained, they end first, so that the final checkpoint is the savepoint. When that is complete the stop is recorded in
the job's folder, and from then on *any* attempt of the job only commits what the savepoint holds. If it cannot be had,
sources have stopped already: the attempt fails, and the job goes on from its last checkpoint.

The asker is told when the job has ended, if the stop was recorded; else when it is known that it never will be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.checkpoint.coordination.vocabulary import (
    CheckpointRequest,
    EndSources,
    RequestCompleted,
    RequestFailed,
)
from headgate.elements import SavepointOrder
from headgate.ids import Attempt, CheckpointId


@final
@dataclass(slots=True)
class Stop:
    """`checkpoint_id` is the savepoint once it is complete."""

    request: CheckpointRequest
    checkpoint_id: CheckpointId | None = None

    @property
    def savepoint(self) -> SavepointOrder:
        """The savepoint's place and form."""
        assert self.request.savepoint is not None
        return self.request.savepoint

    def end_sources(self, attempt: Attempt, over: CheckpointId) -> list[EndSources]:
        """Return the order with which draining begins; nothing if the job is stopped without."""
        return [EndSources(attempt=attempt, over=over)] if self.request.drains else []

    def answer_without(self, reason: str) -> RequestFailed:
        """Return the answer when the savepoint is complete, but the job does not end with it."""
        return RequestFailed(
            request=self.request, reason=f"the savepoint {self.savepoint.location} is complete, but {reason}"
        )

    def answer_at_end(self, finished: bool, cause: str | None) -> RequestCompleted | RequestFailed:
        """Return the answer when the job is over."""
        if finished and self.checkpoint_id is not None:
            return RequestCompleted(request=self.request, checkpoint_id=self.checkpoint_id)
        why = "it was cancelled" if cause is None else f"it failed: {cause}"
        return self.answer_without(
            f"the job could not commit what it holds before {why}. A job that starts from this savepoint commits it"
        )
