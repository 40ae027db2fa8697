"""Aggregates over the rows around each row, of the rows with equal keys.

A row waits in keyed state until the watermark passes its time, so that all rows before it are there. A row whose time
the watermark has passed when it arrives is counted and dropped. Of the rows that were emitted, the state keeps the
partial results that frames of later rows contain: one merged partial result for a frame without a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any, Final, final

import numpy as np
import pyarrow as pa

from headgate.columns.aggregates import Aggregate, PartialColumn
from headgate.columns.frames import RowFrame
from headgate.elements import MAX_TIMESTAMP, Batch
from headgate.functions.context import TimeDomain
from headgate.operators.base import USER_ERRORS, Operator, UserCodeError
from headgate.operators.columns.aggregation import MergePartials, column_of_partials, partial_results
from headgate.operators.columns.calc import columns_of
from headgate.operators.columns.keys import check_times, columns_of_rows, groupable, keys_of, rows_of, sortable
from headgate.operators.columns.sliding import Sliding, bounds
from headgate.operators.keyed import KeyedCall, KeyedOperator, no_call
from headgate.operators.out_of_order import LateRecords, WaitingRecords
from headgate.operators.runtime_context import Runtime
from headgate.state.descriptors import ListStateDescriptor
from headgate.state.keyed.cells import KEY
from headgate.state.keyed.timer_index import NEVER
from headgate.time.timers import Timers
from headgate.types.typed_key import untyped
from headgate.types.typeinfo import Types

Ordered = tuple[Any, Any, tuple[Any, ...], tuple[Any, ...]]
"""A key, the value by which its rows are sorted, the values of a row, and the partial results of the row alone."""


@final
@dataclass(frozen=True, slots=True)
class OverInput:
    """Makes an `OverInputOperator`.

    `schema` has `keep` columns to emit, `keys` keys, the order, and the argument of each aggregate. With `timed`, the
    order is the event time in milliseconds.
    """

    schema: pa.Schema
    keep: int
    keys: int
    timed: bool
    aggregates: Sequence[Aggregate]

    def create(self) -> OverInputOperator:
        return OverInputOperator(self)


@final
class OverInputOperator(Operator):
    """Turns columns into rows with their key, their order and their partial results."""

    def __init__(self, factory: OverInput) -> None:
        self._input = factory

    def process(self, batch: Batch) -> Batch:
        own = self._input
        columns = columns_of(batch, own.schema)
        if not columns.num_rows:
            return Batch([])
        *others, order = columns.columns[: own.keep + own.keys + 1]
        if own.timed:
            check_times(order, columns.select(range(own.keep)), "over()")
        keys = keys_of([groupable(column) for column in others[own.keep :]], columns.num_rows)
        kept = rows_of(others[: own.keep], columns.num_rows)
        rows = pa.array(np.arange(columns.num_rows))
        parts = partial_results({"row": rows}, columns.columns[own.keep + own.keys + 1 :], own.aggregates)[1]
        places = order.cast(pa.int64()).to_pylist() if own.timed else _places(order)
        records = list(zip(keys, places, kept, parts, strict=True))
        return Batch(records, places if own.timed else [0] * len(records))


def _places(column: pa.Array) -> list[Any]:
    """Return values that sort as those of the column do in SQL: NULL first, NaN last."""
    return [(own is not None, own) for own in sortable(column).to_pylist()]


@final
@dataclass(frozen=True, slots=True)
class OverFactory:
    """Makes an `OverOperator`. Unless `timed`, rows are sorted by their order, in a batch job."""

    frame: RowFrame
    aggregates: Sequence[Aggregate]
    timed: bool
    descending: bool

    def create(self) -> OverOperator:
        return OverOperator(self)


_TIME: Final = itemgetter(0)
_ORDER: Final = itemgetter(1)


@final
class OverOperator(KeyedOperator):
    """Emits the values of each row with the merged partial results of the rows in its frame."""

    def __init__(self, factory: OverFactory) -> None:
        super().__init__(None, self._bound)
        self._frame = factory.frame
        self._timed = factory.timed
        self._descending = factory.descending
        self._merge = MergePartials(factory.aggregates).merged
        partials = [own for aggregate in factory.aggregates for own in aggregate.partials]
        self._nothing = tuple(own.nothing for own in partials if isinstance(own, PartialColumn))

    def _bound(self, function: Any, runtime: Runtime) -> KeyedCall:
        kind = Types.PICKLED_BYTE_ARRAY()
        self._rows, self._before = (self._backend.state(ListStateDescriptor(name, kind)) for name in ("rows", "before"))
        self._late = LateRecords(self.context, None)
        self._waiting = WaitingRecords(self._backend, self._rows, self._late)
        return no_call

    def _has_timers(self) -> bool:
        return True

    def _run_timed(self, keys: list[Any], timestamps: list[int], call: KeyedCall) -> Batch:
        return self._waiting.keep(self._context.timers, zip(keys, timestamps, self._position, strict=False))

    def _fire(self, timers: Timers, until_ms: int, limit: int, domain: TimeDomain) -> Batch:
        self._out: list[Any] = []
        self._times: list[int] = []
        try:
            for _ in timers.due(until_ms, limit, self._out):
                next_ms = self._emit(until_ms)
                if next_ms < NEVER:
                    self._context.timers.register_event_time_timer(next_ms)
        except USER_ERRORS as error:
            raise UserCodeError(key=untyped(self._backend.current.cell[KEY]), during="over()") from error
        finally:
            self._backend.leave()
        return Batch(self._out, self._times)

    def _emit(self, until_ms: int) -> int:
        """Emit the rows of the current key up to this time. Return the time at which the key has work again."""
        cell = self._backend.current.cell
        waiting = cell[self._rows.column] or []
        ready = sorted((own for own in waiting if own[0] <= until_ms), key=_TIME)
        if not self._timed:
            ready.sort(key=lambda own: own[1][1], reverse=self._descending)
        if ready:
            self._rows.update([own for own in waiting if own[0] > until_ms])
        before: list[tuple[int, Any]] = list(cell[self._before.column] or [])
        if ready and before:
            ready = self._in_order(ready, before[-1][0])
        needed = self._needed(self._results(before, ready) if ready else before, until_ms)
        if ready or len(needed) < len(before):
            self._before.update(needed)
        next_ms = min((own[0] for own in waiting if own[0] > until_ms), default=NEVER)
        if needed and not self._frame.is_rows and self._frame.lower is not None:
            next_ms = min(next_ms, needed[-1][0] - self._frame.lower)
        return next_ms

    def _in_order(self, ready: list[tuple[int, Any]], emitted_ms: int) -> list[tuple[int, Any]]:
        """Return the rows after a time. The others are late: they came when a restored job had no watermark yet."""
        for time, row in ready:
            if time <= emitted_ms:
                self._late.take(row, time, [], [])
        return [own for own in ready if own[0] > emitted_ms]

    def _results(self, before: list[tuple[int, Any]], ready: list[tuple[int, Ordered]]) -> list[tuple[int, Any]]:
        """Emit the rows. Return time and partial result of these rows and of the rows before them."""
        parts = [*before, *((time, row[3]) for time, row in ready)]
        window = Sliding([part for _, part in parts], self._merge)
        order = [time for time, _ in parts] if self._timed else _ranks([row[1] for _, row in ready])
        for (_, row), (start, stop) in zip(ready, bounds(self._frame, order, len(before)), strict=True):
            found = window.between(start, stop)
            self._out.append((row[2], self._nothing if found is None else found))
        self._times += [time for time, _ in ready]
        return [(parts[-1][0], window.between(0, len(parts)))] if self._frame.lower is None else parts

    def _needed(self, parts: list[tuple[int, Any]], until_ms: int) -> list[tuple[int, Any]]:
        """Return the parts that frames of rows after a time contain."""
        lower = self._frame.lower
        if until_ms == MAX_TIMESTAMP:
            return []
        if lower is None:
            return parts
        if self._frame.is_rows:
            return parts[len(parts) + lower :] if -lower < len(parts) else parts
        return [own for own in parts if own[0] > until_ms + lower]


def _ranks(values: list[Any]) -> list[int]:
    """Return 0, 1 and so on for sorted values, the same for equal values."""
    changes = (int(own != last) for last, own in pairwise(values))
    return list(accumulate(changes, initial=0))


@final
@dataclass(frozen=True, slots=True)
class OverOutput:
    """Makes an `OverOutputOperator`. `schema` has the columns of the rows, then the merged partial results."""

    schema: pa.Schema
    keep: int

    def create(self) -> OverOutputOperator:
        return OverOutputOperator(self)


@final
class OverOutputOperator(Operator):
    """Turns rows and their merged partial results into columns."""

    def __init__(self, factory: OverOutput) -> None:
        self._schema = factory.schema
        self._keep = factory.keep

    def process(self, batch: Batch) -> Batch:
        rows, results = zip(*batch.records, strict=True)
        fields = list(self._schema)
        kept = columns_of_rows(rows, pa.schema(fields[: self._keep])).columns
        merged = zip(zip(*results, strict=True), fields[self._keep :], strict=True)
        made = [column_of_partials(own, field.type) for own, field in merged]
        return Batch.of_arrow(pa.RecordBatch.from_arrays([*kept, *made], schema=self._schema))
