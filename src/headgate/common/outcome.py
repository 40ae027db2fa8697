"""Waits for the end of a job, and returns its result or the exception to raise in the user's program."""

from __future__ import annotations

from typing import TextIO

from headgate.deploy.handles.handle import JobHandle
from headgate.deploy.handles.live_line import wait_with_line
from headgate.errors import HeadgateError, InternalError, JobCancelledError, JobFailedError, JobSuspendedError
from headgate.job_status import JobStatus
from headgate.runtime.monitoring.outcome import JobOutcome


def wait_for(job: JobHandle, terminal: TextIO | None = None) -> JobOutcome:
    """Block until the job has ended; return its outcome. A line on `terminal`, if given, shows the job's progress."""
    outcome = job.wait() if terminal is None else wait_with_line(job, terminal)
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
