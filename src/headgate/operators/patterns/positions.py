"""A pattern as a graph: the positions that a match can have, and the links from one position to the next.

A position is a step and the number of records that the step has taken, counted as far as the number matters. In a
group it also has the number of passes through the group. Links lead from a position to the positions that the match's
next record can reach: the same step again, the next step, and further steps if the steps between are optional. From the
end of a group a link also leads to its first step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from headgate.functions.patterns.functions import Condition
from headgate.functions.patterns.pattern import Pattern
from headgate.functions.patterns.step import UNBOUNDED, Contiguity, Forbids, PatternStep

END: Final = -1
"""The target of a link that takes no record: it waits until no record can forbid the match."""


@final
@dataclass(frozen=True, slots=True)
class Link:
    """A link to another position. `condition`, `until`, `not_next` and `not_between` are numbers of conditions.

    A record that meets a condition of `until` ends the link and is not taken. The record directly after the last
    taken record does the same if it meets a condition of `not_next`. A record that meets a condition of `not_between`
    ends the link unless the link takes it. A link with `gives_way` leaves a greedy step: it ends when the step takes
    another record. The link waits `gap_ms` after the last record; None means as long as the match may last.
    """

    target: int
    condition: int | None
    is_strict: bool
    takes_first_only: bool
    until: tuple[int, ...]
    gives_way: bool
    not_next: tuple[int, ...]
    not_between: tuple[int, ...]
    gap_ms: int | None


@final
@dataclass(frozen=True, slots=True)
class MatchPosition:
    """A position of a match. `accepts` says that the match is complete there without waiting."""

    step: int
    links: tuple[Link, ...]
    accepts: bool
    all_links: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class _Behind:
    """The forbidding steps that a link has passed since the last record. `gives_way`: the link leaves a greedy step."""

    gives_way: bool = False
    forbidding: tuple[PatternStep, ...] = ()


_Address = tuple[tuple[int, int], ...]
"""The path to a step: for each enclosing group and then the step, its index and the number of passes through it."""

_COMPLETE: Final = Link(END, None, False, False, (), False, (), (), None)
"""The link to the end of a pattern, without waiting."""


@final
class Positions:
    """All positions and conditions of a pattern. The links of `begin` lead to the first record of a match."""

    def __init__(self, pattern: Pattern) -> None:
        self._steps = pattern.steps
        self.names = [one.name for step in pattern.steps for one in step.singles]
        self.conditions: list[Condition] = []
        self._condition: dict[str, int | None] = {}
        self._until: dict[str, tuple[int, ...]] = {}
        self._number(pattern.steps, ())
        self._places = list(_places(pattern.steps, ()))
        self._at = {place: number for number, place in enumerate(self._places)}
        self.begin = tuple(self._into((), 0, _Behind()))
        self.all = [self._position(place) for place in self._places]

    @property
    def shape(self) -> str:
        """Return the shape that saved partial matches need: the steps, and the number of records that each takes."""
        return repr(_shape(self._steps))

    def _number(self, steps: Sequence[PatternStep], until: tuple[int, ...]) -> None:
        """Number the conditions of these steps. `until` are the conditions that end an enclosing group."""
        for step in steps:
            ends = (*until, *self._numbered(step.until))
            if step.group:
                self._number(step.group, ends)
            else:
                self._until[step.name] = ends
                self._condition[step.name] = next(iter(self._numbered(step.condition)), None)

    def _numbered(self, condition: Condition | None) -> tuple[int, ...]:
        if condition is None:
            return ()
        self.conditions.append(condition)
        return (len(self.conditions) - 1,)

    # --- links

    def _position(self, place: _Address) -> MatchPosition:
        step, count = self._step(place), place[-1][1]
        links = [self._again(place, step, _Behind())] if _goes_on(step, count) else []
        if count >= step.least:
            links += self._into(place[:-1], place[-1][0] + 1, _Behind(step.greedy))
        waits = tuple(link for link in links if link is not _COMPLETE)
        return MatchPosition(self.names.index(step.name), waits, _COMPLETE in links, tuple(range(len(waits))))

    def _into(self, within: _Address, index: int, behind: _Behind) -> Iterator[Link]:
        """Yield the links into a group, from the step `index` on: to that step, and past optional steps to later ones.

        From the end of the group, links lead to its beginning and to the step after the group.
        """
        for number, step in enumerate(self._steps_of(within)[index:], index):
            if step.forbids is not None:
                behind = _Behind(behind.gives_way, (*behind.forbidding, step))
                continue
            yield self._link((*within, (number, 1)), step, step.contiguity, behind)
            if not step.optional:
                return
        if not within:
            yield self._end(behind.forbidding)
            return
        group, count = self._step(within), within[-1][1]
        if _goes_on(group, count):
            yield self._again(within, group, behind)
        if count >= group.least:
            yield from self._into(within[:-1], within[-1][0] + 1, behind)

    def _again(self, place: _Address, step: PatternStep, behind: _Behind) -> Link:
        """Return the link to another record of the step at a place."""
        index, count = place[-1]
        return self._link((*place[:-1], (index, min(count + 1, _counts(step)))), step, step.inner, behind)

    def _link(self, place: _Address, step: PatternStep, contiguity: Contiguity, behind: _Behind) -> Link:
        """Return the link to the first record of the step at a place; for a group, to its first step."""
        if step.group:
            return self._link((*place, (0, 1)), step.group[0], contiguity, behind)
        return Link(
            self._at[place],
            self._condition[step.name],
            contiguity is Contiguity.STRICT,
            contiguity is Contiguity.RELAXED,
            self._until[step.name],
            behind.gives_way,
            self._forbidden(behind.forbidding, Forbids.NEXT),
            self._forbidden(behind.forbidding, Forbids.BETWEEN),
            step.gap_ms,
        )

    def _end(self, forbidding: tuple[PatternStep, ...]) -> Link:
        """Return the link to the end of the pattern, after steps that forbid records.

        If the steps forbid only the next record, that record decides, and the link is strict. Otherwise time decides.
        """
        if not forbidding:
            return _COMPLETE
        not_next, between = (self._forbidden(forbidding, each) for each in (Forbids.NEXT, Forbids.BETWEEN))
        return Link(END, None, not between, False, (), False, not_next, between, forbidding[-1].gap_ms)

    def _forbidden(self, forbidding: tuple[PatternStep, ...], where: Forbids) -> tuple[int, ...]:
        return tuple(
            number for step in forbidding if step.forbids is where if (number := self._condition[step.name]) is not None
        )

    # --- places

    def _steps_of(self, place: _Address) -> tuple[PatternStep, ...]:
        """Return the steps of the group at a place; for the empty place, the steps of the pattern."""
        steps = self._steps
        for index, _ in place:
            steps = steps[index].group
        return steps

    def _step(self, place: _Address) -> PatternStep:
        return self._steps_of(place[:-1])[place[-1][0]]


def _places(steps: Sequence[PatternStep], within: _Address) -> Iterator[_Address]:
    """Yield the places of all records that these steps may take."""
    for index, step in enumerate(steps):
        for count in range(1, _counts(step) + 1):
            place = (*within, (index, count))
            if step.group:
                yield from _places(step.group, place)
            elif step.forbids is None:
                yield place


def _goes_on(step: PatternStep, count: int) -> bool:
    """Return whether a step that was passed `count` times may be passed again."""
    return step.most == UNBOUNDED or count < step.most


def _counts(step: PatternStep) -> int:
    """Return the number of records of a step up to which positions differ."""
    return step.least if step.most == UNBOUNDED else step.most


def _shape(steps: Sequence[PatternStep]) -> list[tuple[object, ...]]:
    return [(_shape(step.group) or step.name, step.forbids, step.least, step.most, step.optional) for step in steps]
