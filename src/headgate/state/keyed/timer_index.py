"""Timer index: finds the timers that are due.

The timers of a key are state in its cell. The index is derived from the cells, and only tells which keys to check at a
given time.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Collection
from itertools import islice
from types import ModuleType
from typing import Any, Final, Protocol, final

from headgate.elements import MAX_TIMESTAMP

NEVER: Final = MAX_TIMESTAMP + 1
"""The time returned if there is no timer: later than any timer."""

_SPAN_BITS: Final = 12
"""A span is 4096 ms long: short enough to sort its times at once, long enough to share a span among many timers."""
_STALE_MIN: Final = 1024
_PAST_MAX: Final = 4096
"""The number of past times of the open span that are kept before they are removed together."""

Due = tuple[int, Collection[Any]]
"""A time in milliseconds, and the keys of the cells that have a timer at this time."""


class TimerIndex(Protocol):
    """The timers of one clock, by time."""

    head_ms: int
    """The time of the earliest timer, `NEVER` without timers. It may be too early, but never too late."""

    def add(self, timestamp_ms: int, key: Any) -> None:
        """Add a timer of the cell of `key`."""
        ...

    def remove(self, timestamp_ms: int, key: Any) -> None:
        """Remove a timer that was deleted before it was due."""
        ...

    def pop(self, limit: int) -> Due:
        """Remove and return timers of the earliest time in the order of registration, about `limit` at most.

        There must be timers: `head_ms` is not `NEVER`. The result may have no keys.
        """
        ...


@final
class HeapTimerIndex:
    """Timers in memory: the keys by time in spans of about four seconds, and a heap of the spans.

    The index sorts the times of a span when the span becomes the earliest, which costs far less than a heap of all
    times. Most times have one key, which is stored without a container. A key is never a dict.
    """

    __slots__ = ("_at", "_heap", "_open", "_spans", "_times", "head_ms")

    def __init__(self) -> None:
        self._spans: dict[int, dict[int, Any]] = {}
        self._heap: list[int] = []
        self._open: int | None = None
        """The earliest span. `_times` has its sorted times; times before index `_at` are past."""
        self._times: list[int] = []
        self._at = 0
        self.head_ms = NEVER

    def add(self, timestamp_ms: int, key: Any) -> None:
        number = timestamp_ms >> _SPAN_BITS
        span = self._spans.get(number)
        if span is None:
            self._spans[number] = {timestamp_ms: key}
            heapq.heappush(self._heap, number)
            if timestamp_ms < self.head_ms:
                self._open_first()
        elif timestamp_ms not in span:
            span[timestamp_ms] = key
            if number == self._open:
                if self._at > _PAST_MAX:
                    del self._times[: self._at]
                    self._at = 0
                insort(self._times, timestamp_ms, self._at)
                self.head_ms = self._times[self._at]
        else:
            there = span[timestamp_ms]
            if type(there) is dict:
                there[key] = None
            else:
                span[timestamp_ms] = {there: None, key: None}

    def remove(self, timestamp_ms: int, key: Any) -> None:
        number = timestamp_ms >> _SPAN_BITS
        span = self._spans.get(number)
        if span is None or timestamp_ms not in span:
            return
        there = span[timestamp_ms]
        if type(there) is dict:
            there.pop(key, None)
            if there:
                return
        elif there != key:
            return
        del span[timestamp_ms]
        if number == self._open:
            del self._times[bisect_left(self._times, timestamp_ms, self._at)]
            self._next_time()
        elif not span:
            self._drop(number)

    def _drop(self, number: int) -> None:
        """Remove an empty span. Its number stays on the heap until many spans have been removed."""
        del self._spans[number]
        if len(self._heap) > 2 * len(self._spans) + _STALE_MIN:
            self._heap = list(self._spans)
            heapq.heapify(self._heap)

    def pop(self, limit: int) -> Due:
        assert self._open is not None
        timestamp_ms, span = self.head_ms, self._spans[self._open]
        there = span[timestamp_ms]
        if type(there) is not dict:
            there = (there,)
        elif len(there) > limit:
            first = list(islice(there, limit))
            for key in first:
                del there[key]
            return timestamp_ms, first
        del span[timestamp_ms]
        self._at += 1
        self._next_time()
        return timestamp_ms, there

    def _next_time(self) -> None:
        if self._at < len(self._times):
            self.head_ms = self._times[self._at]
        else:
            self._open_first()

    def _open_first(self) -> None:
        """Open the earliest span, and remove empty spans before it."""
        heap, spans = self._heap, self._spans
        while heap:
            span = spans.get(heap[0])
            if span:
                self._open, self._times, self._at = heap[0], sorted(span), 0
                self.head_ms = self._times[0]
                return
            spans.pop(heapq.heappop(heap), None)
        self._open, self._times, self._at, self.head_ms = None, [], 0, NEVER

    def __len__(self) -> int:
        """Number of times."""
        return sum(map(len, self._spans.values()))


def timer_index(native: ModuleType | None) -> HeapTimerIndex:
    """Return an index without timers. The index is compiled if the job runs compiled."""
    made: HeapTimerIndex = HeapTimerIndex() if native is None else native.HeapTimerIndex()
    return made
