"""Inputs of the measured jobs: a list that is read over and over, and records that fall due at a steady rate."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader

RECORDS = 200_000
KEYS = 1_000
MANY_KEYS = 1_000_000

_WORDS = ("to", "be", "or", "not", "that", "is", "the", "question", "whether", "nobler", "in", "mind", "suffer")


def keyed_tuples() -> list[tuple[int, int]]:
    """Return the list that keyed jobs and their bare loop read: (key, number) tuples of 1,000 keys."""
    pick = random.Random(1).randrange
    return [(pick(KEYS), number) for number in range(RECORDS)]


def million_keys() -> list[tuple[int, int]]:
    """Return a tuple for each of a million keys."""
    return [(key, key) for key in range(MANY_KEYS)]


def lines() -> list[str]:
    """Return lines of five words each."""
    pick = random.Random(2)
    words = [f"{word}{number}" for word in _WORDS for number in range(20)]
    return [" ".join(pick.choices(words, k=5)) for _ in range(RECORDS // 5)]


@final
@dataclass(frozen=True, slots=True)
class CycleSource(Source[int]):
    """The records of a list, made in the slot by `make`, read over and over for some seconds by each subtask."""

    make: Callable[[], list[Any]]
    seconds: float

    def splits(self, parallelism: int) -> list[int]:
        return [0] * parallelism

    def reader(self, context: SourceContext) -> CycleReader:
        return CycleReader(self.make(), context.monotonic_ms, self.seconds * 1_000.0)


@final
class CycleReader(SourceReader[int]):
    """Hands out slices of the list."""

    def __init__(self, records: list[Any], monotonic_ms: Callable[[], float], reads_ms: float) -> None:
        self._records = records
        self._monotonic_ms = monotonic_ms
        self._reads_ms = reads_ms
        self._ends_ms: float | None = None
        self._position = 0

    def add_splits(self, splits: list[int]) -> None:
        for split in splits:
            self._position = split

    def poll(self, records_max: int) -> Poll:
        now_ms = self._monotonic_ms()
        if self._ends_ms is None:
            self._ends_ms = now_ms + self._reads_ms
        if now_ms >= self._ends_ms:
            return END_OF_INPUT
        records = self._records[self._position : self._position + records_max]
        self._position += len(records)
        if self._position >= len(self._records):
            self._position = 0
        return Records(records)

    def snapshot(self) -> list[int]:
        return [self._position]


@final
@dataclass(frozen=True, slots=True)
class PacedSplit:
    """The records from number `next` on. `began_s` is when record 0 was due, None before the first poll."""

    next: int
    began_s: float | None = None


@final
@dataclass(frozen=True, slots=True)
class PacedSource(Source[PacedSplit]):
    """Records `(key, due time, process id)`, one subtask making them at a steady rate for some seconds.

    The due time, in seconds of the machine's monotonic clock, is when a record should have left by the rate: a loop
    that comes late to its source makes the measured latency worse, not better. After a restore, what has become due
    meanwhile is made at once, as from a source that has gone on without the job.
    """

    records_per_second: float
    seconds: float
    parallelism_max = 1

    def splits(self, parallelism: int) -> list[PacedSplit]:
        return [PacedSplit(0)]

    def reader(self, context: SourceContext) -> PacedReader:
        return PacedReader(self.records_per_second, int(self.records_per_second * self.seconds))


@final
class PacedReader(SourceReader[PacedSplit]):
    """Makes records as they fall due."""

    def __init__(self, records_per_second: float, count: int) -> None:
        self._gap_s = 1.0 / records_per_second
        self._count = count
        self._next = count
        self._began_s: float | None = None
        self._pick = random.Random(3).randrange
        self._process = os.getpid()

    def add_splits(self, splits: list[PacedSplit]) -> None:
        for split in splits:
            self._next, self._began_s = split.next, split.began_s

    def poll(self, records_max: int) -> Poll:
        if self._next >= self._count:
            return END_OF_INPUT
        now_s = time.monotonic()
        if self._began_s is None:
            self._began_s = now_s
        due = min(int((now_s - self._began_s) / self._gap_s) + 1, self._count, self._next + records_max)
        if due <= self._next:
            return NotReady((self._began_s + self._next * self._gap_s) * 1_000.0)
        dues = [self._began_s + number * self._gap_s for number in range(self._next, due)]
        self._next = due
        return Records([(self._pick(KEYS), due_s, self._process) for due_s in dues])

    def snapshot(self) -> list[PacedSplit]:
        return [PacedSplit(self._next, self._began_s)] if self._next < self._count else []
