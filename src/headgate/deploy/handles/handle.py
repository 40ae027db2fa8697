"""The interfaces of a submitted job (`JobHandle`) and of a place that runs jobs (`Deployment`)."""

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
    """A submitted job. All methods may be called from any thread, also after the job has ended."""

    @property
    def job_id(self) -> JobId:
        """The job's id."""
        ...

    def status(self) -> JobStatus:
        """Return the status of the job. Does not block."""
        ...

    def counters(self) -> dict[str, int]:
        """Return the current counters of the newest attempt, by name. Does not block."""
        ...

    def cancel(self) -> None:
        """Cancel the job: it ends without reading the rest of its input.

        Does not block; `wait` returns when it has ended.
        """
        ...

    def trigger_checkpoint(self) -> Future[str]:
        """Take a checkpoint now. Does not block.

        The future's result is the location of the checkpoint. It raises CheckpointError if the checkpoint fails.
        """
        ...

    def trigger_savepoint(self, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        """Take a savepoint in a new folder below the target directory. Does not block.

        Without a target directory, the option execution.checkpointing.savepoint-dir names it. The future's result is
        the location of the savepoint. It raises CheckpointError if the savepoint fails, ConfigError if neither the
        argument nor the option names a directory.
        """
        ...

    def stop_with_savepoint(self, drain: bool, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        """Take a savepoint and end the job. Arguments and errors are those of `trigger_savepoint`.

        With `drain`, the input ends before the savepoint, so that all timers fire. The future completes when all
        results are committed and the job has finished. If the savepoint fails, the job continues. If the job fails
        between the savepoint and its commit, the error names the savepoint.
        """
        ...

    def wait(self, timeout_s: float | None = None) -> JobOutcome | None:
        """Block until the job has ended and has released its processes, ports and temporary files. Return its outcome.

        Return None if the job has not ended after `timeout_s` seconds.
        """
        ...

    def line(self) -> str | None:
        """Return the status line of the job, None if there is nothing to show. Does not block."""
        ...

    def page_address(self, *, framed: bool) -> str | None:
        """Return a URL that logs one browser in to the page of the job, once. None without a page. Does not block.

        With `framed`, the page may be shown in a frame of another site, such as a notebook.
        """
        ...

    def results(self) -> Iterator[Any]:
        """Return an iterator over the records of the job's collect operator. It returns each record once.

        `next` blocks until there is a record or the job has ended. It raises no error if the job fails.
        """
        ...


class Deployment(Protocol):
    """A place that runs jobs: the Spark session, or this process."""

    def submit(self, job: JobGraph) -> JobHandle:
        """Start the job; do not wait for its end. Raises EnvironmentFault if the job cannot run in this deployment."""
        ...

    def submit_batch(self, job: JobGraph) -> JobHandle:
        """Start a job in BATCH mode. Otherwise the same as `submit`."""
        ...
