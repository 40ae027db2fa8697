"""The iterator that `execute_and_collect` returns."""

from __future__ import annotations

from types import TracebackType
from typing import Any, final

from headgate.common.wait import failure_of, interrupted, wait_for
from headgate.deploy.handles.handle import JobHandle


@final
class CloseableIterator:
    """Iterator over the records of a running job. As a context manager it is closed at the end of the `with` block.

    `next` blocks until a record arrives. It raises JobFailedError if the job failed, JobCancelledError if the job was
    cancelled. An interrupt (Ctrl-C) cancels the job.

    >>> from headgate.common import Configuration
    >>> from headgate.datastream import StreamExecutionEnvironment
    >>> in_this_process = Configuration().set_string("headgate.deploy.target", "minicluster")
    >>> env = StreamExecutionEnvironment.get_execution_environment(in_this_process)
    >>> with env.from_collection(range(1000)).execute_and_collect() as records:
    ...     next(records), next(records)
    (0, 1)
    """

    def __init__(self, job: JobHandle) -> None:
        self._job = job
        self._results = job.results()
        self._closed = False

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Any:
        if self._closed:
            raise StopIteration
        try:
            for record in self._results:
                return record
            self._closed = True
            outcome = wait_for(self._job)
        except KeyboardInterrupt:
            self._closed = True
            raise interrupted(self._job) from None
        raise failure_of(outcome) or StopIteration

    def next(self) -> Any:
        """Return the next record, as `next(iterator)` does. Raises StopIteration after the last."""
        return next(self)

    def close(self) -> None:
        """Cancel the job if it still runs, and block until the job has ended. May be called twice."""
        if not self._closed:
            self._closed = True
            self._job.cancel()
        self._job.wait()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
