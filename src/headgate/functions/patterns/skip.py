"""After-match skip strategies: which other matches a match rules out (names and rules of Flink CEP)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import final


class Skip(Enum):
    """How far after a match the next one has to begin."""

    NOT = "not"
    TO_NEXT = "to next"
    PAST_LAST = "past last"
    TO_FIRST = "to first"
    TO_LAST = "to last"


@final
@dataclass(frozen=True, slots=True)
class AfterMatchSkipStrategy:
    """Which matches under way are given up when there is a match.

    With any but `no_skip`, the match that began first comes first: one that is complete waits until none is under way
    that began before it.
    """

    skip: Skip
    step: str | None = None
    must_have_taken: bool = False

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Emit every match."""
        return AfterMatchSkipStrategy(Skip.NOT)

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Give up the other matches that begin with the same record."""
        return AfterMatchSkipStrategy(Skip.TO_NEXT)

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Give up all matches that begin before the end of this one, so that no two have a record in common."""
        return AfterMatchSkipStrategy(Skip.PAST_LAST)

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Give up all matches that begin before the first record which the step of that name has taken."""
        return AfterMatchSkipStrategy(Skip.TO_FIRST, pattern_name)

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Give up all matches that begin before the last record which the step of that name has taken."""
        return AfterMatchSkipStrategy(Skip.TO_LAST, pattern_name)

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Fail on a match in which the step has taken no record; without this, all matches are emitted then."""
        return AfterMatchSkipStrategy(self.skip, self.step, must_have_taken=True)
