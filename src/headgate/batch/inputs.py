"""The input of a task: the rows of other tasks, the columns of a DataFrame, or a source."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import pyarrow as pa

from headgate.batch.column_of import taken
from headgate.batch.rows import INPUT, KEY, TIME, decoded, runs
from headgate.connectors.files.spark_parquet import fitted
from headgate.elements import Batch
from headgate.errors import ProgramError
from headgate.functions.source import EndOfInput, NotReady
from headgate.operators.base import Operator
from headgate.operators.keys import KeySelection
from headgate.types.arrow import rows_from_batch
from headgate.types.typed_key import typed

_WAIT_S_MAX = 1.0


def _go_on() -> None:
    """Do nothing: the task continues."""


@final
@dataclass(frozen=True, slots=True)
class SortedBy:
    """The columns by which a DataFrame is sorted: the column of the key, and the column of the time if there is one.

    The DataFrame has another column `_key`, 32 bits of a hash of the key, by which it is sorted first. Rows of several
    keys with the same hash come together, sorted by time, and these keys end together. `assign` is the timestamp
    assigner.
    """

    key: str
    time: str | None = None
    assign: Callable[[Any], Any] | None = None


@final
@dataclass(frozen=True, slots=True)
class TaskInput:
    """How a task reads its input. `schema` is the schema of a DataFrame, None for rows of tasks or for a source.

    `sorted_by` is the order of the DataFrame, None if it is not sorted. The task calls `check` before each batch, and
    while it waits for a source. An error of `check` ends the task.
    """

    schema: pa.Schema | None = None
    sorted_by: SortedBy | None = None
    check: Callable[[], None] = _go_on

    def runs(self, rows: pa.RecordBatch) -> Iterator[tuple[int, Any, Batch]]:
        """Yield the index of the input, the sort value of the key (None: no key), and the records with both."""
        self.check()
        if self.schema is None:
            for run in runs(rows, (INPUT, KEY, TIME)):
                yield run.column(INPUT)[0].as_py(), run.column(KEY)[0].as_py(), decoded(run)
        elif self.sorted_by is None:
            yield 0, None, Batch.of_arrow(fitted(rows, self.schema))
        else:
            yield from _sorted_runs(rows.column(KEY), fitted(rows.drop_columns([KEY]), self.schema), self.sorted_by)

    def keys(self, selection: KeySelection, batch: Batch) -> list[Any]:
        """Return the keys of records of one run. Raises `UserCodeError`, ProgramError."""
        if self.sorted_by is None:
            return selection.keys(batch)
        return [typed(taken(selection.select, "key selector", batch, self.sorted_by.key))] * len(batch)

    def polled(self, source: Operator, records_max: Callable[[], int]) -> Iterator[Batch]:
        """Yield the batches of a source until it ends. Blocks while the source has no records."""
        while not isinstance(polled := source.poll(records_max()), EndOfInput):
            self.check()
            if isinstance(polled, Batch):
                yield polled
            elif not source.woken:
                time.sleep(max(0.0, min(_WAIT_S_MAX, _seconds_to(polled, source))))


def _sorted_runs(places: pa.Array, rows: pa.RecordBatch, order: SortedBy) -> Iterator[tuple[int, Any, Batch]]:
    records = Batch(rows_from_batch(rows), None if order.time is None else _times(rows.column(order.time), order.time))
    keys = pa.RecordBatch.from_arrays([places, rows.column(order.key)], [KEY, order.key])
    start = 0
    for run in runs(keys, (KEY, order.key)):  # a null key separates its rows from other rows, as any key does
        stop = start + run.num_rows
        batch = records.piece(start, stop)
        if order.assign is not None and order.time is not None:
            taken(order.assign, "timestamp assigner", batch, order.time)
        yield 0, run.column(0)[0].as_py(), batch
        start = stop


def _seconds_to(pause: NotReady, source: Operator) -> float:
    return (pause.wake_ms - source.context.services.clock.monotonic_ms()) / 1000.0


def _times(column: pa.Array, name: str) -> list[int]:
    if column.null_count:
        raise ProgramError(
            f"column {name!r}, which the timestamp assigner takes, is null in some rows: filter them out before "
            "assign_timestamps_and_watermarks(), or give them a time"
        )
    return column.to_pylist()  # type: ignore[no-any-return]  # whole numbers


@final
class FrameHead(Operator):
    """Replaces the source operator, and emits the rows unchanged."""

    def process(self, batch: Batch) -> Batch:
        return batch


@final
@dataclass(frozen=True, slots=True)
class FrameHeadFactory:
    """Makes a `FrameHead`."""

    def create(self) -> FrameHead:
        return FrameHead()
