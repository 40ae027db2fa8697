"""Slicing: how windows that overlap are cut, so that each record belongs to one slice, and each window is whole slices.

A slice ends wherever a window begins or ends. That makes one slice for each slide where the size is a multiple of the
slide, else two: the paired windows of Krishnamurthy, Wu and Franklin ("On-the-fly sharing for streamed aggregation",
2006). Panes of the greatest common divisor (Li et al., "No pane, no gain", 2005) are never fewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.elements import MAX_TIMESTAMP


@final
@dataclass(frozen=True, slots=True)
class Slicing:
    """Windows of `size` ms. One begins every `slide` ms; `slide` is at most `size`.

    >>> Slicing(size=10, slide=4, offset=0, lateness_ms=0).slice_at(7)
    (6, 8)
    """

    size: int
    slide: int
    offset: int
    lateness_ms: int

    def slice_at(self, time: int) -> tuple[int, int]:
        """Return the start and the end of the slice that this time is in."""
        begin = self.window_at(time)
        cut = begin + self.size % self.slide
        return (begin, cut) if time < cut else (cut, begin + self.slide)

    def window_at(self, time: int) -> int:
        """Return the start of the last window that this time is in."""
        return time - (time - self.offset) % self.slide

    def has_window(self, start: int, end: int) -> bool:
        """Return whether these are the start and the end of a window."""
        return self.window_at(start) == start and end - start == self.size

    def first_window(self, start: int) -> int:
        """Return the start of the first window that a slice is in.

        >>> Slicing(size=10, slide=4, offset=0, lateness_ms=0).first_window(8)
        0
        """
        return self.window_at(start - self.size) + self.slide

    def last_ms(self, window: int) -> int:
        """Return the last time of a window."""
        return min(window + self.size - 1, MAX_TIMESTAMP)

    def cleanup_ms(self, window: int) -> int:
        """Return when a window takes no more late records."""
        return min(self.last_ms(window) + self.lateness_ms, MAX_TIMESTAMP)

    def over_ms(self, start: int) -> int:
        """Return when the last window of a slice takes no more late records."""
        return self.cleanup_ms(self.window_at(start))
