"""Timer index: finds the timers that are due.

What timers a key has is state, and lies in its cell. The index is derived from the cells and only says which keys to
look at when a time has come.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from itertools import islice
from typing import Any, Final, Protocol, final

from headgate.elements import MAX_TIMESTAMP

NEVER: Final = MAX_TIMESTAMP + 1
"""Where a time is asked for and there is none: later than any."""

_STALE_MIN: Final = 1024

Due = tuple[int, Collection[Any]]
"""A time in milliseconds, and the keys of the cells that have a timer then."""


class TimerIndex(Protocol):
    """The timers of one clock, by time."""

    head_ms: int
    """The earliest time, `NEVER` when there is none; it may be too early, never too late."""

    def add(self, timestamp_ms: int, key: Any) -> None:
        """Note a timer that the cell of `key` has got."""
        ...

    def remove(self, timestamp_ms: int, key: Any) -> None:
        """Forget a timer that was deleted before it was due."""
        ...

    def pop(self, limit: int) -> Due:
        """Take out the timers of the earliest time, in the order of registration; about `limit` of them at most.

        There must be some: `head_ms` is not `NEVER`. The keys may be none.
        """
        ...


@final
class HeapTimerIndex:
    """Timers in memory: keys by time, and a heap of the times.

    Most times have one key, which is then there without a container of its own. A key is never a dict.
    """

    __slots__ = ("_heap", "_keys", "head_ms")

    def __init__(self) -> None:
        self._keys: dict[int, Any] = {}
        self._heap: list[int] = []
        self.head_ms = NEVER

    def add(self, timestamp_ms: int, key: Any) -> None:
        keys = self._keys
        if timestamp_ms not in keys:
            keys[timestamp_ms] = key
            heapq.heappush(self._heap, timestamp_ms)
            if timestamp_ms < self.head_ms:
                self.head_ms = timestamp_ms
            return
        there = keys[timestamp_ms]
        if type(there) is dict:
            there[key] = None
        else:
            keys[timestamp_ms] = {there: None, key: None}

    def remove(self, timestamp_ms: int, key: Any) -> None:
        if timestamp_ms not in self._keys:
            return
        there = self._keys[timestamp_ms]
        if type(there) is dict:
            there.pop(key, None)
            if there:
                return
        elif there != key:
            return
        self._keys.pop(timestamp_ms, None)
        if len(self._heap) > 2 * len(self._keys) + _STALE_MIN:
            self._heap = list(self._keys)
            heapq.heapify(self._heap)

    def pop(self, limit: int) -> Due:
        heap, keys = self._heap, self._keys
        timestamp_ms = heap[0]
        there = keys.get(timestamp_ms)
        if type(there) is dict and len(there) > limit:
            first = list(islice(there, limit))
            for key in first:
                del there[key]
            return timestamp_ms, first
        heapq.heappop(heap)
        self.head_ms = heap[0] if heap else NEVER
        if timestamp_ms not in keys:
            return timestamp_ms, ()
        there = keys.pop(timestamp_ms)
        return timestamp_ms, there if type(there) is dict else (there,)

    def __len__(self) -> int:
        """Number of times, stale ones not counted."""
        return len(self._keys)
