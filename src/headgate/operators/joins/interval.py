"""The interval join: it joins records of a key whose times are within an interval of each other.

Each side stores its records in a list until event time has passed their interval, since a matching record may arrive
until then. (As in Flink's `IntervalJoinOperator`.) Each key has one timer for its oldest record. In an inner join the
timer may fire late by up to the length of the interval, so that lists are scanned rarely. No match depends on the time
of the scan: a record whose interval has passed matches no other record.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import Any, Final, final

from headgate.elements import MAX_TIMESTAMP, Batch
from headgate.errors import ProgramError
from headgate.functions.context import TimeDomain
from headgate.functions.joins import ProcessJoinFunction
from headgate.operators.base import USER_ERRORS, UserCodeError
from headgate.operators.calls import many_of_pair
from headgate.operators.keyed import KeyedCall, KeyedOperator, no_call
from headgate.operators.out_of_order import LateRecords
from headgate.operators.runtime_context import Runtime
from headgate.state.backend import KeyedBackend
from headgate.state.descriptors import ListStateDescriptor
from headgate.state.keyed.cells import GENERATION, KEY
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.state.keyed.timer_index import NEVER
from headgate.state.kinds.list_state import ListState
from headgate.state.kinds.owner import ListLike
from headgate.time.timers import Timers
from headgate.types.output_tag import OutputTag
from headgate.types.typed_key import untyped
from headgate.types.typeinfo import Types


@final
class JoinContext(ProcessJoinFunction.Context):
    """The times of the current pair: of the record that arrived (`own_ms`), and of the stored record (`kept_ms`)."""

    __slots__ = ("is_left", "kept_ms", "own_ms", "result_ms")

    is_left: bool
    """Whether the record that arrived is of the left stream."""
    own_ms: int
    kept_ms: int | None
    result_ms: int

    def get_left_timestamp(self) -> int | None:
        return self.own_ms if self.is_left else self.kept_ms

    def get_right_timestamp(self) -> int | None:
        return self.kept_ms if self.is_left else self.own_ms

    def get_timestamp(self) -> int:
        return self.result_ms


_TIME: Final = itemgetter(0)


def within(kept: Iterable[Any], first_ms: int, last_ms: int) -> list[Any]:
    """Return the elements whose times are from `first_ms` to `last_ms`, both inclusive.

    >>> within([(1, "a"), (5, "b"), (9, "c")], 2, 9)
    [(5, 'b'), (9, 'c')]
    """
    if type(kept) is list:
        return kept[bisect_left(kept, (first_ms,)) : bisect_left(kept, (last_ms + 1,))]
    return [each for each in kept if first_ms <= each[0] <= last_ms]


def keep(kept: ListLike, element: tuple[Any, ...]) -> None:
    """Add an element in the order of times.

    >>> kept = [(1, "a"), (9, "b")]
    >>> keep(kept, (5, "c"))
    >>> kept
    [(1, 'a'), (5, 'c'), (9, 'b')]
    """
    if type(kept) is list and element[0] < kept[-1][0]:
        insort(kept, element, key=_TIME)
    else:
        kept.append(element)


def put_in_order(backend: KeyedBackend, state_name: str, column: int) -> None:
    """Sort the lists of a restored state: a snapshot of RocksDB has them unsorted."""
    if isinstance(backend, HashMapBackend):
        for key in backend.keys(state_name):
            backend.cells[key][column].sort(key=_TIME)


_DURING: Final = "process_element()"


@final
@dataclass(frozen=True, slots=True)
class JoinSide:
    """One input of the join. A record at `t` matches records of the other side from `t + lower_ms` to `t + upper_ms`.

    With `outer`, the function is also called for each record without a match, once its interval has passed. Late
    records go to the side output `late_tag`; without one they are counted and dropped.
    """

    lower_ms: int
    upper_ms: int
    outer: bool = False
    late_tag: OutputTag | None = None


@final
@dataclass(frozen=True, slots=True)
class _Open:
    """A side of an open operator. Its buffers hold (time, record, whether the record has matched)."""

    side: JoinSide
    is_left: bool
    own: ListState[Any]
    other: ListState[Any]
    late: LateRecords
    marks: bool
    """Whether records of the other side are marked when they match, which an outer join needs."""


@final
class IntervalJoinOperator(KeyedOperator):
    """Joins two keyed streams. The timestamp of a pair's results is the later of the two times.

    Results for an unmatched record have the end of its interval as timestamp.
    """

    def __init__(self, function: ProcessJoinFunction, left: JoinSide, right: JoinSide) -> None:
        super().__init__(function, self._bound)
        self._sides = left, right
        self._lag_ms = 1 if left.outer or right.outer else max(1, left.upper_ms - left.lower_ms)

    def _bound(self, function: Any, runtime: Runtime) -> KeyedCall:
        self._join = many_of_pair(function.process_element)
        self._pair = JoinContext()
        buffers = [self._open_buffer(name) for name in ("left", "right")]
        self._left, self._right = (self._open_side(index, buffers) for index in (0, 1))
        return no_call

    def _open_buffer(self, name: str) -> ListState[Any]:
        buffer: ListState[Any] = self._backend.state(ListStateDescriptor(name, Types.PICKLED_BYTE_ARRAY()))
        put_in_order(self._backend, name, buffer.column)
        return buffer

    def _open_side(self, index: int, buffers: list[ListState[Any]]) -> _Open:
        side, other = self._sides[index], self._sides[1 - index]
        late = LateRecords(self.context, side.late_tag)
        return _Open(side, index == 0, buffers[index], buffers[1 - index], late, other.outer)

    def _has_timers(self) -> bool:
        return True

    # --- records

    def process(self, batch: Batch) -> Batch:
        self._arriving = self._left
        return self._process(batch, self._call, _DURING)

    def process_second(self, batch: Batch) -> Batch:
        self._arriving = self._right
        return self._process(batch, self._call, _DURING)

    def _run(self, keys: list[Any], call: KeyedCall) -> Batch:
        next(self._position)
        raise ProgramError(
            "an interval join needs event time, but this record has no timestamp: call "
            "assign_timestamps_and_watermarks() on both streams"
        )

    def _run_timed(self, keys: list[Any], timestamps: list[int], call: KeyedCall) -> Batch:
        backend, arriving, pair, join = self._backend, self._arriving, self._pair, self._join
        side, own, other, is_left = arriving.side, arriving.own.column, arriving.other.column, arriving.is_left
        lower_ms, upper_ms, watermark_ms = side.lower_ms, side.upper_ms, self._context.timers.watermark_ms
        cell_of, generation, current = backend.cells.get, backend.generation, backend.current
        pair.is_left = is_left
        extend, copied = self._extend, self._copied
        out: list[Any] = []
        times: list[int] = []
        for key, time, value in zip(keys, timestamps, self._position):  # noqa: B905  # lengths agree
            if time < watermark_ms:
                arriving.late.take(value, time, out, times)
                continue
            cell = cell_of(key)
            if cell is None or cell[GENERATION] != generation:
                cell = backend.enter(key, cell)
            current.cell = cell
            first_ms = lower_ms + (time if time > watermark_ms else watermark_ms + 1)
            last_ms = time + upper_ms
            others, kept_here = cell[other], cell[own]
            found = others and within(others, first_ms, last_ms)
            if found:
                pair.own_ms = pair.result_ms = later_ms = time
                for kept_ms, kept, _ in found:
                    pair.kept_ms = kept_ms
                    if kept_ms > time or later_ms > time:
                        times += repeat(later_ms, len(out) - len(times))
                        pair.result_ms = later_ms = kept_ms if kept_ms > time else time
                    came, kept = copied(value), copied(kept)
                    results = join(came, kept, pair) if is_left else join(kept, came, pair)
                    if results is not None:
                        extend(out, results)
                times += repeat(later_ms, len(out) - len(times))
                if arriving.marks:
                    arriving.other.update([_marked(each, first_ms, last_ms) for each in others])
            if last_ms <= watermark_ms:
                if not found:
                    self._unmatched(arriving, time, value, out, times)
                continue
            if kept_here is not None:
                keep(kept_here, (time, value, bool(found)))
            else:
                arriving.own.add((time, value, bool(found)))
            if side.outer or (kept_here is None and others is None):
                self._set_timer(last_ms)
        return Batch(out, times)

    def _set_timer(self, over_ms: int) -> None:
        """Set a timer for the end of a record's interval, rounded up to `_lag_ms`, unless there is an earlier timer."""
        timers = self._context.timers
        first_ms = timers.earliest_event_time_timer()
        if first_ms is None or over_ms < first_ms:
            timers.register_event_time_timer(min(-(-over_ms // self._lag_ms) * self._lag_ms, MAX_TIMESTAMP))

    def _unmatched(self, open_side: _Open, time: int, value: Any, out: list[Any], times: list[int]) -> None:
        """Call the function for a record without a match, if its side is outer."""
        if open_side.side.outer:
            pair = self._pair
            pair.is_left, pair.own_ms, pair.kept_ms = open_side.is_left, time, None
            pair.result_ms = over_ms = min(time + open_side.side.upper_ms, MAX_TIMESTAMP)
            results = self._join(value, None, pair) if open_side.is_left else self._join(None, value, pair)
            if results is not None:
                self._extend(out, results)
                times += repeat(over_ms, len(out) - len(times))

    # --- time

    def _fire(self, timers: Timers, until_ms: int, limit: int, domain: TimeDomain) -> Batch:
        out: list[Any] = []
        times: list[int] = []
        try:
            for _ in timers.due(until_ms, limit, out):
                left_ms = self._oldest_over(self._left, until_ms, out, times)
                right_ms = self._oldest_over(self._right, until_ms, out, times)
                if left_ms < NEVER or right_ms < NEVER:
                    self._set_timer(min(left_ms, right_ms))
        except USER_ERRORS as error:
            raise UserCodeError(key=untyped(self._backend.current.cell[KEY]), during=_DURING) from error
        finally:
            self._backend.leave()
        return self._split(Batch(out, times))

    def _oldest_over(self, open_side: _Open, until_ms: int, out: list[Any], times: list[int]) -> int:
        """Remove the records whose interval has passed; return when the oldest remaining interval ends."""
        elements: Sequence[Any] | None = self._backend.current.cell[open_side.own.column]
        if elements is None:
            return NEVER
        reach_ms: int = open_side.side.upper_ms
        before_ms = until_ms if until_ms == MAX_TIMESTAMP else until_ms - reach_ms
        kept = [each for each in elements if each[0] > before_ms]
        if open_side.side.outer:
            over = [each for each in elements if each[0] <= before_ms and not each[2]]
            for time, value, _ in sorted(over, key=_time_of):
                self._unmatched(open_side, time, value, out, times)
        if len(kept) < len(elements):
            open_side.own.update(kept)
        oldest_ms: int = min([time for time, _, _ in kept], default=NEVER - reach_ms)
        return oldest_ms + reach_ms


def _marked(element: tuple[int, Any, bool], first_ms: int, last_ms: int) -> tuple[int, Any, bool]:
    time, value, matched = element
    return time, value, matched or first_ms <= time <= last_ms


def _time_of(element: tuple[int, Any, bool]) -> int:
    return element[0]


@final
@dataclass(frozen=True, slots=True)
class IntervalJoinFactory:
    """Makes an interval join."""

    function: ProcessJoinFunction
    left: JoinSide
    right: JoinSide

    def create(self) -> IntervalJoinOperator:
        """Return a new operator, not yet opened."""
        return IntervalJoinOperator(self.function, self.left, self.right)
