"""What the slots of a job have logged and printed, as far as the driver keeps it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final, final

from headgate.runtime.control.messages import LogLine

LINES_MAX: Final = 1_000
"""Lines of a slot that are kept, the latest."""


@final
class SlotLog:
    """The lines of one slot, over all attempts, numbered from 1. Added by the master's loop, read from any thread."""

    def __init__(self) -> None:
        self._lines: deque[tuple[int, LogLine]] = deque(maxlen=LINES_MAX)
        self.count = 0

    def add(self, lines: Iterable[LogLine]) -> None:
        """Keep more lines."""
        for line in lines:
            self._lines.append((self.count + 1, line))
            self.count += 1

    def after(self, number: int, limit: int) -> list[tuple[int, LogLine]]:
        """Return the newest lines behind this number, each with its own, at most `limit`, oldest first."""
        newer = [(own, line) for own, line in self._lines.copy() if own > number]
        return list(islice(newer, max(0, len(newer) - limit), None))
