"""The asyncio loop of the operators of one attempt in a slot: stepped by the slot's loop, which it wakes."""

from __future__ import annotations

from selectors import EVENT_READ
from typing import final

from headgate.clock import Clock
from headgate.operators.stepped_loop import SteppedLoop
from headgate.runtime.wire.poller import Watch


@final
class AttemptLoop:
    """The loop, from the time when the first operator asks for it. Owned by the slot's loop."""

    def __init__(self, clock: Clock, watch: Watch) -> None:
        self._clock = clock
        self._watch = watch
        self._is_watched = False
        self._loop: SteppedLoop | None = None

    def get(self) -> SteppedLoop:
        """Return the loop, which is made if there is none yet."""
        if self._loop is None:
            self._loop = SteppedLoop(self._clock)
        return self._loop

    def step(self) -> None:
        """Let coroutines go on for a few rounds. Raises what a task raises that ends its loop, such as SystemExit."""
        if self._loop is not None:
            self._loop.step()
            if not self._is_watched:
                self._is_watched = True
                self._watch(self._loop.poll, EVENT_READ, self._woken)

    def _woken(self, _events: int) -> None:
        """The host is awake: there is no more to be told before the next step."""
        self._unwatch()

    def _unwatch(self) -> None:
        if self._is_watched and self._loop is not None:
            self._is_watched = False
            self._watch(self._loop.poll, 0, self._woken)

    @property
    def is_ready(self) -> bool:
        """Whether coroutines can go on."""
        return self._loop is not None and self._loop.is_ready

    @property
    def wake_ms(self) -> float | None:
        """When coroutines can go on, None when that is not known."""
        return None if self._loop is None else self._loop.wake_ms

    def end(self) -> None:
        """Cancel what is left, and forget the loop: the attempt is over."""
        self._unwatch()
        if self._loop is not None:
            loop, self._loop = self._loop, None
            loop.end()
