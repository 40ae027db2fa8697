"""The as-of join: it joins each record of the left stream with the record of the right stream nearest in time.

Records of both sides wait until event time says that no nearer record can arrive. With a `grace`, event time is that
much behind the watermark, so records of both sides may be that late. The operator keeps the records of the right side
that a later record of the left side may still match; without a tolerance the newest record always stays. Each key has
a timer for the earliest time at which a match is certain, or a record can be removed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
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
from headgate.operators.joins.interval import JoinContext
from headgate.operators.keyed import KeyedCall, KeyedOperator, no_call
from headgate.operators.out_of_order import LateRecords, WaitingRecords
from headgate.operators.runtime_context import Runtime
from headgate.state.descriptors import ListStateDescriptor
from headgate.state.keyed.cells import KEY
from headgate.state.keyed.timer_index import NEVER
from headgate.time.timers import Timers
from headgate.types.output_tag import OutputTag
from headgate.types.typed_key import untyped
from headgate.types.typeinfo import Types


@final
@dataclass(frozen=True, slots=True)
class Nearest:
    """Finds the record of the right stream that is nearest in time to a record of the left stream. Pure.

    `before` and `behind` say on which side of the record to look, `tolerance_ms` how far. `exact` says whether a record
    of the very same time counts. The rules are as in `pandas.merge_asof`. Of several records with the same time, the
    last counts if they are before the left record, the first if they are behind it. Of two records at the same
    distance, the earlier counts.

    >>> both = Nearest(before=True, behind=True, tolerance_ms=10)
    >>> both.find([10, 20, 22, 28], 25)
    (27, 2)
    >>> both.find([10, 20, 22, 26], 25)
    (26, 3)
    >>> both.find([], 25)
    (35, None)
    """

    before: bool = True
    behind: bool = False
    tolerance_ms: int = MAX_TIMESTAMP
    exact: bool = True

    def find(self, times: list[int], time_ms: int) -> tuple[int, int | None]:
        """Return the event time at which the nearest record is certain, and its index in `times`, or None.

        Before that event time a nearer record may still arrive.
        """
        place: int | None = None
        reach_ms = self.tolerance_ms
        if self.before:
            before = (bisect_right if self.exact else bisect_left)(times, time_ms) - 1
            if before >= 0 and time_ms - times[before] <= self.tolerance_ms:
                place, reach_ms = before, time_ms - times[before] - 1
        if not self.behind:
            return time_ms, place
        behind = (bisect_left if self.exact else bisect_right)(times, time_ms)
        if behind < len(times) and times[behind] - time_ms <= reach_ms:
            return times[behind], behind
        return min(max(time_ms, time_ms + reach_ms), MAX_TIMESTAMP), place

    def first_needed(self, times: list[int], from_ms: int) -> int:
        """Return the index of the first record that a left record with a time of `from_ms` or later may match."""
        first = (bisect_left if self.exact or self.before else bisect_right)(times, from_ms)
        if self.before:
            if not first and not self.exact:  # later left records need only the last record of this time
                first = bisect_right(times, from_ms)
            first = max(first - 1, bisect_left(times, from_ms - self.tolerance_ms), 0)
        return first

    def needed_until_ms(self, time_ms: int) -> int:
        """Return the event time from which, at the latest, no left record can match a right record of `time_ms`."""
        return min(time_ms + self.tolerance_ms, MAX_TIMESTAMP) if self.before else time_ms


_DURING: Final = "process_element()"
_TIME: Final = itemgetter(0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """The settings of an as-of join.

    With `outer`, the function is also called for a left record without a match. If `is_deletion` is true for a right
    record, a left record that matches it has no match. Late records go to the side output of their side in `late_tags`;
    without one they are counted and dropped.
    """

    name: str
    nearest: Nearest
    outer: bool
    grace_ms: int = 0
    is_deletion: Callable[[Any], Any] | None = None
    late_tags: tuple[OutputTag | None, OutputTag | None] = (None, None)


@final
class AsOfJoinOperator(KeyedOperator):
    """Joins two keyed streams by the nearest time. A result's timestamp is the time at which the match is certain."""

    def __init__(self, function: ProcessJoinFunction, asof: AsOf) -> None:
        super().__init__(function, self._bound)
        self._asof = asof

    def _bound(self, function: Any, runtime: Runtime) -> KeyedCall:
        self._join = many_of_pair(function.process_element)
        self._pair = JoinContext()
        self._pair.is_left = True
        kind = Types.PICKLED_BYTE_ARRAY()
        self._lefts, self._rights = (self._backend.state(ListStateDescriptor(name, kind)) for name in ("left", "right"))
        late_left, late_right = (LateRecords(self.context, tag) for tag in self._asof.late_tags)
        self._waiting_lefts = WaitingRecords(self._backend, self._lefts, late_left, self._asof.grace_ms)
        self._waiting_rights = WaitingRecords(self._backend, self._rights, late_right, self._asof.grace_ms)
        return no_call

    def _has_timers(self) -> bool:
        return True

    # --- records

    def process(self, batch: Batch) -> Batch:
        self._current = self._waiting_lefts
        return self._process(batch, self._call, _DURING)

    def process_second(self, batch: Batch) -> Batch:
        self._current = self._waiting_rights
        return self._process(batch, self._call, _DURING)

    def _run(self, keys: list[Any], call: KeyedCall) -> Batch:
        next(self._position)
        raise ProgramError(
            f"{self._asof.name}() needs event time, but this record has no timestamp: call "
            "assign_timestamps_and_watermarks() on both streams"
        )

    def _run_timed(self, keys: list[Any], timestamps: list[int], call: KeyedCall) -> Batch:
        return self._current.keep(self._context.timers, zip(keys, timestamps, self._position))  # noqa: B905  # lengths agree

    # --- time

    def _fire(self, timers: Timers, until_ms: int, limit: int, domain: TimeDomain) -> Batch:
        self._out: list[Any] = []
        self._times: list[int] = []
        grace_ms = self._asof.grace_ms
        decided_ms = until_ms if until_ms == MAX_TIMESTAMP else until_ms - grace_ms
        try:
            for _ in timers.due(until_ms, limit, self._out):
                next_ms = self._go_on(decided_ms)
                if next_ms < NEVER:
                    self._context.timers.register_event_time_timer(min(next_ms + grace_ms, MAX_TIMESTAMP))
        except USER_ERRORS as error:
            raise UserCodeError(key=untyped(self._backend.current.cell[KEY]), during=_DURING) from error
        finally:
            self._backend.leave()
        return self._split(Batch(self._out, self._times))

    def _go_on(self, until_ms: int) -> int:
        """Emit the matches of the current key that are certain at `until_ms`; return the next time to check."""
        cell, nearest = self._backend.current.cell, self._asof.nearest
        rights = sorted(cell[self._rights.column] or (), key=_TIME)
        times = [time for time, _ in rights]
        waiting: list[tuple[int, Any]] = []
        next_ms = NEVER
        lefts = cell[self._lefts.column]
        if lefts is not None:
            for left in sorted(lefts, key=_TIME):
                certain_ms, place = nearest.find(times, left[0])
                if certain_ms <= until_ms:
                    self._emit(left, None if place is None else rights[place], certain_ms)
                else:
                    waiting.append(left)
                    next_ms = min(next_ms, certain_ms)
            if len(waiting) < len(lefts):
                self._lefts.update(waiting)
        if rights:
            next_ms = min(next_ms, self._let_go(rights, times, waiting[0][0] if waiting else NEVER, until_ms))
        return next_ms

    def _let_go(self, rights: list[tuple[int, Any]], times: list[int], left_ms: int, until_ms: int) -> int:
        """Remove the right records that no left record can match; return when the next one can be removed.

        `left_ms` is the time of the first left record that waits.
        """
        nearest, is_deletion = self._asof.nearest, self._asof.is_deletion
        from_ms = min(left_ms, until_ms + 1)
        first = nearest.first_needed(times, from_ms)
        if is_deletion is not None and first < len(rights) and times[first] < from_ms and is_deletion(rights[first][1]):
            first += 1
        if first:
            self._rights.update(rights[first:])
        if first == len(rights):
            return NEVER
        newer_ms = next((time for time in times[first:] if time > until_ms), NEVER)
        over_ms = nearest.needed_until_ms(times[first])
        return newer_ms if over_ms <= until_ms or over_ms == MAX_TIMESTAMP else min(newer_ms, over_ms)

    def _emit(self, left: tuple[int, Any], right: tuple[int, Any] | None, certain_ms: int) -> None:
        asof, pair, out = self._asof, self._pair, self._out
        if right is not None and asof.is_deletion is not None and asof.is_deletion(right[1]):
            right = None
        if right is None and not asof.outer:
            return
        pair.own_ms, pair.kept_ms = left[0], None if right is None else right[0]
        pair.result_ms = time_ms = min(certain_ms + asof.grace_ms, MAX_TIMESTAMP)
        results = self._join(left[1], None if right is None else self._copied(right[1]), pair)
        if results is not None:
            self._extend(out, results)
            self._times += repeat(time_ms, len(out) - len(self._times))


@final
@dataclass(frozen=True, slots=True)
class AsOfJoinFactory:
    """Makes an as-of join."""

    function: ProcessJoinFunction
    asof: AsOf

    def create(self) -> AsOfJoinOperator:
        """Return a new operator, not yet opened."""
        return AsOfJoinOperator(self.function, self.asof)
