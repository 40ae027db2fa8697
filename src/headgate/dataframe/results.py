"""The results of a job, as the program receives them: record batches, rows and dicts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar, final

import pyarrow as pa

from headgate.columns.python_values import rows_of
from headgate.dataframe.frame import translation_of
from headgate.dataframe.planner.logical import Relation
from headgate.errors import JobCancelledError
from headgate.table.table_environment import TableEnvironment
from headgate.types.arrow import of_stream
from headgate.types.row import Row

T = TypeVar("T")


@final
class CloseableResults(Generic[T]):
    """Iterates over the results of a running job. As a context manager it is closed at the end of the `with` block.

    `next` blocks until there is a result, and raises JobFailedError if the job failed. The iterator closes itself after
    the last result and after an error.
    """

    def __init__(self, batches: JobBatches, results: Iterator[T]) -> None:
        """Made by the methods of a DataFrame."""
        self._batches = batches
        self._results = results

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        if self._batches.closed:
            raise StopIteration
        try:
            return next(self._results)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Cancel the job if it still runs, and block until it has ended. May be called again."""
        self._batches.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


@final
class JobBatches:
    """Runs a plan as a job, and iterates over its record batches.

    With `timeout_s`, the job is cancelled after that many seconds, and the iteration then ends.
    """

    def __init__(self, plan: Relation, environment: TableEnvironment, timeout_s: float | None = None) -> None:
        self.closed = False
        self._zone = environment.get_config().get_local_timezone()
        self._job, self._records = translation_of([plan], environment).collect(plan)
        self._late = threading.Event()
        self._timer = None if timeout_s is None else threading.Timer(timeout_s, self._end)
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def _end(self) -> None:
        self._late.set()
        self._job.cancel()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for stream in self._records:
                yield of_stream(stream)[0]
        except JobCancelledError:
            if not self._late.is_set():
                raise

    def rows(self) -> Iterator[Row]:
        """Iterate over the rows. Points in time are datetimes in the session's zone."""
        for batch in self:
            yield from rows_of(batch, self._zone)

    def dicts(self, kind_field: str | None) -> Iterator[dict[str, Any]]:
        """Iterate over the rows as dicts, with the kind of the row as a last field unless its name is None."""
        for row in self.rows():
            fields = row.as_dict()
            if kind_field is not None:
                fields[kind_field] = "+I"
            yield fields

    def close(self) -> None:
        """Cancel the job if it still runs, and block until it has ended. May be called again."""
        if self._timer is not None:
            self._timer.cancel()
        self.closed = True
        self._records.close()


FORMATS: Final = ("pandas", "pyarrow")


def rebatched(batches: Iterator[pa.RecordBatch], rows: int, schema: pa.Schema) -> Iterator[pa.Table]:
    """Return tables of exactly `rows` rows; the last may have fewer."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        while count >= rows:
            table = pa.Table.from_batches(waiting, schema)
            yield table.slice(0, rows)
            waiting = table.slice(rows).to_batches()
            count -= rows
    if count:
        yield pa.Table.from_batches(waiting, schema)
