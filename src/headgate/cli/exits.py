"""Exit codes, and the error of a command that ends with one."""

from __future__ import annotations

from enum import IntEnum
from typing import final

from headgate.errors import HeadgateError


class ExitCode(IntEnum):
    """The exit codes of `headgate`. The program of `run` may end with other codes."""

    OK = 0
    FAILED = 1
    """Something went wrong; nothing below fits."""
    USAGE = 2
    """The command line is wrong."""
    NO_SUCH_JOB = 3
    """No job fits the id, prefix or name, or it has ended already."""
    UNREACHABLE = 4
    """The driver of the job is gone, or cannot be reached."""
    JOB_FAILED = 5
    """The job that `run` waited for has failed."""
    JOB_CANCELLED = 6
    """The job that `run` waited for was cancelled."""
    JOB_SUSPENDED = 7
    """The job that `run` waited for is suspended: it continues when the program is started again."""


@final
class CommandFailedError(HeadgateError):
    """A command has failed; the message says why, and what to do next."""

    def __init__(self, code: ExitCode, message: str) -> None:
        super().__init__(message)
        self.code = code
