"""I/O threads: run blocking work for a loop, and return the results to it."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol, TypeVar, final

T = TypeVar("T")

CLOSE_S_MAX: Final = 5.0
"""Seconds that `ThreadIo.close` waits for all `submit_waiting` work together."""


class Io(Protocol):
    """Runs blocking work on an I/O thread. The loop itself calls back with the results."""

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` on an I/O thread, then have the loop call `done` with its result or exception. Does not block."""
        ...


class WaitingIo(Io, Protocol):
    """An `Io` that also runs work that mostly waits for other systems."""

    def submit_waiting(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run work that may wait for long, such as a fetch from a broker, as `submit` does. It delays no other work."""
        ...


@final
class ThreadIo:
    """Runs work on a few threads. The loop calls `deliver` in each step to take the results.

    Work of `submit_waiting` has further threads, one for each piece of work at a time.

    A worker thread calls `wake` when a result is ready, to wake an idle loop. The threads are daemons and not those of
    `concurrent.futures`, which take no more work when the program ends: a running job must still end in order then.
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
        """Call back with all results that are ready; return whether there were any."""
        some = False
        while not self._results.empty():
            self._results.get()()
            some = True
        return some

    def close(self) -> None:
        """Drop work that has not begun, and wait for the work that has. Blocks.

        Work of `submit_waiting` is begun in any case, because it may release other systems. It may wait forever, so
        this method waits for it no longer than `CLOSE_S_MAX`.
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
