"""The automaton that finds the matches of a pattern in the records of one key, which come in order.

It is nondeterministic: a record may take a match on, be left out by it, or both, and then there are two. So a key has
any number of matches under way, its *partial matches*, each with the links on which it waits. They are kept in the
order in which they began. (The semantics are those of Flink's `NFA`; `docs/patterns.md` states them as rules on which
records may lie between two that a match takes, and a test finds the same matches by trying all sequences.)

Pure: records in, matches out. All that it knows of a key is in `Matching`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, NamedTuple, final

from headgate.functions.patterns.conditions import ConditionContext, Simple
from headgate.functions.patterns.pattern import Pattern
from headgate.functions.patterns.process import Match
from headgate.functions.patterns.skip import AfterMatchSkipStrategy, Skip
from headgate.operators.patterns.positions import END, Link, Positions
from headgate.operators.patterns.shared_buffer import ROOT, SharedBuffer, Taken


class Partial(NamedTuple):
    """A match under way: its last node, where it is, and the links on which it waits.

    `is_fresh`: no record has come since the last that it took.
    """

    node: int
    position: int
    waiting: tuple[int, ...]
    is_fresh: bool
    first_number: int
    first_ms: int


class Complete(NamedTuple):
    """A match that is complete, but waits for those that began before it."""

    node: int
    first_number: int
    time_ms: int


@final
@dataclass(slots=True)
class Matching:
    """All that is known of a key."""

    next_number: int = 0
    partials: list[Partial] = field(default_factory=list)
    complete: list[Complete] = field(default_factory=list)
    buffer: SharedBuffer = field(default_factory=SharedBuffer)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is under way, so that it need not be kept."""
        return not self.partials and not self.complete


class Found(NamedTuple):
    """A match, or one whose time has run out, and the time of what it comes to."""

    match: Match
    time_ms: int
    is_timed_out: bool = False


_BEGAN: Final = attrgetter("first_number")


class MissingStepError(Exception):
    """A match has no record of the step that the next one is to begin at."""


