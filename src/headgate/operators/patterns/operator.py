"""What pattern operators have in common: the automaton, the function that is called with what it finds, snapshots."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Final, final

from headgate.elements import Barrier, Batch
from headgate.errors import RestoreError
from headgate.functions.context import TimeDomain
from headgate.functions.patterns.pattern import Pattern
from headgate.functions.patterns.process import Match, PatternProcessFunction, TimedOutPartialMatchHandler
from headgate.operators.base import USER_ERRORS, OperatorSnapshot, Runtime, UserCodeError
from headgate.operators.calls import many
from headgate.operators.keyed import KeyedCall, KeyedOperator
from headgate.operators.patterns.matching import Matching, TimedMatch
from headgate.operators.patterns.nfa import Nfa
from headgate.state.descriptors import ValueStateDescriptor
from headgate.state.keyed.cells import KEY
from headgate.state.operator.list_elements import ListElements, ListMode
from headgate.time.timers import Timers
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


class PatternOperator(KeyedOperator):
    """Finds the matches of a pattern in the records of each key. Subclasses say when a record's turn comes."""

    domain: ClassVar[TimeDomain]
    """The time that the pattern goes by."""

    def __init__(self, pattern: Pattern, function: PatternProcessFunction) -> None:
        super().__init__(function, self._bound)
        self._nfa = Nfa(pattern)

    def _bound(self, function: Any, runtime: Runtime) -> KeyedCall:
        self._matched: MatchCall = many(function.process_match)
        handles = isinstance(function, TimedOutPartialMatchHandler)
        self._timed_out: MatchCall = many(function.process_timed_out_match) if handles else _nothing
        self._found_at = MatchContext()
        self._each_copied = self.context.passing.each_copied
        self._check_shape()
        self._matching = self._backend.state(ValueStateDescriptor("matching", Types.PICKLED_BYTE_ARRAY()))
        return self._opened()

    @abstractmethod
    def _opened(self) -> KeyedCall:
        """Prepare what the operator has of its own; return what it does for each record."""

    @property
    def _shape(self) -> str:
        return self._nfa.shape if self.domain is TimeDomain.EVENT_TIME else f"{self._nfa.shape} in processing time"

    def _check_shape(self) -> None:
        """Raise `RestoreError` if the matches under way are those of another pattern."""
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
            raise UserCodeError(key=untyped(self._backend.cell[KEY]), during="the search for matches") from error
        finally:
            self._backend.leave()
        return self._split(Batch(self._out, self._times if domain is TimeDomain.EVENT_TIME else None))

    @abstractmethod
    def _go_on(self, until_ms: int) -> None:
        """Let time pass for the current key; emit what is found."""

    def _begin(self) -> None:
        """Begin what is emitted anew."""
        self._out: list[Any] = []
        self._times: list[int] = []

    def _keep(self, matching: Matching) -> None:
        """Keep what is known of the current key, if there is something."""
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
    """What becomes of matches whose time has run out, of a function that does not want to see them."""
