"""The port through which a loop has work done on I/O threads."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol, TypeVar, final

T = TypeVar("T")

CLOSE_S_MAX: Final = 5.0
"""How long the end of a program waits for work that itself waits for others, all of it together."""


class Io(Protocol):
    """Runs blocking work on an I/O thread; results come back to the loop as calls made by the loop itself."""

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` elsewhere, then have the loop call `done` with its result or its exception. Does not block."""
        ...


class WaitingIo(Io, Protocol):
    """An `Io` that also takes work which mostly waits for others."""

    def submit_waiting(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Do as `submit` does with work that may wait for long, such as a fetch from a broker: it holds up no other."""
        ...


@final
class ThreadIo:
    """Work runs on a few threads; the loop calls `deliver` in each step to take the results.

    Work that waits for others has further threads, as many as there is such work at a time.

    `wake` is called from the worker thread when a result is there, so that an idle loop looks. The threads are daemons
    of our own: those of `concurrent.futures` take no more work once the program has come to its end, when a job that it
    has left running is still to be ended in good order.
    """

    def __init__(self, threads: int, name: str, wake: Callable[[], None]) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._wake = wake
        self._closed = False
        self._name = name
        self._threads = [self._started(self._run) for _ in range(threads)]
        self._waiting_work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._waiting_threads: list[threading.Thread] = []
        self._free = 0
        self._counting_free = threading.Lock()

    def _started(self, run: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=run, name=self._name, daemon=True)
        thread.start()
        return thread

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self._work.put(self._delivering(work, done))

    def submit_waiting(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        with self._counting_free:
            some_free = self._free > 0
            self._free -= some_free
        if not some_free:
            self._waiting_threads.append(self._started(self._run_waiting))
        self._waiting_work.put(self._delivering(work, done))

    def _delivering(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                result: T | BaseException = work()
            except BaseException as error:
                result = error
            self._results.put(lambda: done(result))
            self._wake()

        return run

    def deliver(self) -> bool:
        """Call back with every result that is there; return whether there was one."""
        some = False
        while not self._results.empty():
            self._results.get()()
            some = True
        return some

    def close(self) -> None:
        """Forget work that has not begun and wait for the work that has.

        Work that waits for others is begun all the same, as it may be to let go of them; but it may wait for ever, and
        is itself waited for no longer than `CLOSE_S_MAX`.
        """
        self._closed = True
        for _ in self._threads:
            self._work.put(None)
        for _ in self._waiting_threads:
            self._waiting_work.put(None)
        for thread in self._threads:
            thread.join()
        until = time.monotonic() + CLOSE_S_MAX
        for thread in self._waiting_threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        while (run := self._work.get()) is not None:
            if not self._closed:
                run()

    def _run_waiting(self) -> None:
        while (run := self._waiting_work.get()) is not None:
            run()
            with self._counting_free:
                self._free += 1
