"""Merges the partial results of the rows in a frame, for one row after the other. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

from headgate.columns.frames import RowFrame

Merge = Callable[[Any, Any], Any]


@final
class Sliding:
    """Merges a window of consecutive parts, whose bounds never move back, with about two merges for each part.

    The window is a queue of two stacks: `_front` has what its older parts are from each of them on, `_back` what its
    newer parts are. When the front is used up, all parts become the front.

    >>> window = Sliding(["a", "b", "c", "d"], lambda one, other: one + other)
    >>> [window.between(start, stop) for start, stop in [(0, 1), (0, 3), (1, 3), (2, 4), (4, 4)]]
    ['a', 'abc', 'bc', 'cd', None]
    """

    def __init__(self, parts: Sequence[Any], merge: Merge) -> None:
        self._parts = parts
        self._merge = merge
        self._front: list[Any] = []
        self._turn = self._stop = 0
        self._back: Any = None

    def between(self, start: int, stop: int) -> Any:
        """Return the merged parts from `start` up to, but not including, `stop`; None if there are none."""
        merge, parts = self._merge, self._parts
        for place in range(self._stop, stop):
            self._back = parts[place] if self._back is None else merge(self._back, parts[place])
        self._stop = max(stop, self._stop)
        if start >= self._stop:
            return None
        if not start:
            return self._back
        if start >= self._turn:
            front = [parts[self._stop - 1]]
            for place in range(self._stop - 2, start - 1, -1):
                front.append(merge(parts[place], front[-1]))
            self._front, self._turn, self._back = front, self._stop, None
        older = self._front[self._turn - 1 - start]
        return older if self._back is None else merge(older, self._back)


def bounds(frame: RowFrame, order: Sequence[Any], first: int) -> Iterator[tuple[int, int]]:
    """Yield start and stop of the frame of each row from the row `first` on. `order` is what the rows are sorted by.

    >>> list(bounds(RowFrame(False, -10, 0), [1, 5, 5, 14], 1))
    [(0, 3), (0, 3), (1, 4)]
    >>> list(bounds(RowFrame(True, -1, 1), [1, 5, 5, 14], 0))
    [(0, 2), (0, 3), (1, 4), (2, 4)]
    """
    count = len(order)
    lower, upper = frame.lower, frame.upper
    for place in range(first, count):
        if frame.is_rows:
            start = 0 if lower is None else min(max(place + lower, 0), count)
            stop = count if upper is None else min(max(place + upper + 1, 0), count)
        else:
            own = order[place]
            start = 0 if lower is None else bisect_left(order, own + lower if lower else own)
            stop = count if upper is None else bisect_right(order, own + upper if upper else own)
        yield start, stop
