"""Patterns by processing time: the records of a key in the order in which they come, each at the time when it comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from headgate.elements import Batch
from headgate.functions.context import TimeDomain
from headgate.functions.patterns.pattern import Pattern
from headgate.functions.patterns.process import PatternProcessFunction
from headgate.operators.keyed import KeyedCall
from headgate.operators.patterns.matching import Matching
from headgate.operators.patterns.operator import PatternOperator
from headgate.state.keyed.timer_index import NEVER


@final
class ProcessingTimePatternOperator(PatternOperator):
    """Finds matches as records come; those of a batch come at one time. Results have no timestamps."""

    domain = TimeDomain.PROCESSING_TIME

    def _opened(self) -> KeyedCall:
        return self._take

    def _run(self, keys: list[Any], call: KeyedCall) -> Batch:
        self._now_ms = self.context.services.clock.wall_ms()
        return super()._run(keys, call)

    def _run_timed(self, keys: list[Any], timestamps: list[int], call: KeyedCall) -> Batch:
        return self._run(keys, call)

    def _take(self, value: Any, context: object) -> list[Any] | None:
        """Hand a record of the current key to the automaton; return what comes of what is found."""
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
        """Keep what is known of the current key until the time of something is over."""
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
