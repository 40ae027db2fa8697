"""The automaton that finds the matches of a pattern in the records of one key, which arrive in order.

It is nondeterministic: a match may take a record, or ignore it, or do both and so become two matches. So a key has any
number of *partial matches*, in the order in which they began. Each waits on some links. (The semantics are as in
Flink's `NFA`. `docs/guides/patterns.md` states them as rules on the records between two records of a match, and a test
finds the same matches by trying all sequences.)

Pure: records in, matches out. `Matching` holds the whole state of a key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, final

from headgate.functions.patterns.functions import ConditionContext, Simple
from headgate.functions.patterns.pattern import Pattern
from headgate.operators.patterns.matching import Complete, Matching, MatchSelector, Partial, TimedMatch
from headgate.operators.patterns.positions import END, Link, Positions
from headgate.operators.patterns.shared_buffer import ROOT, SharedBuffer, Taken
from headgate.state.keyed.timer_index import NEVER


@final
class Nfa:
    """Finds the matches of a pattern. One instance serves all keys and keeps no state between calls."""

    def __init__(self, pattern: Pattern) -> None:
        pattern.check()
        self._positions = Positions(pattern)
        self._all = self._positions.all
        self._names = self._positions.names
        self._within_ms = pattern.within_ms
        self._has_gaps = any(link.gap_ms is not None for position in self._all for link in position.links)
        self._is_timed = self._has_gaps or pattern.within_ms is not None
        self._choice = MatchSelector(pattern.skip, self._names)
        conditions = self._positions.conditions
        self._simple = [each.test if isinstance(each, Simple) else None for each in conditions]
        self._unknown: list[bool | None] = [None] * len(conditions)
        self._begins = self._only_condition(self._positions.begin)
        self.shape = self._positions.shape

    def _only_condition(self, begin: tuple[Link, ...]) -> Callable[[Any], Any] | None:
        """Return the test that every first record of a match must pass, if it is a single function."""
        return self._simple[begin[0].condition] if len(begin) == 1 and begin[0].condition is not None else None

    def process(self, matching: Matching, value: Any, time_ms: int) -> list[TimedMatch]:
        """Process a record, which is not older than the record before it; return complete and timed-out matches.

        If the record is older, because a clock was set back, timed-out matches may be returned later.
        """
        if not matching.partials and self._begins is not None and not self._begins(value):
            return []
        found = self.pass_time(matching, time_ms) if self._is_timed else []
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
            found += self._choice.found(matching)
        return found

    def pass_time(self, matching: Matching, time_ms: int) -> list[TimedMatch]:
        """End the links that have timed out by `time_ms`; return the matches that are complete or timed out then.

        With a skip strategy, the discarded matches depend on which match ends first. So the matches end one by one, as
        if time passed in many small steps.
        """
        found: list[TimedMatch] = []
        while (due_ms := self.due_ms(matching)) <= time_ms:
            found += self._end(matching, due_ms if self._choice.skips else time_ms)
        return found

    def due_ms(self, matching: Matching) -> int:
        """Return the earliest time at which a link of a partial match times out; `NEVER` if none does."""
        partials = matching.partials
        if not partials or not self._is_timed:
            return NEVER
        if self._has_gaps:
            return min(end_ms for partial in partials for end_ms in self._ends_ms(matching, partial))
        return self._over_ms(partials[0])

    def _over_ms(self, partial: Partial) -> int:
        """Return when the whole match times out."""
        return NEVER if self._within_ms is None else partial.first_ms + self._within_ms

    def _ends_ms(self, matching: Matching, partial: Partial) -> list[int]:
        """Return the times at which the links of a partial match time out."""
        links = self._all[partial.position].links
        over_ms = self._over_ms(partial)
        last_ms = matching.buffer.nodes[partial.node].time_ms
        gaps = [links[index].gap_ms for index in partial.waiting]
        return [over_ms if gap_ms is None else min(over_ms, last_ms + gap_ms) for gap_ms in gaps]

    def _end(self, matching: Matching, until_ms: int) -> list[TimedMatch]:
        """End the links that have timed out; return the matches that are complete or timed out then."""
        partials = matching.partials
        over = partials if self._has_gaps else list(takewhile(lambda each: self._over_ms(each) <= until_ms, partials))
        found: list[TimedMatch] = []
        left = [rest for each in over for rest in self._rest(matching, each, until_ms, found)]
        matching.partials = left + partials[len(over) :]
        found += self._choice.found(matching)
        return found

    def _rest(
        self, matching: Matching, partial: Partial, until_ms: int, found: list[TimedMatch]
    ) -> tuple[Partial, ...]:
        """End the timed-out links of one match; return the match if it waits on other links."""
        position, buffer = self._all[partial.position], matching.buffer
        ends = dict(zip(partial.waiting, self._ends_ms(matching, partial), strict=True))
        waiting = tuple(index for index, end_ms in ends.items() if end_ms > until_ms)
        if len(waiting) == len(ends):
            return (partial,)
        is_found = partial.is_found
        for index, end_ms in ends.items():
            if position.links[index].target == END and end_ms <= until_ms:
                buffer.hold(partial.node)
                matching.complete.append(Complete(partial.node, partial.first_number, end_ms))
                is_found = True
        if waiting:
            return (partial._replace(waiting=waiting, is_found=is_found),)
        if not position.accepts and not is_found:
            found.append(
                TimedMatch(self._choice.match(buffer.path(partial.node)), max(ends.values()), is_timed_out=True)
            )
        buffer.release(partial.node)
        return ()

    # --- a record

    def _go_on(self, matching: Matching, partial: Partial, record: _Record, partials: list[Partial]) -> bool:
        """Apply a record to a partial match; return whether the partial match still waits."""
        links = self._all[partial.position].links
        began: list[Partial] = []
        waiting: list[int] = []
        given_way, is_found = False, partial.is_found
        for index in partial.waiting:
            link = links[index]
            if given_way and link.gives_way:
                continue
            if (link.until or link.not_next) and self._stops(link, partial.node, partial.is_fresh, record):
                continue
            if link.target == END:
                if link.is_strict:
                    matching.buffer.hold(partial.node)
                    matching.complete.append(Complete(partial.node, partial.first_number, record.time_ms))
                    is_found = True
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
                node, position, _, _, first, first_ms, _ = partial
                partial = Partial(node, position, kept, False, first, first_ms, is_found)
            partials.append(partial)
        partials += began
        return bool(waiting)

    def _stops(self, link: Link, node: int, is_next: bool, record: _Record) -> bool:
        """Return whether the record ends the link and is not taken.

        `is_next` says that the record directly follows the last record of the match.
        """
        if any(self._meets(each, record, node) for each in link.until):
            return True
        return is_next and any(self._meets(each, record, node) for each in link.not_next)

    def _take(
        self, matching: Matching, link: Link, partial: Partial | None, record: _Record, partials: list[Partial]
    ) -> None:
        """Begin a match with the record, or extend `partial` by it."""
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
        """Return whether the record meets a condition of the match whose last node is `node`."""
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


@final
@dataclass(slots=True)
class _Record:
    """The current record, and the results of the conditions that depend on the record alone."""

    value: Any
    time_ms: int
    number: int
    known: list[bool | None]
    buffer: SharedBuffer


@final
@dataclass(slots=True)
class _SoFar(ConditionContext):
    """The context of an iterative condition: the records that the match has taken."""

    names: list[str]
    record: _Record
    node: int

    def get_events_for_pattern(self, name: str) -> list[Any]:
        path = self.record.buffer.path(self.node)
        return [taken.value for taken in path if self.names[taken.step] == name]

    def timestamp(self) -> int:
        return self.record.time_ms
