"""The live line: what a job does, on the terminal of a program that waits for its end."""

from __future__ import annotations

import shutil
from typing import Final, Protocol, TextIO

from headgate.runtime.monitoring.outcome import JobOutcome

SHOW_EVERY_S: Final = 0.5
_ERASE: Final = "\r\x1b[2K"


class Watched(Protocol):
    """A job that can tell what it does."""

    def wait(self, timeout_s: float | None = None) -> JobOutcome | None:
        """Block until the job has ended, or the time is over; return how it ended, None if it has not."""
        ...

    def line(self) -> str | None:
        """Return what the job does in one line, None for nothing to show."""
        ...


def wait_with_line(job: Watched, terminal: TextIO) -> JobOutcome:
    """Block until the job has ended, and keep a line on the terminal up to date; return how it ended.

    The line is erased in the end, also when the wait is interrupted.
    """
    try:
        while (outcome := job.wait(SHOW_EVERY_S)) is None:
            line = job.line()
            if line is not None:
                terminal.write(f"{_ERASE}{line[: shutil.get_terminal_size().columns - 1]}")
                terminal.flush()
        return outcome
    finally:
        terminal.write(_ERASE)
        terminal.flush()
