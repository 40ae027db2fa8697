"""Patterns by brute force: all sequences of records, by the rules on what may lie between two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

from headgate.functions.patterns.functions import ConditionContext, IterativeCondition
from headgate.functions.patterns.pattern import Pattern
from headgate.functions.patterns.step import UNBOUNDED, Contiguity, Forbids, PatternStep

Event = tuple[str, int]
"""A letter, and a number of its own."""


@final
@dataclass
class TakenSoFar(ConditionContext):
    taken: dict[str, list[Event]]

    def get_events_for_pattern(self, name: str) -> list[Event]:
        return self.taken.get(name, [])

    def timestamp(self) -> int:
        raise AssertionError("not asked for")


class Took(NamedTuple):
    """A record that a step takes, the conditions that end that step, and whether it may take one more."""

    step: PatternStep
    number: int
    until: tuple[Any, ...]
    more: bool


class Path(NamedTuple):
    """What a match has taken, and the steps since then that forbid records."""

    took: tuple[Took, ...] = ()
    forbidding: tuple[PatternStep, ...] = ()

    @property
    def last(self) -> int:
        return self.took[-1].number


Then = Callable[[Path], Iterator[Path]]


@final
@dataclass
class Model:
    """Tries everything. Conditions are tested anew each time."""

    pattern: Pattern
    events: list[Event]
    times: list[int]

    def matches(self) -> list[list[tuple[str, int]]]:
        """Return all matches, each as the steps and records that it takes."""
        paths = self.through(self.pattern.steps, (), Path(), self.ends)
        return sorted([(took.step.name, took.number) for took in path.took] for path in paths)

    # --- all ways through the steps

    def through(self, steps: tuple[PatternStep, ...], until: tuple[Any, ...], path: Path, then: Then) -> Iterator[Path]:
        """Yield all paths through these steps and what follows. `until` ends the groups which they are in."""
        if not steps:
            yield from then(path)
            return
        step, *rest = steps

        def go_on(after: Path) -> Iterator[Path]:
            return self.through(tuple(rest), until, after, then)

        if step.forbids is not None:
            yield from go_on(path._replace(forbidding=(*path.forbidding, step)))
            return
        if step.optional:
            yield from go_on(path)
        yield from self.rounds(step, 1, until, path, go_on)

    def rounds(self, step: PatternStep, count: int, until: tuple[Any, ...], path: Path, then: Then) -> Iterator[Path]:
        """Yield all paths that go through a step for the time of this count, and perhaps more often."""
        contiguity = step.contiguity if count == 1 else step.inner
        more = step.most == UNBOUNDED or count < step.most
        ends = until if step.until is None else (*until, step.until)

        def go_on(after: Path) -> Iterator[Path]:
            if count >= step.least:
                yield from then(after)
            if more:
                yield from self.rounds(step, count + 1, until, after, then)

        if step.group:
            first = replace(step.group[0], contiguity=contiguity)
            yield from self.through((first, *step.group[1:]), ends, path, go_on)
            return
        for number in range(path.last + 1 if path.took else 0, len(self.events)):
            took = Took(step, number, ends, more)
            if self.may_take(took, contiguity, path, is_first=count == 1):
                yield from go_on(Path((*path.took, took)))

    # --- the rules

    def may_take(self, took: Took, contiguity: Contiguity, path: Path, *, is_first: bool) -> bool:
        if not self.takes(took, contiguity, path):
            return False
        if not path.took:
            return True
        return self.allowed(path, took.number) and not (is_first and self.gives_way(path, took.number))

    def takes(self, took: Took, contiguity: Contiguity, path: Path) -> bool:
        """Whether a record may be the next one of a path, by conditions, times, and what lies between."""
        step, number = took.step, took.number
        if not self.meets(step.condition, number, path):
            return False
        first = path.last + 1 if path.took else number
        if any(self.meets(each, between, path) for each in took.until for between in range(first, number + 1)):
            return False
        if not path.took:
            return True
        if not self.in_time(path, number, step.gap_ms):
            return False
        between = range(path.last + 1, number)
        if contiguity is Contiguity.STRICT:
            return not between
        if contiguity is Contiguity.RELAXED:
            return not any(self.meets(step.condition, each, path) for each in between)
        return True

    def meets(self, condition: Any, number: int, path: Path) -> bool:
        if condition is None:
            return True
        value = self.events[number]
        if isinstance(condition, IterativeCondition):
            taken: dict[str, list[Event]] = {}
            for took in path.took:
                taken.setdefault(took.step.name, []).append(self.events[took.number])
            return bool(condition.filter(value, TakenSoFar(taken)))
        return bool(condition.test(value))

    def over(self, path: Path, gap_ms: int | None) -> int | None:
        """Return when what waits behind a path is over."""
        within = self.pattern.within_ms
        ends = [] if within is None else [self.times[path.took[0].number] + within]
        return min(ends if gap_ms is None else [*ends, self.times[path.last] + gap_ms], default=None)

    def in_time(self, path: Path, number: int, gap_ms: int | None) -> bool:
        over = self.over(path, gap_ms)
        return over is None or self.times[number] < over

    def allowed(self, path: Path, number: int) -> bool:
        """Whether nothing that is forbidden lies behind a path, up to a record that is taken."""
        for step in path.forbidding:
            forbidden = [path.last + 1] if step.forbids is Forbids.NEXT else range(path.last + 1, number)
            if any(self.meets(step.condition, each, path) for each in forbidden):
                return False
        return True

    def gives_way(self, path: Path, number: int) -> bool:
        """Whether the last step of the path is greedy, and could have taken one up to this record."""
        last = path.took[-1]
        if not last.step.greedy or not last.more:
            return False
        between = range(last.number + 1, number + 1)
        return any(self.takes(last._replace(number=each), last.step.inner, path) for each in between)

    def ends(self, path: Path) -> Iterator[Path]:
        """Yield the path if it is a match, which nothing forbids."""
        if not path.forbidding:
            yield path
            return
        over = self.over(path, path.forbidding[-1].gap_ms)
        in_time = len(self.times) if over is None else sum(time < over for time in self.times)
        only_next = all(step.forbids is Forbids.NEXT for step in path.forbidding)
        decided = over is not None or (only_next and path.last + 1 < len(self.events))
        until = min(path.last + 2, in_time) if only_next else in_time
        if decided and (path.last + 1 >= until or self.allowed(path, until)):
            yield path
