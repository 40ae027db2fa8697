"""Joins of rows with equal keys: interval joins, window joins, and joins of rows that are kept for ever.

A row matches rows of the other side whose event times are within an interval around its own time. For a window join all
times are the last millisecond of the window, and the interval is this millisecond. A join without event time places all
rows at the end of time.

Pairs are emitted when the second row arrives. They become columns, on which the rest of the condition is computed at
once for each batch. Rows without a match are emitted when their interval has passed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.program import ColumnProgram
from headgate.columns.user_kernels import UserFunctions
from headgate.elements import MAX_TIMESTAMP, Batch
from headgate.functions.context import TimeDomain
from headgate.operators.base import OperatorContext
from headgate.operators.columns.calc import computed
from headgate.operators.columns.keys import columns_of_rows
from headgate.operators.joins.interval import keep, put_in_order
from headgate.operators.keyed import KeyedCall, KeyedOperator, no_call
from headgate.operators.out_of_order import LATE_RECORDS
from headgate.operators.runtime_context import Runtime
from headgate.state.descriptors import ListStateDescriptor
from headgate.state.keyed.cells import GENERATION
from headgate.state.keyed.timer_index import NEVER
from headgate.state.kinds.list_state import ListState
from headgate.state.ttl import StateTtlConfig
from headgate.time.timers import Timers
from headgate.types.arrow import concatenated
from headgate.types.instant import Time
from headgate.types.typeinfo import Types

Values = tuple[Any, ...]

Kept = tuple[int, Values, bool]
"""A row in the state: its time, its values, and whether it has matched."""

OUTER: Final = {"left": (True, False), "right": (False, True), "full": (True, True), "anti": (True, False)}
"""For joins that emit rows without a match: whether they emit rows of the left and of the right side."""

ONCE: Final = ("semi", "anti")
"""Joins that emit rows of the left side only, each at most once."""


@final
@dataclass(frozen=True, slots=True)
class _Side:
    """A side of an open operator. A row at `t` matches rows of the other side from `t + lower_ms` to `t + upper_ms`."""

    is_left: bool
    own: ListState[Any]
    other: ListState[Any]
    lower_ms: int
    upper_ms: int
    is_outer: bool
    is_once: bool
    """Whether a row leaves the state with its first match."""


@final
@dataclass(frozen=True, slots=True)
class _Candidate:
    """A row that arrived, by its number in the batch, and a row of the other side, by its place in the state."""

    number: int
    place: int
    values: Values


@final
class JoinOperator(KeyedOperator):
    """Joins two keyed inputs of rows, as `KeyedRowsOperator` emits them. Late rows are counted and dropped."""

    def __init__(self, factory: JoinFactory) -> None:
        super().__init__(None, self._bound)
        self._factory = factory
        self._functions = UserFunctions()
        self._emits_pairs = factory.how not in ONCE
        self._pairs = _nullable([*factory.left, *factory.right])
        self._output = self._pairs if self._emits_pairs else _nullable(factory.left)
        self._timer_step_ms = 1 if factory.how in OUTER else max(1, factory.upper_ms - factory.lower_ms)
        self.output_lag_ms = max(factory.upper_ms, -factory.lower_ms, 0)

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        condition = self._factory.condition
        self._functions.open(() if condition is None else condition.user_kernels, Runtime(context))

    def _bound(self, function: Any, runtime: Runtime) -> KeyedCall:
        factory = self._factory
        self._late = self.context.metrics.counter(LATE_RECORDS)
        left, right = self._open_list("left"), self._open_list("right")
        outer_left, outer_right = OUTER.get(factory.how, (False, False))
        once = factory.how in ONCE
        lower_ms, upper_ms = factory.lower_ms, factory.upper_ms
        self._left = _Side(True, left, right, lower_ms, upper_ms, outer_left, once)
        self._right = _Side(False, right, left, -upper_ms, -lower_ms, outer_right, False)
        return no_call

    def _open_list(self, name: str) -> ListState[Any]:
        descriptor = ListStateDescriptor(name, Types.PICKLED_BYTE_ARRAY())
        if self._factory.ttl_ms:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(self._factory.ttl_ms)).build())
        found: ListState[Any] = self._backend.state(descriptor)
        put_in_order(self._backend, name, found.column)
        return found

    def _has_timers(self) -> bool:
        return True

    # --- rows

    def process(self, batch: Batch) -> Batch:
        return self._join(batch, self._left, self._right)

    def process_second(self, batch: Batch) -> Batch:
        return self._join(batch, self._right, self._left)

    def _join(self, batch: Batch, side: _Side, other: _Side) -> Batch:
        backend, keys = self._backend, batch.keys
        assert keys is not None  # its inputs are keyed
        if backend.prefetch is not None:
            backend.prefetch(keys)
        try:
            arrived = self._in_time(keys, batch)
            candidates = self._candidates(arrived, side)
            matches, pairs = self._matches(arrived, candidates, side)
            out: list[Values] = []
            self._mark(arrived, matches, other, out)
            self._keep(arrived, {each.number for each in matches}, side, out)
        finally:
            backend.leave()
        if self._context.timers.in_use:
            self._set_alarm()
        return self._emitted(pairs, out)

    def _in_time(self, keys: list[Any], batch: Batch) -> list[tuple[Any, int, Values]]:
        """Return key, time and values of the rows that are not late."""
        if batch.timestamps is None:
            return [(key, MAX_TIMESTAMP, values) for key, (_, values) in zip(keys, batch.records, strict=True)]
        watermark_ms = self._context.timers.watermark_ms
        found = [
            (key, time, values)
            for key, time, (_, values) in zip(keys, batch.timestamps, batch.records, strict=True)
            if time > watermark_ms
        ]
        if len(found) < len(keys):
            self._late.inc(len(keys) - len(found))
        return found

    def _enter(self, key: Any) -> None:
        backend = self._backend
        cell = backend.cells.get(key)
        if cell is None or cell[GENERATION] != backend.generation:
            cell = backend.enter(key, cell)
        backend.current.cell = cell

    def _candidates(self, arrived: Sequence[tuple[Any, int, Values]], side: _Side) -> list[_Candidate]:
        """Return the pairs whose keys and times match."""
        found: list[_Candidate] = []
        lower_ms, upper_ms = side.lower_ms, side.upper_ms
        for number, (key, time, _) in enumerate(arrived):
            self._enter(key)
            kept = self._kept(side.other)
            if kept:
                places = _within(kept, time + lower_ms, time + upper_ms)
                found += [_Candidate(number, place, kept[place][1]) for place in places]
        return found

    def _kept(self, state: ListState[Any]) -> list[Kept]:
        """Return the rows of the current key in a list that must not be changed, in the order of their times."""
        if self._factory.ttl_ms:
            return list(state.get())
        elements = self._backend.current.cell[state.column]
        return elements if type(elements) is list else sorted(elements or (), key=_time_of)

    def _matches(
        self, arrived: Sequence[tuple[Any, int, Values]], candidates: list[_Candidate], side: _Side
    ) -> tuple[list[_Candidate], pa.RecordBatch | None]:
        """Return the candidates for which the rest of the condition is true, and their columns if these are emitted."""
        condition = self._factory.condition
        if not candidates or (condition is None and not self._emits_pairs):
            return candidates, None
        if side.is_left:
            rows = [arrived[each.number][2] + each.values for each in candidates]
        else:
            rows = [each.values + arrived[each.number][2] for each in candidates]
        columns = columns_of_rows(rows, self._pairs)
        if condition is None:
            return candidates, columns
        mask = pc.fill_null(computed(condition, columns)[0], False)  # a value, no flag
        matches = [each for each, is_match in zip(candidates, mask.to_pylist(), strict=True) if is_match]
        return matches, columns.filter(mask) if self._emits_pairs else None

    def _mark(
        self,
        arrived: Sequence[tuple[Any, int, Values]],
        matches: Iterable[_Candidate],
        other: _Side,
        out: list[Values],
    ) -> None:
        """Note in the state of the other side which of its rows have matched."""
        if not (other.is_outer or other.is_once):
            return
        marked: dict[Any, set[int]] = defaultdict(set)
        for each in matches:
            marked[arrived[each.number][0]].add(each.place)
        for key, places in marked.items():
            self._enter(key)
            kept = self._kept(other.own)
            if other.is_once:
                out += [] if other.is_outer else [kept[place][1] for place in sorted(places)]
                other.own.update([each for place, each in enumerate(kept) if place not in places])
            else:
                other.own.update(
                    [(time, values, done or place in places) for place, (time, values, done) in enumerate(kept)]
                )

    def _keep(
        self, arrived: Iterable[tuple[Any, int, Values]], matched: set[int], side: _Side, out: list[Values]
    ) -> None:
        """Add the rows that later rows may match to the state."""
        watermark_ms, column, own = self._context.timers.watermark_ms, side.own.column, side.own
        for number, (key, time, values) in enumerate(arrived):
            is_match = number in matched
            if is_match and side.is_once:
                out += [] if side.is_outer else [values]
                continue
            over_ms = min(time + side.upper_ms, MAX_TIMESTAMP)
            if over_ms <= watermark_ms:
                if side.is_outer and not is_match:
                    out.append(self._alone(values, side))
                continue
            self._enter(key)
            cell = self._backend.current.cell
            if cell[column] is None or self._factory.ttl_ms:
                own.add((time, values, is_match))
            else:
                keep(cell[column], (time, values, is_match))
            self._set_timer(over_ms)

    def _alone(self, values: Values, side: _Side) -> Values:
        """Return the output for a row without a match."""
        if side.is_once:
            return values
        if side.is_left:
            return values + (None,) * len(self._factory.right)
        return (None,) * len(self._factory.left) + values

    def _emitted(self, pairs: pa.RecordBatch | None, rows: list[Values]) -> Batch:
        made = columns_of_rows(rows, self._output) if rows else None
        if made is not None and pairs is not None:
            made = concatenated(pairs, made)
        found = pairs if made is None else made
        if found is None or not found.num_rows:
            return Batch([])
        return Batch.of_arrow(pa.RecordBatch.from_arrays(found.columns, schema=self._factory.output))

    # --- time

    def _set_timer(self, over_ms: int) -> None:
        """Set a timer for the end of a row's interval, unless the key has an earlier timer, or the row stays for ever.

        Without rows to emit, the timer may be late: it is rounded up to `_timer_step_ms`.
        """
        if over_ms == MAX_TIMESTAMP:
            return
        timers = self._context.timers
        first_ms = timers.earliest_event_time_timer()
        if first_ms is None or over_ms < first_ms:
            step_ms = self._timer_step_ms
            timers.register_event_time_timer(min(-(-over_ms // step_ms) * step_ms, MAX_TIMESTAMP))

    def _fire(self, timers: Timers, until_ms: int, limit: int, domain: TimeDomain) -> Batch:
        out: list[Values] = []
        try:
            for _ in timers.due(until_ms, limit, out):
                over_ms = min(self._remove(self._left, until_ms, out), self._remove(self._right, until_ms, out))
                if over_ms < NEVER:
                    self._set_timer(over_ms)
        finally:
            self._backend.leave()
        return self._emitted(None, out)

    def _remove(self, side: _Side, until_ms: int, out: list[Values]) -> int:
        """Remove the rows whose interval has passed; return when the oldest remaining interval ends."""
        kept = self._kept(side.own)
        rest = [each for each in kept if min(each[0] + side.upper_ms, MAX_TIMESTAMP) > until_ms]
        if side.is_outer:
            over = kept[: len(kept) - len(rest)]
            out += [self._alone(values, side) for _, values, is_matched in over if not is_matched]
        if len(rest) < len(kept):
            side.own.update(rest)
        return rest[0][0] + side.upper_ms if rest else NEVER

    def close(self) -> None:
        try:
            self._functions.close()
        finally:
            super().close()


def _time_of(kept: Kept) -> int:
    return kept[0]


def _within(kept: list[Kept], first_ms: int, last_ms: int) -> range:
    """Return the places of the rows whose times are from `first_ms` to `last_ms`, both included.

    >>> _within([(1, ("a",), False), (5, ("b",), False), (9, ("c",), False)], 2, 9)
    range(1, 3)
    """
    return range(bisect_left(kept, first_ms, key=_time_of), bisect_left(kept, last_ms + 1, key=_time_of))


def _nullable(fields: Iterable[pa.Field]) -> pa.Schema:
    return pa.schema([field.with_nullable(True) for field in fields])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JoinFactory:
    """Makes a `JoinOperator` of rows with these payloads. `output` is the schema of the results.

    A right row matches a left row if its time is from `lower_ms` to `upper_ms` later, and if the condition, if any, is
    true for the columns of both payloads. `ttl_ms` is how long rows are kept after their arrival, 0 for ever.
    """

    how: str
    left: pa.Schema
    right: pa.Schema
    output: pa.Schema
    lower_ms: int = 0
    upper_ms: int = 0
    condition: ColumnProgram | None = None
    ttl_ms: int = 0

    def create(self) -> JoinOperator:
        return JoinOperator(self)
