"""The port through which a loop has work done beside it."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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

    `wake` is called from the worker thread when a result is there, so that an idle loop looks.
    """

    def __init__(self, threads: int, name: str, wake: Callable[[], None]) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._results: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._wake = wake

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        def run() -> None:
            try:
                result: Any = work()
            except BaseException as error:
                result = error
            self._results.put(lambda: done(result))
            self._wake()

        self._pool.submit(run)

    def deliver(self) -> bool:
        """Call back with every result that is there; return whether there was one."""
        some = False
        while not self._results.empty():
            self._results.get()()
            some = True
        return some

    def close(self) -> None:
        """Forget work that has not begun and wait for the work that has."""
        self._pool.shutdown(wait=True, cancel_futures=True)
