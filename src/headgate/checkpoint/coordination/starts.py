"""The start of checkpoints and savepoints: for whom the next one is, when it is due, and its barrier. Pure."""

from __future__ import annotations

from typing import Final, final

from headgate.checkpoint.coordination.pending import PendingCheckpoint
from headgate.checkpoint.coordination.progress import SubtaskProgress
from headgate.checkpoint.coordination.requests import NOW, REQUESTS_MAX, Pace, RequestQueue
from headgate.checkpoint.coordination.under_way import UnderWay
from headgate.checkpoint.coordination.vocabulary import (
    AttemptStarted,
    CheckpointRequest,
    CheckpointSettings,
    CoordinatorEffect,
    RequestFailed,
    TriggerCheckpoint,
)
from headgate.elements import Barrier
from headgate.ids import Attempt, CheckpointId

FINAL_RETRY_MS: Final = 1_000.0
"""Pause before the final checkpoint is tried again, so that broken storage is not hammered."""


@final
class Starts:
    """Starts checkpoints, with ids that grow. Owned by the coordinator."""

    def __init__(self, settings: CheckpointSettings, progress: SubtaskProgress, under_way: UnderWay) -> None:
        self.last_id = CheckpointId(0)
        """The highest checkpoint id used so far; 0 when none was."""
        self._settings = settings
        self._progress = progress
        self._under_way = under_way
        self._queue = RequestQueue()
        self._pace = Pace(settings)
        self._next_final_ms = 0.0
        self._wall_offset_ms = 0.0

    def begin(self, event: AttemptStarted) -> None:
        """A new attempt begins."""
        self.last_id = max(self.last_id, event.last_id)
        self._wall_offset_ms = event.wall_ms - event.now_ms
        self._pace.begin(event.now_ms)
        self._next_final_ms = event.now_ms

    def ended(self, pending: PendingCheckpoint, now_ms: float) -> None:
        """A checkpoint or savepoint is complete or given up."""
        self._pace.ended(now_ms)
        if pending.final:
            self._next_final_ms = now_ms + FINAL_RETRY_MS

    # --- requests

    def add(self, request: CheckpointRequest) -> list[CoordinatorEffect]:
        """Let a request wait for its turn, or refuse it."""
        if self._is_too_late():
            reason = "a subtask has processed all its input, and checkpoints after that are switched off"
            return [RequestFailed(request=request, reason=reason)]
        if not self._queue.add(request):
            reason = f"{REQUESTS_MAX} requests wait already: ask again later"
            return [RequestFailed(request=request, reason=reason)]
        return []

    def refuse_waiting(self, reason: str) -> list[CoordinatorEffect]:
        """Let no request wait any longer."""
        return [RequestFailed(request=request, reason=reason) for request in self._queue.take_all()]

    def take(self) -> CheckpointRequest | None:
        """Return the request that has its turn, which waits no longer; None: the checkpoint that is due is for none.

        When all data has ended there is one checkpoint only, the final one; it may be the savepoint that stops the job.
        """
        request = self._queue.stopping if self._progress.all_ended else self._queue.first
        if request is not None:
            self._queue.take(request)
        return request

    # --- time

    def due_ms(self) -> float | None:
        """When the next checkpoint starts, as things stand; None: not before something else happens."""
        if self._progress.recovering:
            return None
        if self._progress.all_ended:
            return None if self._under_way.has_final else self._next_final_ms
        return None if self._is_too_late() else self._pace.due_ms(self._queue.first, list(self._under_way))

    def stop_due_ms(self) -> float | None:
        """When the savepoint that stops the job starts, once its turn has come and sources were told to end."""
        return NOW if self._progress.all_ended and not self._under_way.stops else None

    def _is_too_late(self) -> bool:
        return bool(self._progress.ended) and not self._settings.after_tasks_ended

    # --- starting

    def trigger(self, attempt: Attempt, request: CheckpointRequest | None, now_ms: float) -> TriggerCheckpoint:
        """Start a checkpoint, for a request or for none."""
        final_one = self._progress.all_ended
        savepoint = None if request is None else request.savepoint
        if savepoint is None:
            self._pace.started(now_ms)
        self.last_id = CheckpointId(self.last_id + 1)
        in_order = final_one or savepoint is not None
        barrier = Barrier(
            checkpoint_id=self.last_id,
            trigger_ms=int(now_ms + self._wall_offset_ms),
            unaligned_after_ms=None if in_order else self._settings.unaligned_after_ms,
            savepoint=savepoint,
        )
        self._under_way.add(
            PendingCheckpoint(
                barrier=barrier,
                attempt=attempt,
                expires_ms=now_ms + self._settings.timeout_ms,
                final=final_one,
                request=None if request is None or request.stops else request,
            )
        )
        return TriggerCheckpoint(attempt=attempt, barrier=barrier, final=final_one)
