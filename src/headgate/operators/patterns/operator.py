"""The pattern operator: the records of a key in the order of their times, and what the automaton finds in them.

Records wait until event time has come as far as theirs; those of the same time keep the order in which they came. (The
rules of event time are those of Flink's `CepOperator`.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import Any, Final, final

from headgate.elements import Barrier, Batch
from headgate.errors import ProgramError, RestoreError
from headgate.functions.context import TimeDomain
from headgate.functions.patterns.pattern import Pattern
from headgate.functions.patterns.process import Match, PatternProcessFunction, TimedOutPartialMatchHandler
from headgate.operators.base import USER_ERRORS, OperatorSnapshot, Runtime, UserCodeError
from headgate.operators.calls import many
from headgate.operators.keyed import KeyedCall, KeyedOperator, no_call
from headgate.operators.late import LateRecords
from headgate.operators.patterns.nfa import Found, Matching, Nfa
from headgate.operators.waiting import Waiting
from headgate.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from headgate.state.keyed.cells import KEY
from headgate.state.keyed.timer_index import NEVER
from headgate.state.operator.list_elements import ListElements, ListMode
from headgate.time.timers import Timers
from headgate.types.output_tag import OutputTag
from headgate.types.typed_key import untyped
from headgate.types.typeinfo import Types

_SHAPE: Final = "_pattern"
"""The list state that tells of which pattern the matches under way are."""

MatchCall = Callable[[Match, PatternProcessFunction.Context], "Iterable[Any] | None"]


@final
class MatchContext(PatternProcessFunction.Context):
    """The time of the current match."""

    __slots__ = ("time_ms",)

    time_ms: int

    def timestamp(self) -> int:
        return self.time_ms


@final
class PatternOperator(KeyedOperator):
    """Finds the matches of a pattern in the records of each key."""

    def __init__(self, pattern: Pattern, function: PatternProcessFunction, late_tag: OutputTag | None) -> None:
        super().__init__(function, self._bound)
        self._nfa = Nfa(pattern)
        self._late_tag = late_tag

    def _bound(self, function: Any, runtime: Runtime) -> KeyedCall:
        self._matched: MatchCall = many(function.process_match)
        handles = isinstance(function, TimedOutPartialMatchHandler)
        self._timed_out: MatchCall = many(function.process_timed_out_match) if handles else _nothing
        self._found_at = MatchContext()
        self._check_shape()
        pickled = Types.PICKLED_BYTE_ARRAY()
        self._early = self._backend.state(ListStateDescriptor("early", pickled))
        self._waiting = Waiting(self._backend, self._early, LateRecords(self.context, self._late_tag))
        self._matching = self._backend.state(ValueStateDescriptor("matching", pickled))
        return no_call

    def _check_shape(self) -> None:
        """Raise `RestoreError` if the matches under way are those of another pattern."""
        for shape in self.context.restored.values(_SHAPE):
            if shape != self._nfa.shape:
                raise RestoreError(
                    f"operator {self.context.name!r} was saved with matches under way of another pattern, {shape}, "
                    f"which cannot become those of {self._nfa.shape}: keep the names of the steps, their order and how "
                    "many records each takes, or give the operator another uid"
                )

    def _has_timers(self) -> bool:
        return True

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        taken = super().snapshot(barrier)
        shape = ListElements(ListMode.UNION, ListElements.of([self._nfa.shape]).elements)
        return replace(taken, lists=taken.lists | {_SHAPE: shape})

    # --- records

    def _run(self, keys: list[Any], call: KeyedCall) -> Batch:
        next(self._position)
        raise ProgramError(
            "patterns go by event time, and this record has no timestamp: call assign_timestamps_and_watermarks() on "
            "the stream"
        )

    def _run_timed(self, keys: list[Any], timestamps: list[int], call: KeyedCall) -> Batch:
        return self._waiting.keep(self._context.timers, zip(keys, timestamps, self._position))  # noqa: B905  # lengths agree

    # --- time

    def _fire(self, timers: Timers, until_ms: int, limit: int, domain: TimeDomain) -> Batch:
        self._out: list[Any] = []
        self._times: list[int] = []
        try:
            for _ in timers.due(until_ms, limit, self._out):
                self._go_on(until_ms)
        except USER_ERRORS as error:
            raise UserCodeError(key=untyped(self._backend.cell[KEY]), during="the search for matches") from error
        finally:
            self._backend.leave()
        return self._split(Batch(self._out, self._times))

    def _go_on(self, until_ms: int) -> None:
        """Hand the current key's records up to a time to the automaton."""
        nfa, waiting = self._nfa, self._backend.cell[self._early.column]
        matching = self._matching.value() or Matching()
        next_ms = NEVER
        if waiting is not None:
            ordered = sorted(waiting, key=_TIME)
            due = len(ordered) if ordered[-1][0] <= until_ms else bisect_right(ordered, until_ms, key=_TIME)
            for time, value in islice(ordered, due):
                found = nfa.process(matching, value, time)
                if found:
                    self._emit(found)
            if due < len(ordered):
                next_ms = ordered[due][0]
            self._early.update(ordered[due:])
        found = nfa.pass_time(matching, until_ms)
        if found:
            self._emit(found)
        self._matching.update(None if matching.is_empty else matching)
        due_ms = nfa.due_ms(matching)
        if due_ms is not None and due_ms < next_ms:
            next_ms = due_ms
        if next_ms < NEVER:
            self._context.timers.register_event_time_timer(next_ms)

    def _emit(self, found: list[Found]) -> None:
        context, out, times = self._found_at, self._out, self._times
        for match, time_ms, is_timed_out in found:
            context.time_ms = time_ms
            results = (self._timed_out if is_timed_out else self._matched)(match, context)
            if results is not None:
                out += results
                times += [time_ms] * (len(out) - len(times))


_TIME: Final = itemgetter(0)


def _nothing(match: Match, context: PatternProcessFunction.Context) -> None:
    """What becomes of matches whose time has run out, of a function that does not want to see them."""


@final
@dataclass(frozen=True, slots=True)
class PatternFactory:
    """Makes a pattern operator."""

    pattern: Pattern
    function: PatternProcessFunction
    late_tag: OutputTag | None

    def create(self) -> PatternOperator:
        """Return a new operator, not yet opened."""
        return PatternOperator(self.pattern, self.function, self.late_tag)
