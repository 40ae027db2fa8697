"""The handle of a running job, and what a deployment is: a place that runs jobs and hands out handles."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any, Protocol

from headgate.elements import SavepointFormat
from headgate.graph.job_graph import JobGraph
from headgate.ids import JobId
from headgate.job_status import JobStatus
from headgate.runtime.monitoring.outcome import JobOutcome


class JobHandle(Protocol):
    """One submitted job. All methods may be called from any thread, also after the job has ended."""

    @property
    def job_id(self) -> JobId:
        """The job's id."""
        ...

    def status(self) -> JobStatus:
        """Return where the job is now. Does not block."""
        ...

    def counters(self) -> dict[str, int]:
        """Return the counters of the newest attempt so far, by name. Does not block."""
        ...

    def cancel(self) -> None:
        """Order the job to end without finishing its input. Does not block; `wait` tells when it has ended."""
        ...

    def trigger_checkpoint(self) -> Future[str]:
        """Take a checkpoint now. Does not block.

        The future has the location of the complete checkpoint, or raises CheckpointError that says why there is none.
        """
        ...

    def trigger_savepoint(self, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        """Take a savepoint in a new folder below the target; None: the option execution.checkpointing.savepoint-dir.

        Does not block. The future has the savepoint's location, or raises CheckpointError that says why there is none;
        ConfigError when no folder is named.
        """
        ...

    def stop_with_savepoint(self, drain: bool, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        """Take a savepoint, and end the job with it. Otherwise as `trigger_savepoint`.

        `drain`: the input ends first, so that all timers fire and nothing is left to do. The future has the location
        when all is committed and the job has finished. If there is no savepoint the job goes on; if there is one but
        the job fails before it has committed what the savepoint holds, the error names it.
        """
        ...

    def wait(self, timeout_s: float | None = None) -> JobOutcome | None:
        """Block until the job has ended and holds no process, port or temporary file; return how it ended.

        Return None when it has not ended after `timeout_s` seconds.
        """
        ...

    def line(self) -> str | None:
        """Return what the job does at the moment in one line, None for nothing to show. Does not block."""
        ...

    def page_address(self, *, framed: bool) -> str | None:
        """Return an address that shows the job in one browser, once; None when it has no page. Does not block.

        `framed`: the page is shown in a frame of another site, such as a notebook.
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
        """The parallelism of operators when none is set."""
        ...

    def submit(self, job: JobGraph) -> JobHandle:
        """Start the job and return without waiting for it. Raises EnvironmentFault when it cannot run there."""
        ...

    def submit_batch(self, job: JobGraph) -> JobHandle:
        """Start a job in BATCH mode, else as `submit`."""
        ...
