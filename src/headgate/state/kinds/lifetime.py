"""Time to live, as a handle applies it. `forms` describes what is stored, docs/guides/state.md the rules.

Reading removes what has expired. It is returned all the same, this once, where the configuration says so.
"""

from __future__ import annotations

from typing import Any, Protocol, final

from headgate.clock import Clock
from headgate.state.keyed.ttl_cleanup import IncrementalCleanup
from headgate.state.kinds.forms import Stamped
from headgate.state.ttl import StateTtlConfig


class StampedHandle(Protocol):
    """A handle whose column holds one value with its time."""

    def stored(self) -> Stamped | None:
        """Return what the column holds for the current key."""
        ...

    def store(self, stored: Stamped | None) -> None:
        """Set what the column holds for the current key; None clears it."""
        ...

    def clear(self) -> None:
        """Remove what the current key has."""
        ...


@final
class Lifetime:
    """The rules of one state's time to live, with the clock that counts."""

    __slots__ = ("_clock", "cleanup", "refreshes", "returns_expired", "ttl_ms")

    def __init__(self, config: StateTtlConfig, clock: Clock, cleanup: IncrementalCleanup | None) -> None:
        self._clock = clock
        self.cleanup = cleanup
        self.ttl_ms = config.get_ttl().to_milliseconds()
        self.refreshes = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        """Whether reading counts as an access."""
        self.returns_expired = (
            config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        )

    def access(self) -> int:
        """Return the time of an access that begins now, after cleaning up a little elsewhere."""
        now_ms = self._clock.wall_ms()
        if self.cleanup is not None:
            self.cleanup.advance(now_ms)
        return now_ms

    def usable(self, stored: Stamped | None, now_ms: int) -> Any | None:
        """Return the value, None when there is none or it is not to be seen any more."""
        if stored is None or (stored[0] <= now_ms - self.ttl_ms and not self.returns_expired):
            return None
        return stored[1]

    def read(self, handle: StampedHandle) -> Any | None:
        """Return the value that the column of a handle holds for the current key, or remove it."""
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
