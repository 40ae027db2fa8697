"""The view of a job that the REST interface needs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from enum import Enum
from typing import Protocol

from headgate.elements import SavepointFormat
from headgate.graph.job_graph import JobGraph
from headgate.ids import JobId
from headgate.operators.samples import Sample
from headgate.runtime.master.rescales import Bounds
from headgate.runtime.monitoring.outcome import JobOutcome
from headgate.runtime.monitoring.progress import JobProgress


class JobView(Protocol):
    """One job of this process. All methods may be called from any thread, and none blocks."""

    @property
    def job_id(self) -> JobId:
        """The job's id."""
        ...

    @property
    def plan(self) -> JobGraph:
        """The job's plan."""
        ...

    @property
    def progress(self) -> JobProgress:
        """The current progress of the job."""
        ...

    def status(self) -> Enum:
        """Return the status of the job, with Flink's name."""
        ...

    def ending(self) -> JobOutcome | None:
        """Return the outcome of the job, None while it runs. It is available a moment before `status` changes."""
        ...

    def cancel(self) -> None:
        """Request that the job ends without finishing its input."""
        ...

    def trigger_checkpoint(self) -> Future[str]:
        """Request a checkpoint; the future's result is the checkpoint's location."""
        ...

    def trigger_savepoint(self, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        """Request a savepoint in the given or the configured directory; the future's result is its location."""
        ...

    def rescale(self, bounds: Bounds) -> Future[str]:
        """Request a rescale; the future is done when the job runs at the new parallelism, or raises the error."""
        ...

    def tap(self, uid: str, see: Callable[[list[Sample]], None]) -> None:
        """Call `see`, on the job's thread, with samples of an operator's output, until `untap`."""
        ...

    def untap(self, uid: str, see: Callable[[list[Sample]], None]) -> None:
        """Stop calling `see`; samples that are in transit may still arrive."""
        ...

    def stop_with_savepoint(self, drain: bool, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        """Request a stop with a savepoint; when the job has ended, the future's result is the savepoint's location."""
        ...
