"""Patterns in the operator against the automaton: records in any order, any watermarks, over restarts and rescaling."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.common import Time
from headgate.datastream import DataStream
from headgate.elements import MIN_TIMESTAMP
from headgate.operators.patterns.matching import Matching, TimedMatch
from headgate.operators.patterns.nfa import Nfa
from headgate.pattern import (
    CEP,
    AfterMatchSkipStrategy,
    Match,
    Pattern,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
    WithinType,
)
from tests.property.subtasks import LATE, Subtasks
from tests.sample_size import sample_size

Event = tuple[str, int, int]
"""A key, a number of its own, and a time. A third of the numbers are of each step."""


@final
class Numbers(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> list[Any]:
        return [shown(TimedMatch(match, ctx.timestamp()))]

    def process_timed_out_match(self, match: Match, ctx: PatternProcessFunction.Context) -> list[Any]:
        return [shown(TimedMatch(match, ctx.timestamp(), is_timed_out=True))]


def shown(found: TimedMatch) -> tuple[Any, ...]:
    return found.is_timed_out, found.time_ms, *((name, tuple(events)) for name, events in found.match.items())


def of(step: int) -> Any:
    return lambda event: event[1] % 3 == step


PATTERNS: Final = [
    Pattern.begin("a").where(of(0)).followed_by("b").where(of(1)).within(Time.milliseconds(9)),
    Pattern.begin("a").where(of(0)).followed_by_any("b").where(of(1)).one_or_more().next("c").where(of(2)),
    Pattern.begin("a").where(of(0)).not_followed_by("b").where(of(1)).within(Time.milliseconds(7)),
    Pattern.begin("a", AfterMatchSkipStrategy.skip_past_last_event())
    .where(of(0))
    .times(2)
    .followed_by("c")
    .where(of(2)),
    Pattern.begin(Pattern.begin("a").where(of(0)).followed_by("b").where(of(1)))
    .times_or_more(2)
    .followed_by("c")
    .where(of(2))
    .within(Time.milliseconds(6), WithinType.PREVIOUS_AND_CURRENT),
    Pattern.begin("a", AfterMatchSkipStrategy.skip_to_next())
    .where(of(0))
    .one_or_more()
    .not_followed_by("b")
    .where(of(1))
    .within(Time.milliseconds(4), WithinType.PREVIOUS_AND_CURRENT),
]


@final
@dataclass
class Model:
    """All records of each key, in the order of their times, handed to an automaton of its own."""

    nfa: Nfa
    watermark: int = MIN_TIMESTAMP
    waiting: list[Event] = field(default_factory=list)
    keys: dict[str, Matching] = field(default_factory=dict)
    late: list[int] = field(default_factory=list)

    def add(self, event: Event) -> None:
        if event[2] <= self.watermark:
            self.late.append(event[1])
        else:
            self.waiting.append(event)

    def advance(self, watermark: int) -> list[Any]:
        self.watermark = max(self.watermark, watermark)
        found = []
        for event in sorted(self.waiting, key=lambda event: event[2]):
            if event[2] <= self.watermark:
                self.waiting.remove(event)
                found += self.take(event, event[2])
        return [shown(each) for each in found] + self.pass_time(self.watermark)

    def take(self, event: Event, time_ms: int) -> list[TimedMatch]:
        """Hand a record to the automaton, at a time."""
        return self.nfa.process(self.keys.setdefault(event[0], Matching()), event, time_ms)

    def pass_time(self, time_ms: int) -> list[Any]:
        return [shown(each) for matching in self.keys.values() for each in self.nfa.pass_time(matching, time_ms)]


STEPS: Final = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("abc"), st.integers(0, 30)),
        st.tuples(st.just("a"), st.integers(0, 30)),
        st.integers(0, 40),
        st.sampled_from(["restart", "rescale", "complete", "abort", "begin"]),
    ),
    max_size=30,
)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=sample_size(60, at_most=10), deadline=None)
@given(steps=STEPS, incremental=st.booleans())
def test_the_operator_finds_what_the_automaton_does(
    backend: str, pattern: Pattern, steps: list[Any], incremental: bool
) -> None:
    model = Model(Nfa(pattern))

    def build(stream: DataStream) -> DataStream:
        keyed = stream.key_by(lambda event: event[0])
        return CEP.pattern(keyed, pattern).side_output_late_data(LATE).process(Numbers())

    operator = Subtasks(build, backend, incremental)
    operator.start([], model.watermark)
    try:
        for number, step in enumerate([*steps, 100]):
            if step in ("restart", "rescale"):
                operator.restart(model.watermark, more=int(step == "rescale"))
            elif isinstance(step, str):
                operator.checkpoint(step)
            elif isinstance(step, int):
                assert sorted(operator.advance(max(step, model.watermark))) == sorted(model.advance(step))
            else:
                event = step[0], number, step[1]
                assert operator.add([event]) == []
                model.add(event)
        assert all(not harness.state("early") for harness in operator.running)
    finally:
        operator.stop()
    assert sorted(operator.late) == sorted(model.late)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=sample_size(40), deadline=None)
@given(steps=STEPS, incremental=st.booleans())
def test_by_processing_time_it_finds_what_the_automaton_does_in_the_order_of_arrival(
    backend: str, pattern: Pattern, steps: list[Any], incremental: bool
) -> None:
    """A number is by how much time passes; those of records are not looked at."""
    model, now_ms = Model(Nfa(pattern)), 0

    def build(stream: DataStream) -> DataStream:
        return CEP.pattern(stream.key_by(lambda event: event[0]), pattern).in_processing_time().process(Numbers())

    operator = Subtasks(build, backend, incremental)
    operator.start([], MIN_TIMESTAMP)
    try:
        for number, step in enumerate([*steps, 100]):
            if step in ("restart", "rescale"):
                operator.restart(MIN_TIMESTAMP, more=int(step == "rescale"))
                assert operator.pass_time(now_ms) == []  # clocks of new harnesses begin at 0
            elif isinstance(step, str):
                operator.checkpoint(step)
            elif isinstance(step, int):
                now_ms += step
                assert sorted(operator.pass_time(step)) == sorted(model.pass_time(now_ms))
            else:
                event = step[0], number, step[1]
                assert operator.add([event]) == [shown(each) for each in model.take(event, now_ms)]
    finally:
        operator.stop()
