"""The matches of one key: matches under way, complete matches that wait, and the skip strategy that selects matches.

Keyed state holds pickled `Matching` objects, so the classes keep their names and their module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple, final

from headgate.functions.patterns.functions import Match
from headgate.functions.patterns.skip import AfterMatchSkipStrategy, Skip
from headgate.operators.patterns.shared_buffer import SharedBuffer, Taken


class Partial(NamedTuple):
    """A match under way: its last node, where it is, and the links on which it waits.

    `is_fresh`: no record has come since the last that it took. `is_found`: it has been found as it is, and may go on.
    """

    node: int
    position: int
    waiting: tuple[int, ...]
    is_fresh: bool
    first_number: int
    first_ms: int
    is_found: bool = False


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


class TimedMatch(NamedTuple):
    """A match, or one whose time has run out, and the time of what it comes to."""

    match: Match
    time_ms: int
    is_timed_out: bool = False


_BEGAN: Final = attrgetter("first_number")


class MissingStepError(Exception):
    """A match has no record of the step that the next one is to begin at."""


@final
class MatchSelector:
    """Takes the matches that are complete, by a strategy. `names` are those of the steps, by number."""

    def __init__(self, strategy: AfterMatchSkipStrategy, names: Sequence[str]) -> None:
        self._strategy = strategy
        self._names = names
        self.skips = strategy.skip is not Skip.NOT

    def found(self, matching: Matching) -> Iterator[TimedMatch]:
        """Yield the matches that are complete and need not wait; give up those that they rule out.

        Raises `MissingStepError`.
        """
        skips = self.skips
        while matching.complete:
            first = min(matching.complete, key=_BEGAN) if skips else matching.complete[0]
            if skips and matching.partials and matching.partials[0].first_number < first.first_number:
                return
            matching.complete.remove(first)
            path = matching.buffer.path(first.node)
            yield TimedMatch(self.match(path), first.time_ms)
            matching.buffer.release(first.node)
            if skips:
                self._rule_out(matching, self._last_ruled_out(path))

    def match(self, path: Sequence[Taken]) -> Match:
        """Return the records of each step."""
        match: Match = {}
        for taken in path:
            match.setdefault(self._names[taken.step], []).append(taken.value)
        return match

    def _rule_out(self, matching: Matching, last: int) -> None:
        """Give up all matches that began with the record of this number, or one before."""
        nodes = [each.node for each in matching.partials if each.first_number <= last]
        nodes += [each.node for each in matching.complete if each.first_number <= last]
        for node in nodes:
            matching.buffer.release(node)
        matching.partials = [each for each in matching.partials if each.first_number > last]
        matching.complete = [each for each in matching.complete if each.first_number > last]

    def _last_ruled_out(self, path: Sequence[Taken]) -> int:
        """Return the number of the last record with which another match must not begin."""
        strategy, first = self._strategy, path[0].number
        if strategy.skip is Skip.TO_NEXT:
            return first
        if strategy.skip is Skip.PAST_LAST:
            return path[-1].number
        numbers = [taken.number for taken in path if self._names[taken.step] == strategy.step]
        if not numbers:
            if strategy.must_have_taken:
                raise MissingStepError(f"a match has no record of {strategy.step!r}, at which the next one is to begin")
            return first - 1
        return (numbers[0] if strategy.skip is Skip.TO_FIRST else numbers[-1]) - 1
