"""Patterns against brute force; and what skip strategies rule out, and when, against simpler rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.functions.patterns.pattern import Pattern
from headgate.functions.patterns.skip import AfterMatchSkipStrategy, Skip
from headgate.operators.patterns.matching import Matching, TimedMatch
from headgate.operators.patterns.nfa import Nfa
from tests.property.pattern_model import Event, Model
from tests.property.pattern_strategies import patterns, strategies
from tests.sample_size import sample_size

END: Final = 10**9
EVENTS: Final = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 4)), max_size=7)
"""Letters, and the time since the one before."""

Records = list[tuple[Event, int]]


def timed(letters: list[tuple[str, int]]) -> Records:
    times = [sum(gap for _, gap in letters[: index + 1]) for index in range(len(letters))]
    return [((letter, index), times[index]) for index, (letter, _) in enumerate(letters)]


def run(pattern: Pattern, records: Records, matching: Matching, *, by_ms: bool = False) -> list[TimedMatch]:
    """Return all that is found; with `by_ms`, while time passes millisecond by millisecond."""
    nfa, found, now_ms = Nfa(pattern), [], 0
    for event, time in records:
        for each in range(now_ms, time) if by_ms else ():
            found += nfa.pass_time(matching, each)
        now_ms = time
        found += nfa.process(matching, event, time)
    for each in range(now_ms, now_ms + 30) if by_ms else ():
        found += nfa.pass_time(matching, each)
    return found + nfa.pass_time(matching, END)


def taken(found: TimedMatch) -> list[tuple[str, int]]:
    """Return the steps and records of a match."""
    return sorted(
        ((name, event[1]) for name, events in found.match.items() for event in events), key=lambda one: one[1]
    )


@pytest.mark.slow
@settings(max_examples=sample_size(600, at_most=50), deadline=None)
@given(pattern=patterns(), letters=EVENTS)
def test_the_automaton_finds_what_trying_everything_does(pattern: Pattern, letters: list[tuple[str, int]]) -> None:
    records, matching = timed(letters), Matching()
    found = run(pattern, records, matching)
    matches = sorted(taken(each) for each in found if not each.is_timed_out)
    assert matches == Model(pattern, [event for event, _ in records], [time for _, time in records]).matches()
    held = {each.node for each in matching.partials}
    kept = {taken.number for node in held for taken in matching.buffer.path(node)}
    assert {taken.number for taken in matching.buffer.nodes.values()} == kept
    if pattern.within_ms is not None:
        assert matching.is_empty
        assert not matching.buffer.nodes
        assert not matching.buffer.holders


@pytest.mark.slow
@settings(max_examples=sample_size(300, at_most=40), deadline=None)
@given(data=st.data(), letters=EVENTS)
def test_it_does_not_matter_in_what_steps_time_passes(data: st.DataObject, letters: list[tuple[str, int]]) -> None:
    pattern = data.draw(patterns())
    if data.draw(st.booleans()):
        pattern = replace(pattern, skip=data.draw(strategies(pattern)))
    records = timed(letters)
    slow, fast = (run(pattern, records, Matching(), by_ms=by_ms) for by_ms in (True, False))
    assert sorted(map(shown, slow)) == sorted(map(shown, fast))


def shown(found: TimedMatch) -> tuple[Any, ...]:
    return found.time_ms, found.is_timed_out, taken(found)


@pytest.mark.slow
@settings(max_examples=sample_size(400, at_most=40), deadline=None)
@given(data=st.data(), letters=EVENTS)
def test_a_skip_strategy_leaves_what_it_says(data: st.DataObject, letters: list[tuple[str, int]]) -> None:
    pattern, records, matching = data.draw(patterns()), timed(letters), Matching()
    strategy = data.draw(strategies(pattern))
    every = [taken(each) for each in run(pattern, records, Matching(), by_ms=True) if not each.is_timed_out]
    some = run(replace(pattern, skip=strategy), records, matching, by_ms=True)
    began = [matching.buffer.path(each.node)[0].value[1] for each in matching.partials]
    expected = [each for each in left_by(strategy, every) if each[0][1] <= min(began, default=len(records))]
    assert [taken(each) for each in some if not each.is_timed_out] == expected
    if matching.is_empty:
        assert not matching.buffer.nodes


def left_by(strategy: AfterMatchSkipStrategy, matches: list[list[tuple[str, int]]]) -> list[list[tuple[str, int]]]:
    """Return what a strategy leaves of all matches, which come in the order in which they are complete."""
    left: list[list[tuple[str, int]]] = []
    ruled_out = -1
    for match in sorted(matches, key=lambda each: each[0][1]):
        first = match[0][1]
        if first <= ruled_out:
            continue
        left.append(match)
        numbers = [number for name, number in match if name == strategy.step] or [first]
        last = {
            Skip.TO_NEXT: first,
            Skip.PAST_LAST: match[-1][1],
            Skip.TO_FIRST: numbers[0] - 1,
            Skip.TO_LAST: numbers[-1] - 1,
        }
        ruled_out = max(ruled_out, last[strategy.skip])
    return left
