"""SIGTERM: the jobs of this process are suspended in order, then the process ends as it would have without them.

A handler is there while a job runs that the main thread has started: Python allows no other thread to set one. What the
handler does is done on a thread of its own, since the main thread may hold any lock while it is interrupted.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final, Protocol, final

EXIT_CODE: Final = 128 + signal.SIGTERM
END_S_MAX: Final = 5.0
"""How long jobs may take to end after their last checkpoint."""

_Handler = Callable[[int, FrameType | None], object]


class Suspendable(Protocol):
    """A job of this process."""

    @property
    def grace_s(self) -> float:
        """How long it may take to its last checkpoint."""
        ...

    def suspend(self) -> None:
        """Order it to leave itself to a later driver. Does not block."""
        ...

    def farewell(self) -> str:
        """Block until it has ended; return how, for people."""
        ...


@final
class Termination:
    """What SIGTERM does while jobs run. One for the process."""

    def __init__(self) -> None:
        self._jobs: list[Suspendable] = []
        self._before: _Handler | signal.Handlers = signal.SIG_DFL

    def began(self, job: Suspendable) -> None:
        """Have SIGTERM suspend this job, too, if this is the main thread. Who has SIGTERM ignored keeps that."""
        if threading.current_thread() is not threading.main_thread():
            return
        self._jobs.append(job)
        before = signal.getsignal(signal.SIGTERM)
        if before not in (self._on_signal, signal.SIG_IGN, None):
            self._before = before  # type: ignore[assignment]  # a handler, or the default one: no other number is left
            signal.signal(signal.SIGTERM, self._on_signal)

    def ended(self, job: Suspendable) -> None:
        """Forget a job. Called from any thread; the handler before comes back with the next `restore`."""
        if job in self._jobs:
            self._jobs.remove(job)

    def restore(self) -> None:
        """Bring back the handler before if no job runs any more, and this is the main thread."""
        if self._jobs or threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) == self._on_signal:  # else the program has set its own meanwhile
            signal.signal(signal.SIGTERM, self._before)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends the process at once
        before, jobs = self._before, list(self._jobs)
        self._suspend(jobs)
        if callable(before):
            signal.signal(signal.SIGTERM, before)
            before(number, frame)
        elif jobs:
            sys.exit(EXIT_CODE)
        else:
            signal.raise_signal(signal.SIGTERM)

    def _suspend(self, jobs: list[Suspendable]) -> None:
        if not jobs:
            return
        threads = [threading.Thread(target=_suspend, args=(job,), daemon=True) for job in jobs]
        for thread in threads:
            thread.start()
        due_s = time.monotonic() + max(job.grace_s for job in jobs) + END_S_MAX
        for thread in threads:
            thread.join(max(0.0, due_s - time.monotonic()))


def _suspend(job: Suspendable) -> None:
    job.suspend()
    print(f"headgate: {job.farewell()}", file=sys.stderr, flush=True)


TERMINATION: Final = Termination()
"""That of this process."""
