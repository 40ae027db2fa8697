"""Sorts rows in columns: by event time up to the watermark, or all rows of a batch job at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Barrier, Batch
from headgate.operators.base import Operator, OperatorContext, OperatorSnapshot
from headgate.operators.columns.calc import columns_of
from headgate.operators.columns.keys import check_times, sortable
from headgate.operators.out_of_order import LATE_RECORDS
from headgate.state.operator.list_elements import ListElements
from headgate.types.arrow import of_stream, stream_of

Key = tuple[int, bool, bool]
"""The position of a column to sort by, whether the order is descending, and whether NULL comes first."""

WAITING_STATE: Final = "waiting"
EMITTED_STATE: Final = "emitted"


@final
@dataclass(frozen=True, slots=True)
class SortFactory:
    """Makes a `SortOperator`, which one subtask runs.

    `schema` has the columns of `output`, and further columns to sort by. With `timed`, the first key is the event time.
    """

    schema: pa.Schema
    output: pa.Schema
    keys: Sequence[Key]
    timed: bool

    def create(self) -> SortOperator:
        return SortOperator(self)


@final
class SortOperator(Operator):
    """Emits rows in an order when the watermark passes their event time, or unless `timed` when the input ends.

    A row that comes after its time was emitted is counted and dropped. The state has the rows that wait, as bytes of
    Arrow IPC streams, and the time up to which rows were emitted.
    """

    def __init__(self, factory: SortFactory) -> None:
        self._schema = factory.schema
        self._output = factory.output
        self._keys = factory.keys
        self._time = factory.keys[0][0] if factory.timed else None

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._late = context.metrics.counter(LATE_RECORDS)
        self._waiting = [of_stream(own)[0] for own in context.restored.values(WAITING_STATE)]
        self._emitted_ms = max(context.restored.values(EMITTED_STATE), default=MIN_TIMESTAMP)
        self._earliest_ms = min((self._least_ms(own) for own in self._waiting), default=MAX_TIMESTAMP)
        self._ready = pa.Table.from_batches([], self._schema)

    def process(self, batch: Batch) -> Batch:
        columns = columns_of(batch, self._schema)
        if self._time is not None:
            columns = self._in_time(columns, self._time)
        if columns.num_rows:
            self._waiting.append(columns)
            self._earliest_ms = min(self._earliest_ms, self._least_ms(columns))
        return Batch([])

    def _in_time(self, columns: pa.RecordBatch, time: int) -> pa.RecordBatch:
        own = columns.column(time)
        check_times(own, columns.select(range(len(self._output))), "sort()")
        kept = columns.filter(pc.greater(own.cast(pa.int64()), self._emitted_ms))
        self._late.inc(columns.num_rows - kept.num_rows)
        return kept

    def _least_ms(self, columns: pa.RecordBatch) -> int:
        """Return the first time at which rows of a batch can be emitted."""
        if self._time is None:
            return MAX_TIMESTAMP
        least: int = pc.min(columns.column(self._time).cast(pa.int64())).as_py()
        return least

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        if not self._ready.num_rows:
            self._emitted_ms = max(watermark_ms, self._emitted_ms)
            if not self._waiting or self._earliest_ms > watermark_ms:
                return None
            self._ready = self._sorted(watermark_ms)
        piece, self._ready = self._ready.slice(0, records_max), self._ready.slice(records_max)
        columns = [column.combine_chunks() for column in piece.columns[: len(self._output)]]
        return Batch.of_arrow(pa.RecordBatch.from_arrays(columns, schema=self._output))

    def _sorted(self, watermark_ms: int) -> pa.Table:
        """Return the rows up to a watermark in their order; the others wait."""
        rows = pa.Table.from_batches(self._waiting, self._schema).combine_chunks()
        self._waiting, self._earliest_ms = [], MAX_TIMESTAMP
        if self._time is not None:
            is_due = pc.less_equal(rows.column(self._time).cast(pa.int64()), watermark_ms)
            for batch in rows.filter(pc.invert(is_due)).combine_chunks().to_batches():
                self._waiting.append(batch)
                self._earliest_ms = min(self._earliest_ms, self._least_ms(batch))
            rows = rows.filter(is_due)
        by: dict[str, pa.ChunkedArray] = {}
        order: list[tuple[str, str]] = []
        for number, (place, descending, nulls_first) in enumerate(self._keys):
            column = rows.column(place).combine_chunks()
            by[f"null{number}"], by[f"value{number}"] = column.is_null(), sortable(column)
            order.append((f"null{number}", "descending" if nulls_first else "ascending"))
            order.append((f"value{number}", "descending" if descending else "ascending"))
        return rows.take(pc.sort_indices(pa.table(by), order))

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        whole = pa.Table.from_batches(self._waiting, self._schema).combine_chunks()
        waiting = [stream_of(batch, None) for batch in whole.to_batches()]
        lists = {WAITING_STATE: ListElements.of(waiting), EMITTED_STATE: ListElements.of([self._emitted_ms])}
        return OperatorSnapshot(uid=self.context.uid, lists=lists)
