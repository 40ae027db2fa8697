"""SIGTERM: the process suspends its jobs, then ends as it would have without jobs.

The signal handler is installed while a job runs that the main thread has started: Python lets only the main thread
install handlers. The handler suspends jobs on other threads, since the interrupted main thread may hold any lock.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from headgate.deploy.handles.running_job import RunningJob

EXIT_CODE: Final = 128 + signal.SIGTERM
END_S_MAX: Final = 5.0
"""Seconds in which jobs must end after their last checkpoint."""

_Handler = Callable[[int, FrameType | None], object]


@final
class Termination:
    """The SIGTERM handler of a process, and the jobs that it suspends."""

    def __init__(self) -> None:
        self._jobs: list[RunningJob] = []
        self._before: _Handler | signal.Handlers = signal.SIG_DFL

    def began(self, job: RunningJob) -> None:
        """Suspend this job on SIGTERM, if this is the main thread.

        A process that ignores SIGTERM continues to ignore it.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        self._jobs.append(job)
        before = signal.getsignal(signal.SIGTERM)
        if before not in (self._on_signal, signal.SIG_IGN, None):
            self._before = before  # type: ignore[assignment]  # a handler or SIG_DFL: other values are excluded above
            signal.signal(signal.SIGTERM, self._on_signal)

    def ended(self, job: RunningJob) -> None:
        """Remove a job. May be called from any thread; the next `restore` reinstalls the previous handler."""
        if job in self._jobs:
            self._jobs.remove(job)

    def restore(self) -> None:
        """Reinstall the previous handler, if no job runs and this is the main thread."""
        if self._jobs or threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) == self._on_signal:  # else the program has installed another handler
            signal.signal(signal.SIGTERM, self._before)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second SIGTERM ends the process at once
        before, jobs = self._before, list(self._jobs)
        self._suspend(jobs)
        if callable(before):
            signal.signal(signal.SIGTERM, before)
            before(number, frame)
        elif jobs:
            sys.exit(EXIT_CODE)
        else:
            signal.raise_signal(signal.SIGTERM)

    def _suspend(self, jobs: list[RunningJob]) -> None:
        if not jobs:
            return
        threads = [threading.Thread(target=_suspend, args=(job,), daemon=True) for job in jobs]
        for thread in threads:
            thread.start()
        due_s = time.monotonic() + max(job.grace_s for job in jobs) + END_S_MAX
        for thread in threads:
            thread.join(max(0.0, due_s - time.monotonic()))


def _suspend(job: RunningJob) -> None:
    job.suspend()
    print(f"headgate: {job.farewell()}", file=sys.stderr, flush=True)


TERMINATION: Final = Termination()
"""The handler of this process."""
