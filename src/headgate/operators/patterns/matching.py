"""What is known of a key: its matches under way, and those that are complete but have to wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, final

from headgate.functions.patterns.process import Match
from headgate.operators.patterns.shared_buffer import SharedBuffer


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
