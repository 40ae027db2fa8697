"""The poller: one selector for all sockets of a loop, polled by the loop's own thread.

Sockets are polled on the mailbox loop instead of by a thread of their own, because a second Python thread gets the GIL
only every 5 ms while user code computes (figures in docs/internals/decisions/0001-network-transport.md).
"""

from __future__ import annotations

import heapq
import itertools
import select
import selectors
import socket
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, final

from headgate.clock import Clock, SystemClock

SELECTED_FILES: Final = 1024
"""`select.select` takes only file descriptors below this number, FD_SETSIZE."""


class Pollable(Protocol):
    """A socket, or anything else that a selector takes."""

    def fileno(self) -> int:
        """Return the file descriptor, negative once the object is closed."""
        ...

    def close(self) -> object:
        """Close the file."""
        ...


ReadyHandler = Callable[[int], None]
"""Called with the mask of `selectors.EVENT_READ` and `EVENT_WRITE` that are ready."""

Watch = Callable[[Pollable, int, ReadyHandler], None]
"""The signature of `Poller.watch`: calls the handler while a file is ready for some events; zero events end that."""


@final
class Deadline:
    """A function that `Poller` runs at a time, unless it is cancelled before."""

    __slots__ = ("run",)

    def __init__(self, run: Callable[[], None]) -> None:
        self.run: Callable[[], None] | None = run

    def cancel(self) -> None:
        """Cancel the run. Does nothing if it has run already."""
        self.run = None


@final
class Poller:
    """Runs the handlers of ready sockets, due deadlines and postponed work. Owned by one thread.

    Only `wake` may be called from other threads. `poll` raises the exceptions of handlers.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._selector = selectors.DefaultSelector()
        self._waits_exactly = self._selector.fileno() < SELECTED_FILES
        self._soon: deque[Callable[[], None]] = deque()
        self._deadlines: list[tuple[float, int, Deadline]] = []
        self._order = itertools.count()
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake_out.setblocking(False)
        self._woken = False
        self._selector.register(self._wake_out, selectors.EVENT_READ, self._slept_enough)

    def poll(self, timeout_s: float) -> None:
        """Run all handlers that are ready. Block at most `timeout_s` seconds until one is. Zero never blocks."""
        if self._soon:
            timeout_s = 0.0
        elif self._deadlines:
            due_in_s = (self._deadlines[0][0] - self._clock.monotonic_ms()) / 1000.0
            timeout_s = max(0.0, min(timeout_s, due_in_s))
        if timeout_s > 0.0 and self._waits_exactly:
            # A wait of epoll is rounded up to whole milliseconds: what is due in 0.1 ms would be nearly 1 ms late.
            select.select((self._selector,), (), (), timeout_s)
            timeout_s = 0.0
        for key, events in self._selector.select(timeout_s):
            # An earlier handler of this poll may have closed this socket.
            if key.fileobj.fileno() >= 0:  # type: ignore[union-attr]
                key.data(events)
        if self._soon:
            self._run_postponed()
        if self._deadlines:
            self._run_due()

    def wake(self) -> None:
        """Make a blocked `poll`, or the next one, return at once. May be called from any thread; never blocks."""
        if self._woken:
            return
        self._woken = True
        try:
            self._wake_in.send(b"\0")
        except OSError:
            # The buffer is full, so a wake-up is pending anyway; or the socket is closed, so the loop has ended.
            return

    def soon(self, run: Callable[[], None]) -> None:
        """Run `run` within the next `poll`, which then does not block."""
        self._soon.append(run)

    def after(self, delay_s: float, run: Callable[[], None]) -> Deadline:
        """Run `run` in the first `poll` that is `delay_s` seconds from now or later."""
        deadline = Deadline(run)
        due_ms = self._clock.monotonic_ms() + delay_s * 1000.0
        heapq.heappush(self._deadlines, (due_ms, next(self._order), deadline))
        return deadline

    def watch(self, sock: Pollable, events: int, handler: ReadyHandler) -> None:
        """Call `handler` in each `poll` in which `sock` is ready for one of `events`. Zero events end the watch."""
        known = sock in self._selector.get_map()
        if not events:
            if known:
                self._selector.unregister(sock)
        elif known:
            self._selector.modify(sock, events, handler)
        else:
            self._selector.register(sock, events, handler)

    def close(self) -> None:
        """Close the selector and all watched sockets. Postponed work is dropped."""
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()
        self._wake_in.close()
        self._soon.clear()
        self._deadlines.clear()

    def _slept_enough(self, _events: int) -> None:
        self._wake_out.recv(64)
        # Cleared after the read: a wake() between the two lines belongs to this poll, which is about to return.
        self._woken = False

    def _run_postponed(self) -> None:
        # Work that this work postpones waits for the next poll, so that each poll ends.
        for _ in range(len(self._soon)):
            self._soon.popleft()()

    def _run_due(self) -> None:
        now_ms = self._clock.monotonic_ms()
        while self._deadlines and (self._deadlines[0][0] <= now_ms or self._deadlines[0][2].run is None):
            deadline = heapq.heappop(self._deadlines)[2]
            if deadline.run is not None:
                deadline.run()
