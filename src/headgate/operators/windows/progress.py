"""Progress: until when the windows of each key group have been evaluated, which a snapshot tells the next start.

A slice cannot tell this, since some of its windows are over and others are not; and event time starts again when a job
is restored. So each subtask saves how far it was, and each gets all of that back: a subtask that takes over
key groups of several others may be further with some than with the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import final

from headgate.elements import MIN_TIMESTAMP

Stretch = tuple[int, int, int]
"""The first and the last of some key groups, and until when their windows have been evaluated."""


@final
class WindowProgress:
    """Until when windows had been evaluated before the start: `floor_ms` for all key groups, more for those `ahead`.

    >>> progress = WindowProgress([(0, 3, 50), (4, 7, 80)], range(2, 6))
    >>> progress.floor_ms, progress.ahead
    (50, {4: 80, 5: 80})
    >>> progress.stretches(60)
    [(2, 3, 60), (4, 5, 80)]
    """

    def __init__(self, saved: Iterable[Stretch], groups: range) -> None:
        until = dict.fromkeys(groups, MIN_TIMESTAMP)
        for first, last, until_ms in saved:
            for group in range(max(first, groups.start), min(last + 1, groups.stop)):
                until[group] = until_ms
        self._groups = groups
        self.floor_ms = min(until.values())
        self.ahead = {group: until_ms for group, until_ms in until.items() if until_ms > self.floor_ms}

    def passed(self, watermark_ms: int) -> None:
        """Event time has come so far."""
        if self.ahead and watermark_ms >= max(self.ahead.values()):
            self.ahead = {}

    def of_group(self, group: int, watermark_ms: int) -> int:
        """Return until when the windows of a key group have been evaluated, at this event time."""
        return max(self.ahead.get(group, self.floor_ms), watermark_ms)

    def stretches(self, watermark_ms: int) -> list[Stretch]:
        """Return what the next snapshot is to tell, at this event time."""
        found = []
        for until_ms, some in groupby(self._groups, lambda group: self.of_group(group, watermark_ms)):
            groups = list(some)
            found.append((groups[0], groups[-1], until_ms))
        return found
