"""Waiting for the end of a job: its outcome, or the error to raise in the program. Ctrl-C cancels the job.

After a Ctrl-C, one line on standard error reports how the job ended, and Python shows no traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, TextIO, final

from headgate.errors import HeadgateError, InternalError, JobCancelledError, JobFailedError, JobSuspendedError
from headgate.job_status import JobStatus

if TYPE_CHECKING:
    from headgate.deploy.handles.handle import JobHandle
    from headgate.runtime.monitoring.outcome import JobOutcome

_Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


def wait_for(job: JobHandle, terminal: TextIO | None = None) -> JobOutcome:
    """Block until the job has ended; return its outcome. A line on `terminal`, if given, shows the job's progress."""
    if terminal is None:
        outcome = job.wait()
    else:
        from headgate.deploy.handles.status_line import wait_with_line  # noqa: PLC0415  # it loads the whole runtime

        outcome = wait_with_line(job, terminal)
    if outcome is None:
        raise InternalError(f"waiting for job {job.job_id} without limit ended before the job did")
    return outcome


def failure_of(outcome: JobOutcome) -> HeadgateError | None:
    """Return the error to raise for the outcome of a job; None if the job finished."""
    if outcome.status is JobStatus.FINISHED:
        return None
    if outcome.status is JobStatus.CANCELED:
        return JobCancelledError(f"job {outcome.job_id} was cancelled")
    if outcome.status is JobStatus.SUSPENDED:
        return JobSuspendedError(f"job {outcome.job_id} is suspended: {outcome.cause}")
    return JobFailedError(f"job {outcome.job_id} failed: {outcome.cause}")


@final
class _Reported(str):
    """The text of an interrupt that has been reported to the user."""

    __slots__ = ()


def interrupted(job: JobHandle) -> KeyboardInterrupt:
    """Cancel the job, and report on standard error how the job ended and from where it can be resumed.

    Blocks until the job has ended. Returns the interrupt to raise, which the program may catch. If the program does not
    catch it, Python exits with code 130, as for every interrupt, but shows no traceback.
    """
    job.cancel()
    try:
        report = wait_for(job).in_a_line()
    except KeyboardInterrupt:
        report = f"job {job.job_id} was left before it had ended, as a second interrupt came"
    except Exception as error:  # noqa: BLE001  # the deployment of the job has failed
        report = f"job {job.job_id} has failed: {error}"
    return _report(report)


def interrupted_early() -> KeyboardInterrupt:
    """Report on standard error that no job has begun. Returns the interrupt to raise, as `interrupted` does."""
    return _report("interrupted before the job had begun")


def _report(report: str) -> KeyboardInterrupt:
    print(f"headgate: {report}", file=sys.stderr, flush=True)
    if not isinstance(sys.excepthook, _WithoutReported):
        sys.excepthook = _WithoutReported(sys.excepthook)
    return KeyboardInterrupt(_Reported(report))


def is_reported(error: BaseException | None) -> bool:
    """Return whether the error is an interrupt that has been reported to the user."""
    return isinstance(error, KeyboardInterrupt) and bool(error.args) and isinstance(error.args[0], _Reported)


@final
class _WithoutReported:
    """A `sys.excepthook` that calls the previous hook, except for interrupts that have been reported."""

    def __init__(self, before: _Hook) -> None:
        self._before = before

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not is_reported(error):
            self._before(kind, error, trace)
