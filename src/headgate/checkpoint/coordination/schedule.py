"""The schedule: which checkpoint starts next, and when: by requests, interval, pause and limits. Pure.

Requests go before the periodic checkpoint: savepoints first, then the oldest request. Only the first request is
considered: while it waits, all others wait.

    what              starts                                              but not
    savepoint         at once, also at the limit of concurrency           during a checkpoint that may overtake batches
    requested         below the limit, whatever interval and pause say    during a savepoint, if it may overtake batches
    checkpoint
    periodic          an interval after the start of the previous one,    (as requested); with a pause, during any other
    checkpoint        a pause after the end of the last, below the limit

A savepoint never overtakes batches. During a checkpoint that overtakes, it would have to align channels that the
checkpoint does not align. With `forced`, limit and pause do not apply. Checkpoints that may overtake batches are
never forced: two of them at a time would each have to keep the data in flight for both.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, final

from headgate.checkpoint.coordination.pending import PendingCheckpoint
from headgate.checkpoint.coordination.vocabulary import CheckpointRequest, CheckpointSettings

REQUESTS_MAX: Final = 1000
"""The greatest number of requests that wait for their turn. Further requests are refused."""

NOW: Final = float("-inf")
"""A time that has passed, whatever the clock says."""


@final
class RequestQueue:
    """The requests that wait for their turn. Owned by the coordinator."""

    def __init__(self) -> None:
        self._waiting: list[CheckpointRequest] = []

    @property
    def first(self) -> CheckpointRequest | None:
        """The request whose turn is next."""
        return min(self._waiting, key=lambda request: request.savepoint is None, default=None)

    @property
    def stopping(self) -> CheckpointRequest | None:
        """The oldest request to stop the job."""
        return next((request for request in self._waiting if request.stops), None)

    def add(self, request: CheckpointRequest) -> bool:
        """Add a request. Return False, and add nothing, when too many wait."""
        if len(self._waiting) >= REQUESTS_MAX:
            return False
        self._waiting.append(request)
        return True

    def take(self, request: CheckpointRequest) -> None:
        """Remove the request: its turn has come."""
        self._waiting.remove(request)

    def take_all(self) -> list[CheckpointRequest]:
        """Remove all requests and return them, oldest first."""
        waiting, self._waiting = self._waiting, []
        return waiting


@final
class CheckpointSchedule:
    """When the next checkpoint may start. Owned by the coordinator."""

    def __init__(self, settings: CheckpointSettings) -> None:
        self._interval_ms = settings.interval_ms
        self._min_pause_ms = settings.min_pause_ms
        self._overtakes = settings.unaligned_after_ms is not None
        self._forced = settings.forced and not self._overtakes
        self._max_concurrent = settings.max_concurrent
        self._periodic_ms: float | None = None
        self._last_end_ms: float | None = None

    def begin(self, now_ms: float) -> None:
        """Begin an attempt: the interval runs from now, and no pause."""
        self._last_end_ms = None
        self.started(now_ms)

    def started(self, now_ms: float) -> None:
        """Note that a checkpoint starts: the interval runs from now."""
        self._periodic_ms = None if self._interval_ms is None else now_ms + self._interval_ms

    def ended(self, now_ms: float) -> None:
        """Note that a checkpoint or savepoint is complete or given up: the pause runs from now."""
        self._last_end_ms = now_ms

    def due_ms(self, first: CheckpointRequest | None, pending: Collection[PendingCheckpoint]) -> float | None:
        """Return when the checkpoint of the `first` request may start, without a request the periodic checkpoint.

        None: not before another event.
        """
        if first is not None:
            return NOW if self._has_room(first, pending) else None
        if self._periodic_ms is None or not self._has_room_for_checkpoint(pending, self._periodic_max()):
            return None
        if self._last_end_ms is None or self._forced:
            return self._periodic_ms
        return max(self._periodic_ms, self._last_end_ms + self._min_pause_ms)

    def _periodic_max(self) -> int:
        return 1 if self._min_pause_ms else self._max_concurrent

    def _has_room(self, request: CheckpointRequest, pending: Collection[PendingCheckpoint]) -> bool:
        if request.savepoint is not None:
            return not self._overtakes or all(each.savepoint is not None or each.final for each in pending)
        return self._has_room_for_checkpoint(pending, self._max_concurrent)

    def _has_room_for_checkpoint(self, pending: Collection[PendingCheckpoint], concurrent_max: int) -> bool:
        if self._overtakes and any(each.savepoint is not None for each in pending):
            return False
        return self._forced or len(pending) < concurrent_max
