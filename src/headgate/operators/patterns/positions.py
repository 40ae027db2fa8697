"""A pattern as a graph: where a match may be, and which records take it on from there.

A position is a step and how many records it has taken, counted as far as it matters. From a position, links lead to
those that the next record of the match may take it to: the same step once more, the step behind, and further ones as
long as those between are optional.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from headgate.functions.patterns.conditions import Condition
from headgate.functions.patterns.pattern import Pattern
from headgate.functions.patterns.step import UNBOUNDED, Contiguity, Forbids, Step

END: Final = -1
"""The target of a link that takes no record: it waits until nothing can forbid the match any more."""


@final
@dataclass(frozen=True, slots=True)
class Link:
    """A way on. Numbers are those of conditions.

    A record that meets `until` ends it, and is not taken; so does the very next record if it meets one of `not_next`.
    One that meets one of `not_between` ends it unless it is taken itself. A link that `gives_way` ends with a record
    that the step takes once more: it is greedy.
    """

    target: int
    condition: int | None
    is_strict: bool
    takes_first_only: bool
    until: int | None
    gives_way: bool
    not_next: tuple[int, ...]
    not_between: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Position:
    """Where a match is. `accepts`: it is complete, if nothing is to be waited for."""

    step: int
    links: tuple[Link, ...]
    accepts: bool
    all_links: tuple[int, ...]


@final
class Positions:
    """All positions of a pattern, and its conditions. Links of `begin` are those to the first record of a match."""

    def __init__(self, pattern: Pattern) -> None:
        self._steps = pattern.steps
        self.conditions: list[Condition] = []
        self._numbers = {
            (step, until): self._number(condition)
            for step, each in enumerate(pattern.steps)
            for until, condition in ((False, each.condition), (True, each.until))
        }
        self._places = [
            (step, count)
            for step, each in enumerate(pattern.steps)
            if each.forbids is None
            for count in range(1, _counts(each) + 1)
        ]
        self._at = {place: number for number, place in enumerate(self._places)}
        self.begin = tuple(self._onwards(0, gives_way=False))
        self.all = [self._position(step, count) for step, count in self._places]

    @property
    def shape(self) -> str:
        """Return what a match under way depends on: the steps, and how many records each takes."""
        return repr([(step.name, step.forbids, step.least, step.most, step.optional) for step in self._steps])

    def _number(self, condition: Condition | None) -> int | None:
        if condition is None:
            return None
        self.conditions.append(condition)
        return len(self.conditions) - 1

    def _position(self, step: int, count: int) -> Position:
        here = self._steps[step]
        links: list[Link] = []
        can_take_more = here.most == UNBOUNDED or count < here.most
        if can_take_more:
            links.append(self._link(self._at[step, min(count + 1, _counts(here))], step, here.inner, False, []))
        accepts = False
        if count >= here.least:
            links += self._onwards(step + 1, here.greedy and can_take_more)
            accepts = all(each.optional for each in self._steps[step + 1 :])
        return Position(step, tuple(links), accepts, tuple(range(len(links))))

    def _onwards(self, step: int, gives_way: bool) -> Iterator[Link]:
        """Yield the links to the first records of the step, and of those behind it that may be reached."""
        forbidding: list[int] = []
        for number in range(step, len(self._steps)):
            each = self._steps[number]
            if each.forbids is not None:
                forbidding.append(number)
                continue
            yield self._link(self._at[number, 1], number, each.contiguity, gives_way, forbidding)
            if not each.optional:
                return
        if forbidding:
            yield self._end(forbidding)

    def _link(self, target: int, step: int, contiguity: Contiguity, gives_way: bool, forbidding: list[int]) -> Link:
        return Link(
            target,
            self._numbers[step, False],
            contiguity is Contiguity.STRICT,
            contiguity is Contiguity.RELAXED,
            self._numbers[step, True],
            gives_way,
            self._forbidden(forbidding, Forbids.NEXT),
            self._forbidden(forbidding, Forbids.BETWEEN),
        )

    def _end(self, forbidding: list[int]) -> Link:
        """Return the link of a pattern that ends with steps that forbid records.

        Is it for the next record only, that one decides: it is strict. Otherwise time does.
        """
        not_next, between = (self._forbidden(forbidding, each) for each in (Forbids.NEXT, Forbids.BETWEEN))
        return Link(END, None, not between, False, None, False, not_next, between)

    def _forbidden(self, forbidding: list[int], where: Forbids) -> tuple[int, ...]:
        return tuple(
            number
            for step in forbidding
            if self._steps[step].forbids is where
            if (number := self._numbers[step, False]) is not None
        )


def _counts(step: Step) -> int:
    """Return up to how many records of a step are told apart."""
    return step.least if step.most == UNBOUNDED else step.most
