"""What the REST interface needs of a job."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from enum import Enum
from typing import Protocol

from headgate.elements import SavepointFormat
from headgate.graph.job_graph import JobGraph
from headgate.ids import JobId
from headgate.operators.sampler import Sample
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
        """What is known of the job at the moment."""
        ...

    def status(self) -> Enum:
        """Return where the job is in its life; the name is Flink's."""
        ...

    def ending(self) -> JobOutcome | None:
        """Return how the job ended, None while it goes on. Known a moment before `status` says it."""
        ...

    def cancel(self) -> None:
        """Order the job to end without finishing its input."""
        ...

    def trigger_checkpoint(self) -> Future[str]:
        """Order a checkpoint; the future's result is its location."""
        ...

    def trigger_savepoint(self, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        """Order a savepoint, below the directory or the configured one; the future's result is its location."""
        ...

    def rescale(self, bounds: Bounds) -> Future[str]:
        """Order another parallelism; the future is done when the job runs so, or raises why it does not."""
        ...

    def tap(self, uid: str, see: Callable[[list[Sample]], None]) -> None:
        """Have `see` called with samples of what leaves an operator, on the job's thread, until `untap`."""
        ...

    def untap(self, uid: str, see: Callable[[list[Sample]], None]) -> None:
        """Have it called no more, except for samples that are under way."""
        ...

    def stop_with_savepoint(self, drain: bool, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        """Order the job to finish with a savepoint; the future's result is its location, once the job has ended."""
        ...
