"""One step of a pattern, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from headgate.functions.patterns.functions import Condition

UNBOUNDED: Final = -1
"""Value of `most` for a step that takes any number of records."""


class Contiguity(Enum):
    """Which records may come between two that a match takes one after the other (Flink's three contiguities)."""

    STRICT = "strict"
    """None: the second is the very next record."""
    RELAXED = "relaxed"
    """Records that do not match: the second is the next record that matches."""
    NON_DETERMINISTIC = "non-deterministic relaxed"
    """Any records: each record that matches gives a separate match."""


class Forbids(Enum):
    """Where a step of a `not_...` method forbids records."""

    NEXT = "not_next"
    BETWEEN = "not_followed_by"


class WithinType(Enum):
    """The two records of a match between which `within` limits the time (names of Flink)."""

    FIRST_AND_LAST = "first and last"
    PREVIOUS_AND_CURRENT = "previous and current"


@final
@dataclass(frozen=True, slots=True)
class PatternStep:
    """A step takes from `least` to `most` records: the first by `contiguity`, each further record by `inner`.

    A step with a `group` takes, in place of each record, the records that the steps of the group take. Each record that
    a step takes comes less than `gap_ms` after the record before it.
    """

    name: str
    contiguity: Contiguity
    condition: Condition | None = None
    forbids: Forbids | None = None
    least: int = 1
    most: int = 1
    inner: Contiguity = Contiguity.RELAXED
    optional: bool = False
    greedy: bool = False
    until: Condition | None = None
    gap_ms: int | None = None
    group: tuple[PatternStep, ...] = ()

    @property
    def singles(self) -> tuple[PatternStep, ...]:
        """The step itself; for a group, all steps in it that are not groups."""
        return tuple(one for step in self.group for one in step.singles) or (self,)

    @property
    def loops(self) -> bool:
        """Whether the step may take more than one record."""
        return self.most != 1
