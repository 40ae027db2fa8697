"""The matches of one key: partial matches, complete matches that wait, and the skip strategy that selects matches.

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
    """A partial match: its last node, its position in the pattern, and the links on which it waits.

    `is_fresh` says that no record has arrived since the last record that the match took. `is_found` says that the match
    was complete at this node, and may take further records.
    """

    node: int
    position: int
    waiting: tuple[int, ...]
    is_fresh: bool
    first_number: int
    first_ms: int
    is_found: bool = False


class Complete(NamedTuple):
    """A complete match that waits for matches that began before it."""

    node: int
    first_number: int
    time_ms: int


@final
@dataclass(slots=True)
class Matching:
    """The partial and complete matches of a key."""

    next_number: int = 0
    partials: list[Partial] = field(default_factory=list)
    complete: list[Complete] = field(default_factory=list)
    buffer: SharedBuffer = field(default_factory=SharedBuffer)

    @property
    def is_empty(self) -> bool:
        """Whether the key has no matches, so that its state can be removed."""
        return not self.partials and not self.complete


class TimedMatch(NamedTuple):
    """A complete or timed-out match, and the timestamp of its results."""

    match: Match
    time_ms: int
    is_timed_out: bool = False


_BEGAN: Final = attrgetter("first_number")


class MissingStepError(Exception):
    """A match has no record of the step at which the skip strategy lets the next match begin."""


@final
class MatchSelector:
    """Selects complete matches by a skip strategy. `names` are the names of the steps, by number."""

    def __init__(self, strategy: AfterMatchSkipStrategy, names: Sequence[str]) -> None:
        self._strategy = strategy
        self._names = names
        self.skips = strategy.skip is not Skip.NOT

    def found(self, matching: Matching) -> Iterator[TimedMatch]:
        """Yield the complete matches that need not wait, and discard the matches that these rule out.

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
        """Return the records of a path by the name of the step that took them."""
        match: Match = {}
        for taken in path:
            match.setdefault(self._names[taken.step], []).append(taken.value)
        return match

    def _rule_out(self, matching: Matching, last: int) -> None:
        """Discard all matches whose first record has the number `last` or a lower one."""
        nodes = [each.node for each in matching.partials if each.first_number <= last]
        nodes += [each.node for each in matching.complete if each.first_number <= last]
        for node in nodes:
            matching.buffer.release(node)
        matching.partials = [each for each in matching.partials if each.first_number > last]
        matching.complete = [each for each in matching.complete if each.first_number > last]

    def _last_ruled_out(self, path: Sequence[Taken]) -> int:
        """Return the number of the last record at which no other match may begin."""
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
