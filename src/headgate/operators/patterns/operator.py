"""Pattern operators: they find the matches of a pattern in the records of each key, and call the function with each.

By event time a key's records are matched in the order of their times: a record waits until event time has reached its
time. Records of the same time keep the order in which they came. (As in Flink's `CepOperator`.) By processing time
records are matched as they come.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import Any, ClassVar, Final, final

from headgate.elements import Barrier, Batch
from headgate.errors import ProgramError, RestoreError
from headgate.functions.context import TimeDomain
from headgate.functions.patterns.functions import Match, PatternProcessFunction, TimedOutPartialMatchHandler
from headgate.functions.patterns.pattern import Pattern
from headgate.operators.base import USER_ERRORS, OperatorSnapshot, UserCodeError
from headgate.operators.calls import many
from headgate.operators.keyed import KeyedCall, KeyedOperator, no_call
from headgate.operators.out_of_order import LateRecords, WaitingRecords
from headgate.operators.patterns.matching import Matching, TimedMatch
from headgate.operators.patterns.nfa import Nfa
from headgate.operators.runtime_context import Runtime
from headgate.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from headgate.state.keyed.cells import KEY
from headgate.state.keyed.timer_index import NEVER
from headgate.state.operator.list_elements import ListElements, ListMode
from headgate.time.timers import Timers
from headgate.types.output_tag import OutputTag
from headgate.types.typed_key import untyped
from headgate.types.typeinfo import Types

_SHAPE: Final = "_pattern"
"""The list state that holds the shape of the pattern that the saved partial matches belong to."""

MatchCall = Callable[[Match, PatternProcessFunction.Context], "Iterable[Any] | None"]


@final
class MatchContext(PatternProcessFunction.Context):
    """The time of the current match."""

    __slots__ = ("time_ms",)

    time_ms: int

    def timestamp(self) -> int:
        return self.time_ms


class PatternOperator(KeyedOperator):
    """Finds the matches of a pattern in the records of each key. Subclasses decide when a record is processed."""

    domain: ClassVar[TimeDomain]
    """The time domain of the pattern."""

    def __init__(self, pattern: Pattern, function: PatternProcessFunction) -> None:
        super().__init__(function, self._bound)
        self._nfa = Nfa(pattern)

    def _bound(self, function: Any, runtime: Runtime) -> KeyedCall:
        self._matched: MatchCall = many(function.process_match, runtime.native)
        handles = isinstance(function, TimedOutPartialMatchHandler)
        self._timed_out: MatchCall = many(function.process_timed_out_match, runtime.native) if handles else _nothing
        self._found_at = MatchContext()
        self._each_copied = self.context.passing.each_copied
        self._check_shape()
        self._matching = self._backend.state(ValueStateDescriptor("matching", Types.PICKLED_BYTE_ARRAY()))
        return self._opened()

    @abstractmethod
    def _opened(self) -> KeyedCall:
        """Open the state of the subclass; return its call for each record."""

    @property
    def _shape(self) -> str:
        return self._nfa.shape if self.domain is TimeDomain.EVENT_TIME else f"{self._nfa.shape} in processing time"

    def _check_shape(self) -> None:
        """Raise `RestoreError` if the restored partial matches belong to another pattern."""
        for shape in self.context.restored.values(_SHAPE):
            if shape != self._shape:
                raise RestoreError(
                    f"operator {self.context.name!r} was saved with matches under way of another pattern, {shape}, "
                    f"which cannot become those of {self._shape}: keep the names of the steps, their order and how "
                    "many records each takes, or give the operator another uid"
                )

    def _has_timers(self) -> bool:
        return True

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        taken = super().snapshot(barrier)
        shape = ListElements(ListMode.UNION, ListElements.of([self._shape]).elements)
        return replace(taken, lists=taken.lists | {_SHAPE: shape})

    # --- time

    def _fire(self, timers: Timers, until_ms: int, limit: int, domain: TimeDomain) -> Batch:
        self._begin()
        try:
            for _ in timers.due(until_ms, limit, self._out):
                self._go_on(until_ms)
        except USER_ERRORS as error:
            raise UserCodeError(
                key=untyped(self._backend.current.cell[KEY]), during="the search for matches"
            ) from error
        finally:
            self._backend.leave()
        return self._split(Batch(self._out, self._times if domain is TimeDomain.EVENT_TIME else None))

    @abstractmethod
    def _go_on(self, until_ms: int) -> None:
        """Advance the time of the current key to `until_ms`; emit the matches found."""

    def _begin(self) -> None:
        """Clear the emitted results."""
        self._out: list[Any] = []
        self._times: list[int] = []

    def _keep(self, matching: Matching) -> None:
        """Store the matches of the current key, or remove its state if there are none."""
        self._matching.update(None if matching.is_empty else matching)

    def _emit(self, found: list[TimedMatch]) -> None:
        context, out, times = self._found_at, self._out, self._times
        for match, time_ms, is_timed_out in found:
            context.time_ms = time_ms
            own = {name: self._each_copied(records) for name, records in match.items()}
            results = (self._timed_out if is_timed_out else self._matched)(own, context)
            if results is not None:
                self._extend(out, results)
                times += [time_ms] * (len(out) - len(times))


def _nothing(match: Match, context: PatternProcessFunction.Context) -> None:
    """Drop a timed-out match, for a function that is no `TimedOutPartialMatchHandler`."""


@final
class ProcessingTimePatternOperator(PatternOperator):
    """Processes records as they arrive. All records of a batch have the same time. Results have no timestamps."""

    domain = TimeDomain.PROCESSING_TIME

    def _opened(self) -> KeyedCall:
        return self._take

    def _run(self, keys: list[Any], call: KeyedCall) -> Batch:
        self._now_ms = self.context.services.clock.wall_ms()
        return super()._run(keys, call)

    def _run_timed(self, keys: list[Any], timestamps: list[int], call: KeyedCall) -> Batch:
        return self._run(keys, call)

    def _take(self, value: Any, context: object) -> list[Any] | None:
        """Process a record of the current key; return the results for the matches found."""
        matching = self._matching.value() or Matching()
        found = self._nfa.process(matching, value, self._now_ms)
        self._wait(matching)
        if not found:
            return None
        self._begin()
        self._emit(found)
        return self._out

    def _go_on(self, until_ms: int) -> None:
        matching = self._matching.value() or Matching()
        self._emit(self._nfa.pass_time(matching, until_ms))
        self._wait(matching)

    def _wait(self, matching: Matching) -> None:
        """Store the matches of the current key, and register a timer for the first that times out."""
        self._keep(matching)
        due_ms = self._nfa.due_ms(matching)
        if due_ms < NEVER:
            self._context.timers.register_processing_time_timer(due_ms)


@final
@dataclass(frozen=True, slots=True)
class ProcessingTimePatternFactory:
    """Makes a pattern operator by processing time."""

    pattern: Pattern
    function: PatternProcessFunction

    def create(self) -> ProcessingTimePatternOperator:
        """Return a new operator, not yet opened."""
        return ProcessingTimePatternOperator(self.pattern, self.function)


_TIME: Final = itemgetter(0)


@final
class EventTimePatternOperator(PatternOperator):
    """Processes records when the watermark reaches their times."""

    domain = TimeDomain.EVENT_TIME

    def __init__(self, pattern: Pattern, function: PatternProcessFunction, late_tag: OutputTag | None) -> None:
        super().__init__(pattern, function)
        self._late_tag = late_tag

    def _opened(self) -> KeyedCall:
        self._early = self._backend.state(ListStateDescriptor("early", Types.PICKLED_BYTE_ARRAY()))
        self._waiting = WaitingRecords(self._backend, self._early, LateRecords(self.context, self._late_tag))
        return no_call

    def _run(self, keys: list[Any], call: KeyedCall) -> Batch:
        next(self._position)
        raise ProgramError(
            "patterns need event time, but this record has no timestamp: call assign_timestamps_and_watermarks() on "
            "the stream, or in_processing_time() on the pattern stream"
        )

    def _run_timed(self, keys: list[Any], timestamps: list[int], call: KeyedCall) -> Batch:
        return self._waiting.keep(self._context.timers, zip(keys, timestamps, self._position))  # noqa: B905  # lengths agree

    def _go_on(self, until_ms: int) -> None:
        """Process the current key's records up to `until_ms`."""
        nfa, waiting = self._nfa, self._backend.current.cell[self._early.column]
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
        self._keep(matching)
        next_ms = min(next_ms, nfa.due_ms(matching))
        if next_ms < NEVER:
            self._context.timers.register_event_time_timer(next_ms)


@final
@dataclass(frozen=True, slots=True)
class EventTimePatternFactory:
    """Makes a pattern operator by event time."""

    pattern: Pattern
    function: PatternProcessFunction
    late_tag: OutputTag | None

    def create(self) -> EventTimePatternOperator:
        """Return a new operator, not yet opened."""
        return EventTimePatternOperator(self.pattern, self.function, self.late_tag)
