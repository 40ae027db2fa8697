"""The time to live of state, as handles apply it. `forms` describes the stored content, docs/guides/state.md the rules.

A read removes an expired value. If the configuration allows it, this read still returns the value.
"""

from __future__ import annotations

from typing import Any, final

from headgate.clock import Clock
from headgate.state.keyed.ttl_cleanup import IncrementalCleanup
from headgate.state.kinds.forms import Stamped
from headgate.state.kinds.handle import SingleHandle
from headgate.state.ttl import StateTtlConfig


@final
class Lifetime:
    """The rules of the time to live of one state, with the clock that measures it."""

    __slots__ = ("_clock", "cleanup", "refreshes", "returns_expired", "ttl_ms")

    def __init__(self, config: StateTtlConfig, clock: Clock, cleanup: IncrementalCleanup | None) -> None:
        self._clock = clock
        self.cleanup = cleanup
        self.ttl_ms = config.get_ttl().to_milliseconds()
        self.refreshes = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        """Whether a read resets the time of the last access."""
        self.returns_expired = (
            config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        )

    def access(self) -> int:
        """Clean up a few other keys, and return the time of the access that begins now."""
        now_ms = self._clock.wall_ms()
        if self.cleanup is not None:
            self.cleanup.advance(now_ms)
        return now_ms

    def usable(self, stored: Stamped | None, now_ms: int) -> Any | None:
        """Return the value. Return None if there is none, or if it has expired and may not be returned."""
        if stored is None or (stored[0] <= now_ms - self.ttl_ms and not self.returns_expired):
            return None
        return stored[1]

    def read(self, handle: SingleHandle) -> Any | None:
        """Return the value of the current key from the column of `handle`. Remove the value if it has expired."""
        now_ms = self.access()
        stored = handle.stored()
        if stored is None:
            return None
        if stored[0] <= now_ms - self.ttl_ms:
            handle.clear()
            return stored[1] if self.returns_expired else None
        if self.refreshes:
            handle.store((now_ms, stored[1]))
        return stored[1]
