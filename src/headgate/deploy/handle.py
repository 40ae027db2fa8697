"""The handle of a running job, and what a deployment is: a place that runs jobs and hands out handles."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, Protocol, final

from headgate.graph.physical import JobPlan
from headgate.ids import JobId
from headgate.runtime.master.outcome import JobOutcome


@final
class JobStatus(Enum):
    """Where a job is in its life, with Flink's names."""

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9


class JobHandle(Protocol):
    """One submitted job. All methods may be called from any thread, also after the job has ended."""

    @property
    def job_id(self) -> JobId:
        """The job's id."""
        ...

    def status(self) -> JobStatus:
        """Return where the job is now. Does not block."""
        ...

    def cancel(self) -> None:
        """Order the job to end without finishing its input. Does not block; `wait` tells when it has ended."""
        ...

    def wait(self, timeout_s: float | None = None) -> JobOutcome | None:
        """Block until the job has ended and holds no process, port or temporary file; return how it ended.

        Return None when it has not ended after `timeout_s` seconds.
        """
        ...

    def results(self) -> Iterator[Any]:
        """Return an iterator over the records that reached the job's collect operator, each once.

        Its `next` blocks until there is a record or the job has ended; it does not raise for a failed job.
        """
        ...


class Deployment(Protocol):
    """A place that runs jobs: the Spark session, or this process."""

    @property
    def default_parallelism(self) -> int:
        """The parallelism of operators when nobody sets one."""
        ...

    def submit(self, job: JobPlan) -> JobHandle:
        """Start the job and return without waiting for it. Raises EnvironmentFault when it cannot run there."""
        ...
