"""Any patterns over letters: steps, loops, what must not come, groups, and times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, final

from hypothesis import strategies as st

from headgate.common import Time
from headgate.functions.patterns.functions import ConditionContext, IterativeCondition
from headgate.functions.patterns.pattern import Pattern
from headgate.functions.patterns.skip import AfterMatchSkipStrategy
from headgate.functions.patterns.step import Contiguity, WithinType
from tests.property.pattern_model import Event

LETTERS: Final = st.sampled_from(["a", "b", "c", "ab", "bc", "abc"])
NEAR_MAX_MS: Final = 6


@final
class Grows(IterativeCondition):
    """The letter, if it is not before the first that the match has taken by this step."""

    def __init__(self, name: str, letters: str) -> None:
        self._name = name
        self._letters = letters

    def filter(self, value: Event, ctx: ConditionContext) -> bool:
        taken = ctx.get_events_for_pattern(self._name)
        return value[0] in self._letters and all(value[0] >= each[0] for each in taken)


def in_letters(letters: str) -> Any:
    """Return the condition that a letter is one of these."""
    return lambda event: event[0] in letters


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    """Draw a whole pattern, with groups of groups."""
    pattern = draw(_steps("s", 4, 2))
    if pattern.steps[-1].forbids is not None and draw(st.booleans()):
        pattern = pattern.within(_ms(draw(st.integers(1, NEAR_MAX_MS))), WithinType.PREVIOUS_AND_CURRENT)
    if draw(st.booleans()) or (pattern.steps[-1].forbids is not None and pattern.steps[-1].gap_ms is None):
        nearest = max((one.gap_ms or 1 for step in pattern.steps for one in step.singles), default=1)
        pattern = pattern.within(_ms(draw(st.integers(nearest, 12))))
    first = pattern.steps[0]
    if all(step.optional for step in pattern.steps if step.forbids is None):
        first = replace(first, optional=False)
    if not first.loops:
        first = replace(first, gap_ms=None)
    return replace(pattern, steps=(first, *pattern.steps[1:]))


@st.composite
def _steps(draw: st.DrawFn, prefix: str, most: int, depth: int) -> Pattern:
    """Draw the steps of a pattern, or of a group in it; their names begin with a text."""
    pattern: Pattern | None = None
    for index in range(draw(st.integers(1, most))):
        name = f"{prefix}{index}"
        if pattern is None:
            pattern = Pattern.begin(draw(_named(name, depth)))
        elif not pattern.steps[-1].optional and draw(st.integers(0, 4)) == 0:
            forbid = getattr(pattern, draw(st.sampled_from(["not_next", "not_followed_by"])))
            pattern = draw(_conditioned(forbid(name)))
            continue
        else:
            method = draw(st.sampled_from(["next", "followed_by", "followed_by_any"]))
            pattern = getattr(pattern, method)(draw(_named(name, depth)))
        if not pattern.steps[-1].group:
            pattern = draw(_conditioned(pattern))
        pattern = draw(_quantified(pattern))
    assert pattern is not None
    return pattern


@st.composite
def _named(draw: st.DrawFn, name: str, depth: int) -> str | Pattern:
    """Draw what a step is: one of a name, or a group."""
    if depth == 0 or draw(st.integers(0, 3)):
        return name
    group: Pattern = draw(_steps(f"{name}.", 3, depth - 1))
    while group.steps[-1].forbids is not None:
        group = replace(group, steps=group.steps[:-1])
    return replace(group, steps=(replace(group.steps[0], optional=False), *group.steps[1:]))


@st.composite
def _conditioned(draw: st.DrawFn, pattern: Pattern) -> Pattern:
    name, letters = pattern.steps[-1].name, draw(LETTERS)
    pattern = pattern.where(Grows(name, letters) if draw(st.integers(0, 3)) == 0 else in_letters(letters))
    if pattern.steps[-1].forbids is None and draw(st.integers(0, 3)) == 0:
        pattern = pattern.within(_ms(draw(st.integers(1, NEAR_MAX_MS))), WithinType.PREVIOUS_AND_CURRENT)
    return pattern


@st.composite
def _quantified(draw: st.DrawFn, pattern: Pattern) -> Pattern:
    is_group, how = bool(pattern.steps[-1].group), draw(st.sampled_from(["one", "one", "times", "range", "more"]))
    if how == "times":
        pattern = pattern.times(2)
    elif how == "range":
        pattern = pattern.times(1, 3)
    elif how == "more":
        pattern = pattern.times_or_more(draw(st.integers(1, 2)))
        if draw(st.booleans()):
            pattern = pattern.until(in_letters(draw(LETTERS)))
    if how != "one":
        inner = draw(st.sampled_from(["relaxed", "consecutive", "allow_combinations"]))
        pattern = pattern if inner == "relaxed" else getattr(pattern, inner)()
        leaves_out = len(pattern.steps) > 1 and pattern.steps[-1].contiguity is Contiguity.NON_DETERMINISTIC
        if not is_group and not leaves_out and draw(st.booleans()):
            pattern = pattern.greedy()
    return pattern.optional() if draw(st.integers(0, 3)) == 0 else pattern


@st.composite
def strategies(draw: st.DrawFn, pattern: Pattern) -> AfterMatchSkipStrategy:
    """Draw a skip strategy for a pattern, other than none."""
    names = [one.name for step in pattern.steps for one in step.singles if one.forbids is None]
    to_step = st.sampled_from(names)
    return draw(
        st.one_of(
            st.just(AfterMatchSkipStrategy.skip_to_next()),
            st.just(AfterMatchSkipStrategy.skip_past_last_event()),
            st.builds(AfterMatchSkipStrategy.skip_to_first, to_step),
            st.builds(AfterMatchSkipStrategy.skip_to_last, to_step),
        )
    )


def _ms(time_ms: int) -> Time:
    return Time.milliseconds(time_ms)
