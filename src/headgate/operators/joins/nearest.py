"""Which record of the right stream is the nearest in time to one of the left, and when that is certain.

Pure: sorted times in, a place among them out. (The rules are those of `pandas.merge_asof`: of records of the same
time, the last one before and the first one behind; of two that are equally far, the one before.)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import final

from headgate.elements import MAX_TIMESTAMP


@final
@dataclass(frozen=True, slots=True)
class Nearest:
    """Where to look: before a record, behind it or both, how far, and whether at the very same time.

    >>> both = Nearest(before=True, behind=True, tolerance_ms=10)
    >>> both.find([10, 20, 22, 28], 25)
    (27, 2)
    >>> both.find([10, 20, 22, 26], 25)
    (26, 3)
    >>> both.find([], 25)
    (35, None)
    """

    before: bool = True
    behind: bool = False
    tolerance_ms: int = MAX_TIMESTAMP
    exact: bool = True

    def find(self, times: list[int], time_ms: int) -> tuple[int, int | None]:
        """Return the place of the nearest record, None for none, and the event time at which it is certain.

        Until event time has come so far a nearer one may come.
        """
        place: int | None = None
        reach_ms = self.tolerance_ms
        if self.before:
            before = (bisect_right if self.exact else bisect_left)(times, time_ms) - 1
            if before >= 0 and time_ms - times[before] <= self.tolerance_ms:
                place, reach_ms = before, time_ms - times[before] - 1
        if not self.behind:
            return time_ms, place
        behind = (bisect_left if self.exact else bisect_right)(times, time_ms)
        if behind < len(times) and times[behind] - time_ms <= reach_ms:
            return times[behind], behind
        return min(max(time_ms, time_ms + reach_ms), MAX_TIMESTAMP), place

    def first_needed(self, times: list[int], from_ms: int) -> int:
        """Return the place of the first record that is needed for records of the left stream from a time on."""
        first = (bisect_left if self.exact or self.before else bisect_right)(times, from_ms)
        if self.before:
            if not first and not self.exact:  # of those at this very time, later records need the last one only
                first = bisect_right(times, from_ms)
            first = max(first - 1, bisect_left(times, from_ms - self.tolerance_ms), 0)
        return first

    def needed_until_ms(self, time_ms: int) -> int:
        """Return the event time at which a record is needed no longer, even if no other comes."""
        return min(time_ms + self.tolerance_ms, MAX_TIMESTAMP) if self.before else time_ms
