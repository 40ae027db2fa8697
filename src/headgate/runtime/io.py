"""The port through which a loop has work done beside it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, final

T = TypeVar("T")


class Io(Protocol):
    """Runs blocking work beside the loop; results come back to the loop as calls made by the loop itself."""

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` elsewhere, then have the loop call `done` with its result or its exception. Does not block."""
        ...


@final
class ThreadIo:
    """Work runs on a few threads; the loop calls `deliver` in each step to take the results.

    `wake` is called from the worker thread when a result is there, so that an idle loop looks. The threads are daemons
    of our own: those of `concurrent.futures` take no more work once the program has come to its end, when a job that it
    has left running is still to be ended in good order.
    """

    def __init__(self, threads: int, name: str, wake: Callable[[], None]) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._wake = wake
        self._closed = False
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        def run() -> None:
            try:
                result: Any = work()
            except BaseException as error:
                result = error
            self._results.put(lambda: done(result))
            self._wake()

        self._work.put(run)

    def deliver(self) -> bool:
        """Call back with every result that is there; return whether there was one."""
        some = False
        while not self._results.empty():
            self._results.get()()
            some = True
        return some

    def close(self) -> None:
        """Forget work that has not begun and wait for the work that has."""
        self._closed = True
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (run := self._work.get()) is not None:
            if not self._closed:
                run()
