"""One step of a pattern, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from headgate.functions.patterns.conditions import Condition

UNBOUNDED: Final = -1
"""The highest number of records of a step that takes any number."""


class Contiguity(Enum):
    """What may lie between two records that a match takes one after the other (Flink's three contiguities)."""

    STRICT = "strict"
    """Nothing: the second is the very next record."""
    RELAXED = "relaxed"
    """Records that do not match: the second is the next one that does."""
    NON_DETERMINISTIC = "non-deterministic relaxed"
    """Anything: each record that matches gives a match of its own."""


class Forbids(Enum):
    """Where a step of a `not_...` forbids its records."""

    NEXT = "not_next"
    BETWEEN = "not_followed_by"


class WithinType(Enum):
    """Between which records of a match the time of `within` lies (names of Flink)."""

    FIRST_AND_LAST = "first and last"
    PREVIOUS_AND_CURRENT = "previous and current"


@final
@dataclass(frozen=True, slots=True)
class PatternStep:
    """A step takes from `least` to `most` records, the first by `contiguity`, each further one by `inner`.

    One with a `group` of steps takes, instead of each record, what they take. Each record that a step takes comes less
    than `gap_ms` after the one before.
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
        """The step itself; of a group, all steps in it that are no groups."""
        return tuple(one for step in self.group for one in step.singles) or (self,)

    @property
    def loops(self) -> bool:
        """Whether it may take more than one record."""
        return self.most != 1
