"""The asyncio loop of operators: the thread of the slot's loop steps it, a little at a time.

    loop = SteppedLoop(clock)
    loop.create_task(ask_service())
    loop.step()  # the coroutine has run up to where it waits; loop.wake_ms says when to step again

So coroutines never run at the same time as operators, and nothing needs a lock. The loop's time is the injected clock.
"""

from __future__ import annotations

import asyncio
import logging
import selectors
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final, TypeVar, TypeVarTuple, final

from headgate.clock import Clock

_log = logging.getLogger(__name__)

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

ROUNDS_MAX: Final = 8
"""Rounds of one step. A round runs each callback once that was ready at its beginning."""
STEP_MS: Final = 4.0
"""Milliseconds after which a step begins no further round."""
END_S_MAX: Final = 2.0
"""Seconds that `call_and_wait` waits for the created tasks, such as the closing of a client."""
_PAUSE_S: Final = 0.05
_DIGITS: Final = 6
"""Decimal digits of times in milliseconds: rounding hides floating-point errors, which would fire a timer early."""


@final
class _Poll(selectors.DefaultSelector):
    """A selector that stops its loop when nothing is ready, or after the rounds of a step."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.rounds_left = 0
        self.until_ms = 0.0
        self.wait_s = 0.0
        """Seconds that the next poll may wait for a file or socket."""
        self.stop: Callable[[], None]
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Poll. `timeout` is the time until the loop's next callback: 0 if one is ready, None without a timer."""
        wait_s = self.wait_s if timeout is None else min(timeout, self.wait_s)
        self.rounds_left -= 1
        is_idle = timeout != 0
        self.wait_s = 0.0  # one wait a step: coroutines may have changed what the host waits for
        events = super().select(wait_s)
        is_over = self.rounds_left <= 0 or self._clock.monotonic_ms() > self.until_ms
        if is_over or (is_idle and not events):
            self.stop()
        return events


@final
class SteppedLoop(asyncio.SelectorEventLoop):
    """An asyncio loop that runs only while it is stepped. Owned by one thread.

    >>> from headgate.clock import VirtualClock
    >>> clock = VirtualClock()
    >>> loop = SteppedLoop(clock)
    >>> nap = loop.create_task(asyncio.sleep(0.5, "slept"))
    >>> loop.step()
    >>> nap.done(), loop.wake_ms
    (False, 500.0)
    >>> clock.advance(500)
    >>> loop.step()
    >>> nap.result()
    'slept'
    >>> loop.end()
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.poll = _Poll(clock)
        """Becomes readable when a file or socket is ready that a coroutine waits for. An idle host watches it."""
        self.poll.stop = self.stop
        self._on_threads = 0
        super().__init__(self.poll)

    def time(self) -> float:
        return self.clock.monotonic_ms() / 1000.0

    @property
    def wake_ms(self) -> float | None:
        """When to step again, in monotonic milliseconds; None: when `poll` is readable or a task is added."""
        if self._ready:  # type: ignore[attr-defined]  # asyncio has no public method for this
            return self.clock.monotonic_ms()
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        return round(timers[0].when() * 1000.0, _DIGITS) if timers else None

    @property
    def is_ready(self) -> bool:
        """Whether a step would run something, even if `poll` is not readable."""
        return self.wake_ms is not None and self.wake_ms <= self.clock.monotonic_ms()

    def step(self, wait_s: float = 0.0) -> None:
        """Run ready coroutines, for a few rounds at most. If none is ready, block for at most `wait_s` first."""
        self.poll.rounds_left = ROUNDS_MAX
        self.poll.wait_s = wait_s
        self.poll.until_ms = self.clock.monotonic_ms() + wait_s * 1000.0 + STEP_MS
        _with_running_loop(None, self.run_forever)  # which sets itself, and refuses to run inside another loop

    def last_step(self, wait_s: float = 0.0) -> None:
        """Do as `step` does after the attempt has ended: a SystemExit in a coroutine is logged and ends nothing."""
        try:
            self.step(wait_s)
        except SystemExit:
            _log.exception("a coroutine that ends with its attempt has asked for the end of the process")

    def call(self, work: Callable[[], T]) -> T:
        """Call `work` with this loop as the running loop, which `asyncio.get_running_loop()` then returns."""
        return _with_running_loop(self, work)

    def call_and_wait(self, work: Callable[[], None]) -> None:
        """Do as `call` does, then block until the tasks that `work` created are done, for at most `END_S_MAX`."""
        others = asyncio.all_tasks(self)
        self.call(work)
        created = asyncio.all_tasks(self) - others
        until_s = time.monotonic() + END_S_MAX
        self.last_step()
        time_passes = True
        while not all(task.done() for task in created) and self._may_go_on(time_passes):
            before_ms = self.clock.monotonic_ms()
            self.last_step(_PAUSE_S)
            time_passes = self.clock.monotonic_ms() > before_ms
            if time.monotonic() > until_s:
                return

    def _may_go_on(self, time_passes: bool) -> bool:
        """Return whether coroutines are ready, or will be by a timer, a socket or a thread."""
        has_timer = time_passes and self.wake_ms is not None
        return self.is_ready or has_timer or self._has_sockets or self._on_threads > 0

    @property
    def _has_sockets(self) -> bool:
        """Whether a coroutine waits for a socket: more sockets are registered than the loop's own."""
        return len(self.poll.get_map()) > 1

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self._on_threads += 1
        future.add_done_callback(self._left_thread)
        return future

    def _left_thread(self, _future: asyncio.Future[T]) -> None:
        self._on_threads -= 1

    def end(self) -> None:
        """Cancel all remaining tasks, and close the loop."""
        for _ in range(2):  # callbacks of the first step may create further tasks
            for task in asyncio.all_tasks(self):
                task.cancel()
            self.last_step()
        self.close()


def _with_running_loop(loop: asyncio.AbstractEventLoop | None, work: Callable[[], T]) -> T:
    """Call `work` with this running loop. The caller may run in a loop of its own, as a cell of a notebook does.

    The caller's task is not the current task meanwhile: from Python 3.14 on, a thread has only one.
    """
    outer = asyncio._get_running_loop()
    task = None if outer is None or outer is loop else asyncio.current_task(outer)
    if outer is not None and task is not None:
        asyncio._leave_task(outer, task)
    asyncio._set_running_loop(loop)
    try:
        return work()
    finally:
        asyncio._set_running_loop(outer)
        if outer is not None and task is not None:
            asyncio._enter_task(outer, task)
