"""Operators that change the number of rows, or their form: limits, collections with a row for each element, rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.lists import entries_of
from headgate.elements import MIN_TIMESTAMP, Barrier, Batch
from headgate.operators.base import Operator, OperatorContext, OperatorSnapshot
from headgate.operators.columns.calc import columns_of
from headgate.state.operator.list_elements import ListElements
from headgate.types.arrow import compacted, rows_from_batch

LIMIT_STATE: Final = "rows"


@final
class LimitOperator(Operator):
    """Skips `offset` rows, then emits `count` rows. Its state is the number of rows that have arrived."""

    def __init__(self, factory: LimitFactory) -> None:
        self._schema = factory.schema
        self._from = factory.offset
        self._to = None if factory.count is None else factory.offset + factory.count

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._arrived = sum(context.restored.values(LIMIT_STATE))

    def process(self, batch: Batch) -> Batch:
        columns = columns_of(batch, self._schema)
        start = max(self._from - self._arrived, 0)
        stop = columns.num_rows if self._to is None else min(self._to - self._arrived, columns.num_rows)
        self._arrived += columns.num_rows
        return Batch.of_arrow(compacted(columns.slice(start, stop - start))) if start < stop else Batch([])

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        return OperatorSnapshot(uid=self.context.uid, lists={LIMIT_STATE: ListElements.of([self._arrived])})


@final
@dataclass(frozen=True, slots=True)
class LimitFactory:
    """Makes a `LimitOperator`, which one subtask runs. `count` None means all rows after the first `offset`."""

    schema: pa.Schema
    offset: int
    count: int | None

    def create(self) -> LimitOperator:
        return LimitOperator(self)


@final
class ExpandOperator(Operator):
    """Emits a row for each element of the collection in the last column; the other columns are repeated."""

    def __init__(self, factory: ExpandFactory) -> None:
        self._input = factory.input
        self._output = factory.output
        self._outer = factory.outer

    def process(self, batch: Batch) -> Batch:
        columns = columns_of(batch, self._input)
        *others, collection = columns.columns
        lengths = pc.fill_null(_length(collection), 0).to_numpy(zero_copy_only=False)
        rows, elements = self._places(collection, lengths)
        if not len(rows):
            return Batch([])
        made = [own.take(rows) for own in others] + [own.take(elements) for own in _elements(collection)]
        cast = [own.cast(field.type) for own, field in zip(made, self._output, strict=True)]
        return Batch.of_arrow(pa.RecordBatch.from_arrays(cast, schema=self._output))

    def _places(self, collection: pa.Array, lengths: Any) -> tuple[pa.Array, pa.Array]:
        """Return the row and the element of each row to emit. The element is NULL for an empty collection."""
        if not self._outer or lengths.all():
            return pa.array(np.repeat(np.arange(len(lengths)), lengths)), pa.array(np.arange(lengths.sum()))
        counts = np.maximum(lengths, 1)
        rows = np.repeat(np.arange(len(lengths)), counts)
        is_empty = np.repeat(lengths == 0, counts)
        elements = np.cumsum(~is_empty) - 1
        return pa.array(rows), pa.array(elements, mask=is_empty)


def _length(collection: pa.Array) -> pa.Array:
    if isinstance(collection, pa.MapArray):
        return pc.list_value_length(entries_of(collection))
    return pc.list_value_length(collection)


def _elements(collection: pa.Array) -> list[pa.Array]:
    """Return the elements of all collections in order: one column, or keys and values of maps."""
    if isinstance(collection, pa.MapArray):
        entries = entries_of(collection).flatten()
        return [pc.struct_field(entries, 0), pc.struct_field(entries, 1)]
    return [collection.flatten()]


@final
@dataclass(frozen=True, slots=True)
class ExpandFactory:
    """Makes an `ExpandOperator`. `outer` keeps rows whose collection is empty or NULL."""

    input: pa.Schema
    output: pa.Schema
    outer: bool

    def create(self) -> ExpandOperator:
        return ExpandOperator(self)


@final
class EncodeOperator(Operator):
    """Turns each record batch into one record: the bytes of an Arrow IPC stream, for the program that collects."""

    def __init__(self, factory: EncodeFactory) -> None:
        self._schema = factory.schema

    def process(self, batch: Batch) -> Batch:
        return Batch([Batch.of_arrow(columns_of(batch, self._schema)).encode()])


@final
@dataclass(frozen=True, slots=True)
class EncodeFactory:
    """Makes an `EncodeOperator`."""

    schema: pa.Schema

    def create(self) -> EncodeOperator:
        return EncodeOperator(self)


@final
class RowsOperator(Operator):
    """Turns each record batch into rows, with the event times of a column as their timestamps."""

    def __init__(self, factory: RowsFactory) -> None:
        self._schema = factory.schema
        self._time = factory.time

    def process(self, batch: Batch) -> Batch:
        columns = columns_of(batch, self._schema)
        if self._time is None:
            return Batch(rows_from_batch(columns))
        times = pc.cast(
            columns.column(self._time), pa.timestamp("ms", self._schema.field(self._time).type.tz), safe=False
        )
        return Batch(rows_from_batch(columns), pc.fill_null(times.cast(pa.int64()), MIN_TIMESTAMP).to_pylist())


@final
@dataclass(frozen=True, slots=True)
class RowsFactory:
    """Makes a `RowsOperator`. `time` is the position of the column of event times, None if there is none."""

    schema: pa.Schema
    time: int | None

    def create(self) -> RowsOperator:
        return RowsOperator(self)
