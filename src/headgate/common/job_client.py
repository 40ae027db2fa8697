"""The client of a job that runs beside the program."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar, final

from headgate import unsupported
from headgate.common.completable_future import CompletableFuture
from headgate.common.job_execution_result import JobExecutionResult
from headgate.common.job_id import JobID
from headgate.common.job_status import JobStatus
from headgate.common.outcome import failure_of, wait_for
from headgate.deploy.handle import JobHandle

__all__ = ["JobClient"]

T = TypeVar("T")


@final
class JobClient:
    """Asks about and cancels one job. No method blocks; `result()` of what they return may."""

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

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Return how the job ended, once it has; its `result()` raises JobFailedError or JobCancelledError."""
        return _later(self._result)

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
