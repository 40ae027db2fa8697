"""A source of numbers: some at once, then so slowly that a job can be stopped in time on the busiest machine."""

from __future__ import annotations

import threading
from typing import Final

from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader

INTERVAL_MS: Final = 4.0

HURRY: Final = threading.Event()
"""Set by a test that has seen what it waited for: the rest comes at once, too."""


class Paced(Source[int]):
    """The numbers from 0 to `count`; from `burst` on, no two within 4 ms. One subtask reads them, so in order."""

    parallelism_max = 1

    def __init__(self, count: int, burst: int) -> None:
        self.count = count
        self.burst = burst

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return PacedReader(self, context)


class PacedReader(SourceReader[int]):
    def __init__(self, source: Paced, context: SourceContext) -> None:
        self._source = source
        self._context = context
        self._next: int | None = None
        self._due_ms = 0.0

    def add_splits(self, splits: list[int]) -> None:
        [self._next] = splits

    def poll(self, records_max: int) -> Poll:
        first = self._next
        if first is None or first >= self._source.count:
            return END_OF_INPUT
        burst = self._source.count if HURRY.is_set() else self._source.burst
        if first < burst:
            self._next = min(first + records_max, burst)
            return Records(list(range(first, self._next)))
        now_ms = self._context.monotonic_ms()
        if now_ms < self._due_ms:
            return NotReady(self._due_ms)
        self._due_ms = now_ms + INTERVAL_MS
        self._next = first + 1
        return Records([first])

    def snapshot(self) -> list[int]:
        return [] if self._next is None else [self._next]