@final
class Nfa:
    """Finds the matches of a pattern. One serves all keys; it keeps nothing between calls."""

    def __init__(self, pattern: Pattern) -> None:
        pattern.check()
        self._positions = Positions(pattern)
        self._all = self._positions.all
        self._names = [step.name for step in pattern.steps]
        self._within_ms = pattern.within_ms
        self._skip = pattern.skip
        conditions = self._positions.conditions
        self._simple = [each.test if isinstance(each, Simple) else None for each in conditions]
        self._unknown: list[bool | None] = [None] * len(conditions)
        self._begins = self._only_condition(self._positions.begin)
        self.shape = self._positions.shape

    def _only_condition(self, begin: tuple[Link, ...]) -> Callable[[Any], Any] | None:
        """Return what every first record of a match meets, if one function says that."""
        return self._simple[begin[0].condition] if len(begin) == 1 and begin[0].condition is not None else None

    def process(self, matching: Matching, value: Any, time_ms: int) -> list[Found]:
        """Take a record, not older than those before it; return what is found with it, and what has timed out."""
        if not matching.partials and self._begins is not None and not self._begins(value):
            return []
        found = self.pass_time(matching, time_ms)
        number = matching.next_number
        matching.next_number = number + 1
        record = _Record(value, time_ms, number, self._unknown.copy(), matching.buffer)
        partials: list[Partial] = []
        for partial in matching.partials:
            if not self._go_on(matching, partial, record, partials):
                matching.buffer.release(partial.node)
        for link in self._positions.begin:
            if self._meets(link.condition, record, ROOT) and not self._stops(link, ROOT, False, record):
                self._take(matching, link, None, record, partials)
        matching.partials = partials
        if matching.complete:
            found += self._chosen(matching)
        return found

    def pass_time(self, matching: Matching, time_ms: int) -> list[Found]:
        """End the matches whose time is over; those that no record may follow are found thereby."""
        partials, within_ms = matching.partials, self._within_ms
        if within_ms is None or not partials or partials[0].first_ms + within_ms > time_ms:
            return []
        over = [each for each in partials if each.first_ms + within_ms <= time_ms]
        matching.partials = partials[len(over) :]
        found: list[Found] = []
        for partial in over:
            end_ms = partial.first_ms + within_ms
            position = self._all[partial.position]
            if any(position.links[index].target == END for index in partial.waiting):
                matching.complete.append(Complete(partial.node, partial.first_number, end_ms))
                continue
            if not position.accepts:
                found.append(Found(self._match(matching.buffer.path(partial.node)), end_ms, is_timed_out=True))
            matching.buffer.release(partial.node)
        return found + self._chosen(matching)

    def due_ms(self, matching: Matching) -> int | None:
        """Return when the time of the first match under way is over; None for never."""
        if self._within_ms is None or not matching.partials:
            return None
        return matching.partials[0].first_ms + self._within_ms

    # --- a record

    def _go_on(self, matching: Matching, partial: Partial, record: _Record, partials: list[Partial]) -> bool:
        """Do for one match under way what a record does to it; return whether it still waits."""
        links = self._all[partial.position].links
        began: list[Partial] = []
        waiting: list[int] = []
        given_way = False
        for index in partial.waiting:
            link = links[index]
            if given_way and link.gives_way:
                continue
            if (link.until is not None or link.not_next) and self._stops(link, partial.node, partial.is_fresh, record):
                continue
            if link.target == END:
                if link.is_strict:
                    matching.buffer.hold(partial.node)
                    matching.complete.append(Complete(partial.node, partial.first_number, record.time_ms))
                    continue
                taken = False
            else:
                taken = self._meets(link.condition, record, partial.node)
            if taken:
                given_way = given_way or not link.gives_way
                self._take(matching, link, partial, record, began)
            if link.is_strict or (taken and link.takes_first_only):
                continue
            if link.not_between and any(self._meets(each, record, partial.node) for each in link.not_between):
                continue
            waiting.append(index)
        if waiting:
            kept = partial.waiting if len(waiting) == len(partial.waiting) else tuple(waiting)
            if kept is not partial.waiting or partial.is_fresh:
                partial = Partial(partial.node, partial.position, kept, False, partial.first_number, partial.first_ms)
            partials.append(partial)
        partials += began
        return bool(waiting)

    def _stops(self, link: Link, node: int, is_next: bool, record: _Record) -> bool:
        """Return whether the record ends the link and is not taken; `is_next`: it is the first one there."""
        if link.until is not None and self._meets(link.until, record, node):
            return True
        return is_next and any(self._meets(each, record, node) for each in link.not_next)

    def _take(
        self, matching: Matching, link: Link, partial: Partial | None, record: _Record, partials: list[Partial]
    ) -> None:
        """Begin a match with the record, or take one on."""
        position, buffer = self._all[link.target], matching.buffer
        parent, first, first_ms = (
            (ROOT, record.number, record.time_ms)
            if partial is None
            else (partial.node, partial.first_number, partial.first_ms)
        )
        node = buffer.add(Taken(parent, position.step, record.number, record.time_ms, record.value))
        if position.accepts:
            buffer.hold(node)
            matching.complete.append(Complete(node, first, record.time_ms))
        if position.links:
            partials.append(Partial(node, link.target, position.all_links, True, first, first_ms))
        else:
            buffer.release(node)

    def _meets(self, condition: int | None, record: _Record, node: int) -> bool:
        """Return whether the record meets a condition; `node` is the last of the match that asks."""
        if condition is None:
            return True
        known = record.known[condition]
        if known is not None:
            return known
        test = self._simple[condition]
        if test is not None:
            known = record.known[condition] = bool(test(record.value))
            return known
        iterative = self._positions.conditions[condition]
        assert not isinstance(iterative, Simple)
        return bool(iterative.filter(record.value, _SoFar(self._names, record, node)))

    # --- matches

    def _chosen(self, matching: Matching) -> list[Found]:
        """Return the matches that are complete and need not wait; rule out those that the skip strategy does."""
        return list(self._choose(matching))

    def _choose(self, matching: Matching) -> Iterator[Found]:
        skips = self._skip.skip is not Skip.NOT
        while matching.complete:
            first = min(matching.complete, key=_BEGAN) if skips else matching.complete[0]
            if skips and matching.partials and matching.partials[0].first_number < first.first_number:
                return
            matching.complete.remove(first)
            path = matching.buffer.path(first.node)
            yield Found(self._match(path), first.time_ms)
            matching.buffer.release(first.node)
            if skips:
                self._rule_out(matching, _last_ruled_out(self._skip, path, self._names))

    def _rule_out(self, matching: Matching, last: int) -> None:
        """Give up all matches that began with the record of this number, or one before."""
        nodes = [each.node for each in matching.partials if each.first_number <= last]
        nodes += [each.node for each in matching.complete if each.first_number <= last]
        for node in nodes:
            matching.buffer.release(node)
        matching.partials = [each for each in matching.partials if each.first_number > last]
        matching.complete = [each for each in matching.complete if each.first_number > last]

    def _match(self, path: list[Taken]) -> Match:
        match: Match = {}
        for taken in path:
            match.setdefault(self._names[taken.step], []).append(taken.value)
        return match


def _last_ruled_out(strategy: AfterMatchSkipStrategy, path: list[Taken], names: list[str]) -> int:
    """Return the number of the last record with which another match must not begin."""
    first = path[0].number
    if strategy.skip is Skip.TO_NEXT:
        return first
    if strategy.skip is Skip.PAST_LAST:
        return path[-1].number
    numbers = [taken.number for taken in path if names[taken.step] == strategy.step]
    if not numbers:
        if strategy.must_have_taken:
            raise MissingStepError(f"a match has no record of {strategy.step!r}, which the next one is to begin at")
        return first - 1
    return (numbers[0] if strategy.skip is Skip.TO_FIRST else numbers[-1]) - 1


@final
@dataclass(slots=True)
class _Record:
    """The record at hand, and what is known of the conditions on it alone."""

    value: Any
    time_ms: int
    number: int
    known: list[bool | None]
    buffer: SharedBuffer


@final
@dataclass(slots=True)
class _SoFar(ConditionContext):
    """What a match has taken so far."""

    names: list[str]
    record: _Record
    node: int

    def get_events_for_pattern(self, name: str) -> list[Any]:
        path = self.record.buffer.path(self.node)
        return [taken.value for taken in path if self.names[taken.step] == name]

    def timestamp(self) -> int:
        return self.record.time_ms
