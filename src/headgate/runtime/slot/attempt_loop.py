"""The asyncio loop for the coroutines of one attempt's operators. The slot's loop steps it, and is woken by it."""

from __future__ import annotations

from selectors import EVENT_READ
from typing import final

from headgate.clock import Clock
from headgate.operators.stepped_loop import SteppedLoop
from headgate.runtime.wire.poller import Watch


@final
class AttemptLoop:
    """The asyncio loop of one attempt, made for the first operator that needs it. Owned by the slot's loop."""

    def __init__(self, clock: Clock, watch: Watch) -> None:
        self._clock = clock
        self._watch = watch
        self._is_watched = False
        self._loop: SteppedLoop | None = None

    def get(self) -> SteppedLoop:
        """Return the loop; make it at the first call."""
        if self._loop is None:
            self._loop = SteppedLoop(self._clock)
        return self._loop

    def step(self) -> None:
        """Run coroutines for a few rounds. Raises exceptions of tasks that end a loop, such as SystemExit."""
        if self._loop is not None:
            self._loop.step()
            if not self._is_watched:
                self._is_watched = True
                self._watch(self._loop.poll, EVENT_READ, self._woken)

    def _woken(self, _events: int) -> None:
        """End the watch: the host is awake, and the next step begins a new watch."""
        self._unwatch()

    def _unwatch(self) -> None:
        if self._is_watched and self._loop is not None:
            self._is_watched = False
            self._watch(self._loop.poll, 0, self._woken)

    @property
    def is_ready(self) -> bool:
        """Whether a coroutine can continue now."""
        return self._loop is not None and self._loop.is_ready

    @property
    def wake_ms(self) -> float | None:
        """When a coroutine can continue, on the monotonic clock; None when this is not known."""
        return None if self._loop is None else self._loop.wake_ms

    def end(self) -> None:
        """Cancel the remaining tasks and drop the loop: the attempt has ended."""
        self._unwatch()
        if self._loop is not None:
            loop, self._loop = self._loop, None
            loop.end()
