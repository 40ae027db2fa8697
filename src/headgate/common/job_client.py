"""The client of a job that runs while the program goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from html import escape
from typing import TypeVar, final

from headgate import unsupported
from headgate.common.completable_future import CompletableFuture
from headgate.common.job_execution_result import JobExecutionResult
from headgate.common.job_id import JobID
from headgate.common.job_status import JobStatus
from headgate.common.outcome import failure_of, wait_for
from headgate.deploy.handles.handle import JobHandle
from headgate.elements import SavepointFormat

__all__ = ["JobClient"]

T = TypeVar("T")


@final
class JobClient:
    """Asks about one job, takes savepoints of it and ends it. No method blocks; `result()` of what they return may."""

    def __init__(self, job: JobHandle) -> None:
        self._job = job

    def get_job_id(self) -> JobID:
        """Return the job's id."""
        return JobID(self._job.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Return where the job is now."""
        return CompletableFuture.completed(self._job.status())

    def cancel(self) -> CompletableFuture[None]:
        """Order the job to end. The future is done when it has ended and released everything it held."""
        self._job.cancel()
        return _later(self._wait)

    def trigger_savepoint(
        self, savepoint_directory: str | None = None, format: SavepointFormat = SavepointFormat.CANONICAL
    ) -> CompletableFuture[str]:
        """Take a savepoint while the job runs on; its `result()` is the savepoint's location.

        It goes into a new folder below the directory, by default that of `execution.checkpointing.savepoint-dir`. The
        result raises CheckpointError, saying why, when there is none.

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
        """Take a savepoint and end the job with it; its `result()` is the savepoint's location, when the job has ended.

        With `advance_to_end_of_event_time` the input ends first: all windows and timers of event time fire, and a job
        that starts from the savepoint has nothing of them left. Otherwise as `trigger_savepoint`; when there is no
        savepoint the job goes on.
        """
        job = self._job

        def stop() -> str:
            location = job.stop_with_savepoint(advance_to_end_of_event_time, savepoint_directory, format).result()
            job.wait()
            return location

        return _later(stop)

    def cancel_with_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Older way to end a job: take a savepoint, then cancel. What came between the two is not committed.

        `stop_with_savepoint` leaves nothing between. When there is no savepoint the job goes on.
        """
        job = self._job

        def cancel() -> str:
            location = job.trigger_savepoint(savepoint_directory, SavepointFormat.CANONICAL).result()
            job.cancel()
            job.wait()
            return location

        return _later(cancel)

    def get_accumulators(self) -> CompletableFuture[dict[str, int]]:
        """Return the counters of the job's newest attempt so far, as `JobExecutionResult` has them at the end."""
        return CompletableFuture.completed(self._job.counters())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Return how the job ended, once it has; its `result()` raises JobFailedError or JobCancelledError."""
        return _later(self._result)

    def _repr_html_(self) -> str:
        """Show the page of the job when a notebook shows this object. Each frame has an address that works once."""
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
        except Exception as error:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(error)

    threading.Thread(target=run, name="headgate-job-client", daemon=True).start()
    return future


unsupported.guard(__name__, globals())
