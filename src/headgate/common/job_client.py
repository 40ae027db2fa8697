"""The client of a job that runs in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, TypeVar, final

from headgate import unsupported
from headgate.common.completable_future import CompletableFuture
from headgate.common.job_execution_result import JobExecutionResult
from headgate.common.job_id import JobID
from headgate.common.job_status import JobStatus
from headgate.common.wait import failure_of, wait_for
from headgate.elements import SavepointFormat

if TYPE_CHECKING:
    from headgate.deploy.handles.handle import JobHandle

__all__ = ["JobClient"]

T = TypeVar("T")


@final
class JobClient:
    """Queries one job, takes savepoints of it and ends it. No method blocks; `result()` of a returned future may."""

    def __init__(self, job: JobHandle) -> None:
        self._job = job

    def get_job_id(self) -> JobID:
        """Return the job's id."""
        return JobID(self._job.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Return the current status of the job."""
        return CompletableFuture.completed(self._job.status())

    def cancel(self) -> CompletableFuture[None]:
        """Cancel the job. The future is done when the job has ended and released its resources."""
        self._job.cancel()
        return _later(self._wait)

    def trigger_savepoint(
        self, savepoint_directory: str | None = None, format: SavepointFormat = SavepointFormat.CANONICAL
    ) -> CompletableFuture[str]:
        """Take a savepoint while the job continues. The future's result is the savepoint's location.

        The savepoint is written to a new folder in the directory, by default `execution.checkpointing.savepoint-dir`.
        If the savepoint fails, `result()` raises CheckpointError with the reason.

        >>> location = client.trigger_savepoint("/data/savepoints").result()    # doctest: +SKIP
        """
        job = self._job
        return _later(lambda: job.trigger_savepoint(savepoint_directory, format).result())

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool,
        savepoint_directory: str | None = None,
        format: SavepointFormat = SavepointFormat.CANONICAL,
    ) -> CompletableFuture[str]:
        """Take a savepoint and end the job. When it has ended, the future's result is the savepoint's location.

        With `advance_to_end_of_event_time` the input ends first: all windows and timers of event time fire, so the
        savepoint does not contain them. If the savepoint fails, the job continues, and `result()` raises as for
        `trigger_savepoint`.
        """
        job = self._job

        def stop() -> str:
            location = job.stop_with_savepoint(advance_to_end_of_event_time, savepoint_directory, format).result()
            job.wait()
            return location

        return _later(stop)

    def cancel_with_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Take a savepoint, then cancel the job. Output between the two is not committed.

        Prefer `stop_with_savepoint`, which emits no records after the savepoint. If the savepoint fails, the job
        continues.
        """
        job = self._job

        def cancel() -> str:
            location = job.trigger_savepoint(savepoint_directory, SavepointFormat.CANONICAL).result()
            job.cancel()
            job.wait()
            return location

        return _later(cancel)

    def get_accumulators(self) -> CompletableFuture[dict[str, int]]:
        """Return the current counters of the job's newest attempt; `JobExecutionResult` has their final values."""
        return CompletableFuture.completed(self._job.counters())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Return a future of the job's result; `result()` raises JobFailedError or JobCancelledError."""
        return _later(self._result)

    def _repr_html_(self) -> str:
        """Return HTML that shows the job's page in a notebook. Each frame has an address that works once."""
        address = self._job.page_address(framed=True)
        if address is None:
            return f"<p>Job {self._job.job_id} is {self._job.status().name}, and has no page.</p>"
        return f'<iframe src="{escape(address)}" width="100%" height="640" style="border: 0"></iframe>'

    def _wait(self) -> None:
        self._job.wait()

    def _result(self) -> JobExecutionResult:
        result = wait_for(self._job)
        error = failure_of(result)
        if error is not None:
            raise error
        return JobExecutionResult(result)


def _later(work: Callable[[], T]) -> CompletableFuture[T]:
    future = CompletableFuture[T]()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 - `result()` raises the error
            future.set_exception(error)

    threading.Thread(target=run, name="headgate-job-client", daemon=True).start()
    return future


unsupported.guard(__name__, globals())
