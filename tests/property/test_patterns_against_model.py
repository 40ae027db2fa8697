"""Patterns against brute force: all sequences of records, by the rules on what may lie between two of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, final

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.common import Time
from headgate.functions.patterns.conditions import ConditionContext, IterativeCondition
from headgate.functions.patterns.pattern import Pattern
from headgate.functions.patterns.step import UNBOUNDED, Contiguity, Forbids, Step
from headgate.operators.patterns.nfa import Matching, Nfa

Event = tuple[str, int]
"""A letter, and a number of its own."""
Path = list[tuple[Step, int]]
"""The records that a match takes: by which step, and which of all."""


@final
class Grows(IterativeCondition):
    """The letter, if it is not before the first that the match has taken by this step."""

    def __init__(self, name: str, letters: str) -> None:
        self._name = name
        self._letters = letters

    def filter(self, value: Event, ctx: ConditionContext) -> bool:
        taken = ctx.get_events_for_pattern(self._name)
        return value[0] in self._letters and all(value[0] >= each[0] for each in taken)


@final
@dataclass
class Taken(ConditionContext):
    taken: dict[str, list[Event]]

    def get_events_for_pattern(self, name: str) -> list[Event]:
        return self.taken.get(name, [])

    def timestamp(self) -> int:
        raise AssertionError("not asked for")


@final
@dataclass
class Model:
    """Tries everything. Conditions are tested anew each time."""

    pattern: Pattern
    events: list[Event]
    times: list[int]

    def meets(self, condition: Any, number: int, path: Path) -> bool:
        if condition is None:
            return True
        value = self.events[number]
        if isinstance(condition, IterativeCondition):
            taken: dict[str, list[Event]] = {}
            for step, each in path:
                taken.setdefault(step.name, []).append(self.events[each])
            return bool(condition.filter(value, Taken(taken)))
        return bool(condition.test(value))

    def takes(self, step: Step, number: int, path: Path, contiguity: Contiguity) -> bool:
        """Whether the step may take a record as the next one of a path, by its conditions and by what lies between."""
        if not self.meets(step.condition, number, path):
            return False
        if step.until is not None:
            first = path[-1][1] + 1 if path else number
            if any(self.meets(step.until, each, path) for each in range(first, number + 1)):
                return False
        if not path:
            return True
        between = range(path[-1][1] + 1, number)
        if contiguity is Contiguity.STRICT:
            return not between
        if contiguity is Contiguity.RELAXED:
            return not any(self.meets(step.condition, each, path) for each in between)
        return True

    def allowed(self, forbidding: list[Step], path: Path, number: int) -> bool:
        """Whether nothing that is forbidden lies behind a path, up to a record that is taken."""
        last = path[-1][1]
        for step in forbidding:
            forbidden = [last + 1] if step.forbids is Forbids.NEXT else range(last + 1, number)
            if any(self.meets(step.condition, each, path) for each in forbidden):
                return False
        return True

    def in_time(self, path: Path) -> bool:
        within = self.pattern.within_ms
        return within is None or self.times[path[-1][1]] - self.times[path[0][1]] < within

    def matches(self) -> list[list[tuple[str, int]]]:
        return sorted([(step.name, number) for step, number in path] for path in self.paths([], 0))

    def paths(self, path: Path, index: int) -> Iterator[Path]:
        """Yield the matches that begin with a path and whose next records are of the steps from `index`."""
        if path and not self.in_time(path):
            return
        yield from self.ends(path, index)
        forbidding: list[Step] = []
        for step in self.pattern.steps[index:]:
            if step.forbids is not None:
                forbidding.append(step)
                continue
            for number in range(path[-1][1] + 1 if path else 0, len(self.events)):
                contiguity = step.contiguity
                if (
                    self.takes(step, number, path, contiguity)
                    and (not path or self.allowed(forbidding, path, number))
                    and not self.gives_way(path, number)
                ):
                    yield from self.looped([*path, (step, number)], 1)
            if not step.optional:
                return

    def looped(self, path: Path, count: int) -> Iterator[Path]:
        step, last = path[-1]
        index = self.pattern.steps.index(step) + 1
        if count >= step.least:
            yield from self.paths(path, index)
        if step.most == UNBOUNDED or count < step.most:
            for number in range(last + 1, len(self.events)):
                if self.takes(step, number, path, step.inner):
                    yield from self.looped([*path, (step, number)], count + 1)

    def gives_way(self, path: Path, number: int) -> bool:
        """Whether the last step of the path is greedy, and could have taken one up to this record."""
        if not path or not path[-1][0].greedy:
            return False
        step, last = path[-1]
        count = sum(each is step for each, _ in path)
        if step.most != UNBOUNDED and count >= step.most:
            return False
        return any(self.takes(step, each, path, step.inner) for each in range(last + 1, number + 1))

    def ends(self, path: Path, index: int) -> Iterator[Path]:
        """Yield the path if it is a match, which nothing forbids."""
        rest = self.pattern.steps[index:]
        if not path or not all(step.optional or step.forbids is not None for step in rest):
            return
        forbidding = [step for step in rest if step.forbids is not None]
        if not forbidding:
            yield path
            return
        within, last = self.pattern.within_ms, path[-1][1]
        over = None if within is None else self.times[path[0][1]] + within
        in_time = len(self.times) if over is None else sum(time < over for time in self.times)
        only_next = all(step.forbids is Forbids.NEXT for step in forbidding)
        decided = over is not None or (only_next and last + 1 < len(self.events))
        until = min(last + 2, in_time) if only_next else in_time
        if decided and (last + 1 >= until or self.allowed(forbidding, path, until)):
            yield path


LETTERS: Final = st.sampled_from(["a", "b", "c", "ab", "bc", "abc"])


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    pattern: Pattern | None = None
    last_forbids = False
    for index in range(draw(st.integers(1, 4))):
        name, letters = f"s{index}", draw(LETTERS)
        if pattern is None:
            pattern = Pattern.begin(name)
            forbids = False
        else:
            forbids = not pattern.steps[-1].optional and draw(st.integers(0, 4)) == 0
            methods = ["not_next", "not_followed_by"] if forbids else ["next", "followed_by", "followed_by_any"]
            pattern = getattr(pattern, draw(st.sampled_from(methods)))(name)
        condition: Any = Grows(name, letters) if draw(st.integers(0, 3)) == 0 else _in(letters)
        pattern = pattern.where(condition)
        last_forbids = forbids
        if not forbids:
            pattern = draw(quantified(pattern))
    assert pattern is not None
    if draw(st.booleans()) or last_forbids:
        pattern = pattern.within(Time.milliseconds(draw(st.integers(1, 12))))
    if all(step.optional for step in pattern.steps if step.forbids is None):
        pattern = replace(pattern, steps=(replace(pattern.steps[0], optional=False), *pattern.steps[1:]))
    return pattern


@st.composite
def quantified(draw: st.DrawFn, pattern: Pattern) -> Pattern:
    how = draw(st.sampled_from(["one", "one", "times", "range", "more"]))
    if how == "times":
        pattern = pattern.times(2)
    elif how == "range":
        pattern = pattern.times(1, 3)
    elif how == "more":
        pattern = pattern.times_or_more(draw(st.integers(1, 2)))
        if draw(st.booleans()):
            pattern = pattern.until(_in(draw(LETTERS)))
    if how != "one":
        inner = draw(st.sampled_from(["relaxed", "consecutive", "allow_combinations"]))
        pattern = pattern if inner == "relaxed" else getattr(pattern, inner)()
        if draw(st.booleans()) and (
            len(pattern.steps) == 1 or pattern.steps[-1].contiguity is not Contiguity.NON_DETERMINISTIC
        ):
            pattern = pattern.greedy()
    return pattern.optional() if draw(st.integers(0, 3)) == 0 else pattern


def _in(letters: str) -> Any:
    return lambda event: event[0] in letters


@settings(max_examples=400, deadline=None)
@given(
    pattern=patterns(),
    letters=st.lists(st.sampled_from("abcd"), max_size=7),
    gaps=st.lists(st.integers(0, 4), min_size=7, max_size=7),
)
def test_the_automaton_finds_what_trying_everything_does(pattern: Pattern, letters: list[str], gaps: list[int]) -> None:
    times = [sum(gaps[: index + 1]) for index in range(len(letters))]
    events = [(letter, number) for number, letter in enumerate(letters)]
    nfa = Nfa(pattern)
    matching = Matching()
    found = [each for event, time in zip(events, times, strict=True) for each in nfa.process(matching, event, time)]
    found += nfa.pass_time(matching, 10**9)
    matches = sorted(
        sorted(((name, event[1]) for name, taken in each.match.items() for event in taken), key=lambda one: one[1])
        for each in found
        if not each.is_timed_out
    )
    assert matches == Model(pattern, events, times).matches()
    held = {each.node for each in matching.partials}
    kept = {taken.number for node in held for taken in matching.buffer.path(node)}
    assert {taken.number for taken in matching.buffer.nodes.values()} == kept
    if pattern.within_ms is not None:
        assert matching.is_empty
        assert not matching.buffer.nodes
        assert not matching.buffer.holders
