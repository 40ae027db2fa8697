"""After-match skip strategies: which other matches a match discards (names and rules of Flink CEP)."""

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
    """Decides which partial matches are discarded when a match is complete.

    Every strategy but `no_skip` emits matches in the order in which they began: a complete match waits for the partial
    matches that began before it.
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
        """Discard the other matches that begin with the same record."""
        return AfterMatchSkipStrategy(Skip.TO_NEXT)

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Discard all matches that begin before the end of this match, so that no two matches share a record."""
        return AfterMatchSkipStrategy(Skip.PAST_LAST)

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Discard all matches that begin before the first record which the step of that name has taken."""
        return AfterMatchSkipStrategy(Skip.TO_FIRST, pattern_name)

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Discard all matches that begin before the last record which the step of that name has taken."""
        return AfterMatchSkipStrategy(Skip.TO_LAST, pattern_name)

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Fail on a match in which the step has taken no record. Without this call, such a match discards no other."""
        return AfterMatchSkipStrategy(self.skip, self.step, must_have_taken=True)
