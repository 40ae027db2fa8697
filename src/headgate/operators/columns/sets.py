"""Set operations: how often a row is in each input is counted, and what remains is emitted when the input has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.elements import MAX_TIMESTAMP, Batch
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.base import Operator
from headgate.operators.columns.calc import columns_of
from headgate.operators.columns.keys import groupable, keys_of, rows_of
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types

Values = tuple[Any, ...]

Counted = tuple[Any, Values, tuple[int, int]]
"""A key, the values of its row, and how often the row is in the left and in the right input."""

TIMES: Final[dict[str, Callable[[int, int], int]]] = {
    "intersect": lambda left, right: min(left, right, 1),
    "intersect_all": min,
    "minus": lambda left, right: int(left > 0 and not right),
    "minus_all": lambda left, right: max(left - right, 0),
}
"""For each operation: how often it emits a row that is so often in the left and in the right input."""


@final
class CountedRowsOperator(Operator):
    """Emits each different row of a batch once, with its counts. The last column tells the side of a row."""

    def __init__(self, factory: CountedRowsFactory) -> None:
        self._schema = factory.schema

    def process(self, batch: Batch) -> Batch:
        columns = columns_of(batch, self._schema)
        table = {str(place): groupable(column) for place, column in enumerate(columns.columns)}
        numbers = pa.array(range(columns.num_rows), pa.int64())
        grouped = pa.table({**table, "row": numbers}).group_by(list(table), use_threads=False)
        found = grouped.aggregate([("row", "min"), ("row", "count")]).sort_by("row_min")
        first = columns.take(found.column("row_min").combine_chunks())
        *own, sides = first.columns
        keys = keys_of([groupable(column) for column in own], first.num_rows)
        counts = found.column("row_count")
        left, right = pc.if_else(sides, 0, counts).to_pylist(), pc.if_else(sides, counts, 0).to_pylist()
        return Batch(list(zip(keys, rows_of(own, first.num_rows), zip(left, right, strict=True), strict=True)))


@final
@dataclass(frozen=True, slots=True)
class CountedRowsFactory:
    """Makes a `CountedRowsOperator`."""

    schema: pa.Schema

    def create(self) -> CountedRowsOperator:
        return CountedRowsOperator(self)


@final
class Remaining(KeyedProcessFunction):
    """Emits a row as often as a set operation has it, when the input has ended."""

    def __init__(self, how: str) -> None:
        self._how = how

    def open(self, runtime_context: RuntimeContext) -> None:
        self._times = TIMES[self._how]
        self._row = runtime_context.get_state(ValueStateDescriptor("row", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Counted, ctx: KeyedProcessFunction.Context) -> None:
        _, values, (left, right) = value
        kept = self._row.value()
        if kept is None:
            ctx.timer_service().register_event_time_timer(MAX_TIMESTAMP)
            self._row.update((values, left, right))
        else:
            values, before, before_right = kept
            self._row.update((values, before + left, before_right + right))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Values]:
        kept = self._row.value()
        assert kept is not None  # the timer was registered with it
        values, left, right = kept
        return repeat(values, self._times(left, right))
