"""Clocks, injected wherever time is read.

Intervals are measured on the monotonic clock, timestamps are read from the wall clock, which may step backwards.
"""

from __future__ import annotations

import time
from typing import Protocol, final


class Clock(Protocol):
    """Source of time, in milliseconds."""

    def monotonic_ms(self) -> float:
        """Return a time that never goes backwards; only differences have a meaning."""
        ...

    def wall_ms(self) -> int:
        """Return milliseconds since the Unix epoch."""
        ...


@final
class SystemClock:
    """The machine's clocks."""

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000.0

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000


@final
class VirtualClock:
    """A clock that moves only when told to; for tests and the simulator.

    >>> clock = VirtualClock()
    >>> clock.advance(5)
    >>> clock.monotonic_ms()
    5.0
    """

    __slots__ = ("_now_ms",)

    def __init__(self, start_ms: float = 0.0) -> None:
        self._now_ms = start_ms

    def monotonic_ms(self) -> float:
        return self._now_ms

    def wall_ms(self) -> int:
        return int(self._now_ms)

    def advance(self, by_ms: float) -> None:
        """Move the clock forward by `by_ms`. Raises ValueError for a negative step."""
        if by_ms < 0:
            raise ValueError(f"a virtual clock only moves forward, not by {by_ms} ms")
        self._now_ms += by_ms

    def advance_to(self, now_ms: float) -> None:
        """Move the clock to `now_ms`, if that is later than now."""
        self._now_ms = max(self._now_ms, now_ms)
