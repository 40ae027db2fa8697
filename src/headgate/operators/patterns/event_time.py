"""Patterns by event time: the records of a key in the order of their times.

Records wait until event time has come as far as theirs; those of the same time keep the order in which they came. (The
rules are those of Flink's `CepOperator`.)
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any, Final, final

from headgate.elements import Batch
from headgate.errors import ProgramError
from headgate.functions.context import TimeDomain
from headgate.functions.patterns.pattern import Pattern
from headgate.functions.patterns.process import PatternProcessFunction
from headgate.operators.keyed import KeyedCall, no_call
from headgate.operators.patterns.matching import Matching
from headgate.operators.patterns.operator import PatternOperator
from headgate.operators.side_outputs import LateRecords
from headgate.operators.waiting import WaitingRecords
from headgate.state.descriptors import ListStateDescriptor
from headgate.state.keyed.timer_index import NEVER
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import Types

_TIME: Final = itemgetter(0)


@final
class EventTimePatternOperator(PatternOperator):
    """Finds matches when the watermark comes to their records."""

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
