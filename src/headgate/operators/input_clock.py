"""Clocks for idle timeouts: they run only while records could arrive.

A stream is not idle while its records could not be taken: because downstream operators have no room, because the slot
does other work, or because its source is paused.
"""

from __future__ import annotations

from typing import Protocol, final

from headgate.operators.services import Services


class InputClock(Protocol):
    """A clock that runs at the pace of the monotonic clock, or stands still."""

    @property
    def stands(self) -> bool:
        """Whether the clock may be standing still now."""
        ...

    def read(self) -> float:
        """Return the clock's time in milliseconds, from an arbitrary start."""
        ...


@final
class InputOfChannels:
    """The clock of input channels: it stands still while the subtask is held back."""

    stands = False

    def __init__(self, services: Services) -> None:
        self._services = services

    def read(self) -> float:
        return self._services.clock.monotonic_ms() - self._services.held_back_ms()


@final
class InputOfReader:
    """The clock of a source's reader: it runs while the reader has no records, until the next poll is due.

    A poll also adds time for which the clock stood still since the previous poll, at most `piece_ms_max`. So a long
    piece of work makes no split idle that could not be polled. If the previous poll had records, the time in which the
    subtask was not held back is added. If it had none, the delay of this poll is added, unless this poll has records.
    """

    def __init__(self, services: Services, piece_ms_max: float) -> None:
        self._services = services
        self._piece_ms_max = piece_ms_max
        self._read_ms = 0.0
        self._polled_ms = services.clock.monotonic_ms()
        self._held_ms = 0.0
        self._runs_until_ms: float | None = self._polled_ms
        """When the clock stops; None while it stands still because the last poll returned records."""
        self._is_stopped = True
        """Whether the clock stops before the time that the reader asked to be polled at."""
        self._late_ms = 0.0

    def polled(self) -> None:
        """Note that the reader is polled now."""
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
        """Note that the poll returned no records, and that the next poll is due at `until_ms`."""
        self._read_ms += self._late_ms
        self._runs_until_ms = until_ms

    def paused(self) -> None:
        """Note that the reader is paused: it is not polled, though it may have records."""
        self.polled()
        self._runs_until_ms, self._is_stopped = self._polled_ms, True

    def woken(self) -> None:
        """Note that the reader has records."""
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
