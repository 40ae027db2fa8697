"""The clocks that idle timeouts are measured by: of time in which records could have come.

A stream is not idle while its records could not have been taken: because nothing behind it has room, because the slot
is at other work, or because its source is paused.
"""

from __future__ import annotations

from typing import Protocol, final

from headgate.operators.services import Services


class InputClock(Protocol):
    """Runs at the pace of the monotonic clock, or stands."""

    @property
    def stands(self) -> bool:
        """Whether it may stand just now."""
        ...

    def read(self) -> float:
        """Return its time in milliseconds, from whatever beginning."""
        ...


@final
class InputOfChannels:
    """For what comes over channels: stands while the subtask is held back."""

    stands = False

    def __init__(self, services: Services) -> None:
        self._services = services

    def read(self) -> float:
        return self._services.clock.monotonic_ms() - self._services.held_back_ms()


@final
class InputOfReader:
    """For what a source reads: runs from when the reader had nothing until it is to be polled again.

    What else lies between two polls counts in one go, at the second one, and at most `piece_ms_max` of it, so that with
    one long piece of work no time passes for splits that were not asked: after records, the time in which the subtask
    was not held back; after nothing, the time that the poll came too late, if it gives nothing either.
    """

    def __init__(self, services: Services, piece_ms_max: float) -> None:
        self._services = services
        self._piece_ms_max = piece_ms_max
        self._read_ms = 0.0
        self._polled_ms = services.clock.monotonic_ms()
        self._held_ms = 0.0
        self._runs_until_ms: float | None = self._polled_ms
        """When it stops by itself; None while it stands because there were records."""
        self._is_stopped = True
        """Whether it stops sooner than the reader has said."""
        self._late_ms = 0.0

    def polled(self) -> None:
        """The reader is polled now."""
        now_ms = self._services.clock.monotonic_ms()
        held_ms = self._services.held_back_ms()
        self._late_ms = 0.0
        if self._runs_until_ms is None:
            self._read_ms += self._part(now_ms - self._polled_ms - (held_ms - self._held_ms))
        else:
            self._read_ms = self.read()
            if not self._is_stopped:
                self._late_ms = self._part(now_ms - self._runs_until_ms)
        self._polled_ms, self._held_ms, self._runs_until_ms, self._is_stopped = now_ms, held_ms, None, False

    def _part(self, ms: float) -> float:
        return min(max(0.0, ms), self._piece_ms_max)

    def had_nothing(self, until_ms: float) -> None:
        """The reader had nothing when it was polled, and is to be polled again at that time."""
        self._read_ms += self._late_ms
        self._runs_until_ms = until_ms

    def paused(self) -> None:
        """The reader is not polled, though it may have something."""
        self.polled()
        self._runs_until_ms, self._is_stopped = self._polled_ms, True

    def woken(self) -> None:
        """The reader has something."""
        if self._runs_until_ms is not None:
            self._runs_until_ms = min(self._services.clock.monotonic_ms(), self._runs_until_ms)
            self._is_stopped = True

    @property
    def stands(self) -> bool:
        return self._runs_until_ms is None or self._runs_until_ms <= self._services.clock.monotonic_ms()

    def read(self) -> float:
        if self._runs_until_ms is None:
            return self._read_ms
        return self._read_ms + max(0.0, min(self._services.clock.monotonic_ms(), self._runs_until_ms) - self._polled_ms)
