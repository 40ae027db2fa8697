"""What a task reads: the rows of other tasks, the columns of a DataFrame, or a source."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import pyarrow as pa

from headgate.batch.key_column import taken
from headgate.batch.rows import INPUT, KEY, TIME, decoded, runs
from headgate.connectors.files.spark_parquet import fitted
from headgate.elements import Batch
from headgate.functions.source import EndOfInput, NotReady
from headgate.operators.source import SourceOperator
from headgate.runtime.exchange.partition import select_keys
from headgate.types.arrow import rows_from_batch

_WAIT_S_MAX = 1.0


def _go_on() -> None:
    """Let the task go on."""


@final
@dataclass(frozen=True, slots=True)
class TaskInput:
    """How to read. `schema` is that of a DataFrame, None: there are rows of tasks, or none.

    `key_column` is the column that the DataFrame is sorted by, None: it is not. `check` is called before each batch,
    and while a source is waited for; what it raises ends the task.
    """

    schema: pa.Schema | None = None
    key_column: str | None = None
    check: Callable[[], None] = _go_on

    def runs(self, rows: pa.RecordBatch) -> Iterator[tuple[int, Any, Batch]]:
        """Yield the input, what the key is sorted by (None: no key), and records that have these in common."""
        self.check()
        if self.schema is None:
            for run in runs(rows, (INPUT, KEY, TIME)):
                yield run.column(INPUT)[0].as_py(), run.column(KEY)[0].as_py(), decoded(run)
        else:
            yield from self._runs_of_columns(fitted(rows, self.schema))

    def _runs_of_columns(self, rows: pa.RecordBatch) -> Iterator[tuple[int, Any, Batch]]:
        records = rows_from_batch(rows)
        if self.key_column is None:
            yield 0, None, Batch(records)
            return
        start = 0
        for run in runs(rows, (self.key_column,)):
            yield 0, run.column(self.key_column)[0].as_py(), Batch(records[start : start + run.num_rows])
            start += run.num_rows

    def keys(self, select: Callable[[Any], Any], records: list[Any]) -> list[Any]:
        """Return the keys of records of one run. Raises `UserCodeError`, ProgramError."""
        if self.key_column is None:
            return select_keys(select, records)
        return taken(select, records, self.key_column)

    def polled(self, source: SourceOperator, records_max: Callable[[], int]) -> Iterator[Batch]:
        """Yield what a source has, to its end. Blocks while it has nothing."""
        while not isinstance(polled := source.poll(records_max()), EndOfInput):
            self.check()
            if isinstance(polled, Batch):
                yield polled
            elif not source.woken:
                time.sleep(max(0.0, min(_WAIT_S_MAX, _seconds_to(polled, source))))
            source.woken = False


def _seconds_to(pause: NotReady, source: SourceOperator) -> float:
    return (pause.wake_ms - source.context.services.clock.monotonic_ms()) / 1000.0
