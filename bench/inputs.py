"""Inputs of the measured jobs: a list that is read over and over, and records that fall due at a steady rate."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, final

from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.types.row import Row, make_row

RECORDS = 200_000
KEYS = 1_000
FRAME_ROWS = 10_000_000
SPREAD_KEYS = 100_000
MANY_KEYS = 1_000_000
CHURN_KEYS, CHURN_KEYS_QUICK = 2_000_000, 300_000
TIMERS, TIMERS_QUICK = 1_000_000, 200_000
TEXT_FILE, TEXT_BYTES = "lines.txt", 64_000_000
TIMERS_DISORDER_MS = 1_000
"""By so much the times of a stream are out of order."""

_WORDS = ("to", "be", "or", "not", "that", "is", "the", "question", "whether", "nobler", "in", "mind", "suffer")


def keyed_tuples() -> list[tuple[int, int]]:
    """Return the list that keyed jobs and their bare loop read: (key, number) tuples of 1,000 keys."""
    pick = random.Random(1).randrange
    return [(pick(KEYS), number) for number in range(RECORDS)]


def keyed_rows() -> list[Row]:
    """Return the same as rows of `key` and `number`."""
    return [make_row(pair, ("key", "number")) for pair in keyed_tuples()]


def spread_tuples() -> list[tuple[int, int]]:
    """Return (key, number) tuples of 100,000 keys, each as likely as the others."""
    pick = random.Random(1).randrange
    return [(pick(SPREAD_KEYS), number) for number in range(RECORDS)]


def timed_tuples(count: int, disorder_ms: int | None, keys: int = SPREAD_KEYS) -> list[tuple[int, int]]:
    """Return (key, event time) tuples with so many event times.

    The times are out of order by up to `disorder_ms`, as in a stream; None: they are in no order at all.
    """
    times_ms = list(range(count))
    rng = random.Random(5)
    if disorder_ms is None:
        rng.shuffle(times_ms)
    else:
        times_ms.sort(key=lambda time_ms: time_ms + rng.uniform(0, disorder_ms))
    return [(time_ms % keys, time_ms) for time_ms in times_ms]


STRIDE = 7_368_787
"""A prime: its multiples, modulo the number of keys, are all keys in no order."""


def shuffled_keys(count: int) -> list[tuple[int, int]]:
    """Return a tuple for each of so many keys, in no order."""
    keys = list(range(count))
    random.Random(4).shuffle(keys)
    return [(key, key) for key in keys]


def million_keys() -> list[tuple[int, int]]:
    """Return a tuple for each of a million keys."""
    return [(key, key) for key in range(MANY_KEYS)]


def lines() -> list[str]:
    """Return lines of five words each."""
    pick = random.Random(2)
    words = [f"{word}{number}" for word in _WORDS for number in range(20)]
    return [" ".join(pick.choices(words, k=5)) for _ in range(RECORDS // 5)]


def text_file(folder: Path) -> Path:
    """Write a file of 64 MB of text, in lines of 60 to 140 bytes; return its path."""
    pick = random.Random(6)
    alphabet = "".join(_WORDS) + "  "
    some = "".join("".join(pick.choices(alphabet, k=pick.randint(59, 139))) + "\n" for _ in range(20_000)).encode()
    path = folder / TEXT_FILE
    path.write_bytes(some * (TEXT_BYTES // len(some)))
    return path


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
class TimedCycleSource(Source[int]):
    """The keyed tuples, read over and over for some seconds, with event times: so many records for each millisecond.

    With a `pause_ms`, no record has a time in so many milliseconds after each `burst_ms`.
    """

    seconds: float
    records_per_ms: int
    burst_ms: int = 1_000
    pause_ms: int = 0
    parallelism_max = 1

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> TimedCycleReader:
        return TimedCycleReader(self, context.monotonic_ms)


@final
class TimedCycleReader(SourceReader[int]):
    """Hands out slices of the list, whose times go on from one round to the next."""

    def __init__(self, source: TimedCycleSource, monotonic_ms: Callable[[], float]) -> None:
        self._cycle = CycleReader(keyed_tuples(), monotonic_ms, source.seconds * 1_000.0)
        self._per_ms = source.records_per_ms
        self._per_burst = source.records_per_ms * source.burst_ms
        self._per_pause = source.records_per_ms * source.pause_ms
        self._position = 0

    def add_splits(self, splits: list[int]) -> None:
        for split in splits:
            self._position = split
            self._cycle.add_splits([split % RECORDS])

    def poll(self, records_max: int) -> Poll:
        bursts, within = divmod(self._position, self._per_burst)
        polled = self._cycle.poll(min(records_max, self._per_burst - within) if self._per_pause else records_max)
        if not isinstance(polled, Records):
            return polled
        count, per_ms = len(polled.records), self._per_ms
        first = self._position + bursts * self._per_pause
        self._position += count
        return Records(polled.records, [number // per_ms for number in range(first, first + count)])

    def snapshot(self) -> list[int]:
        return [self._position]


@final
@dataclass(frozen=True, slots=True)
class TimedSource(Source[int]):
    """So many `(key, event time)` records of 100,000 keys, with as many event times, read once.

    The times are out of order by up to `disorder_ms`, as in a stream; None: they are in no order at all.
    """

    count: int
    disorder_ms: int | None
    parallelism_max = 1

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> ListReader:
        records = timed_tuples(self.count, self.disorder_ms)
        return ListReader(records, [time_ms for _, time_ms in records])


@final
class ListReader(SourceReader[int]):
    """Hands out the records of a list once, with their times if there are any."""

    def __init__(self, records: list[Any], times_ms: list[int] | None) -> None:
        self._records = records
        self._times_ms = times_ms
        self._position = 0

    def add_splits(self, splits: list[int]) -> None:
        for split in splits:
            self._position = split

    def poll(self, records_max: int) -> Poll:
        first, self._position = self._position, self._position + records_max
        records = self._records[first : self._position]
        if not records:
            return END_OF_INPUT
        return Records(records, None if self._times_ms is None else self._times_ms[first : self._position])

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
        pick, process = random.Random(3).randrange, os.getpid()
        count = int(self.records_per_second * self.seconds)
        return PacedReader(self.records_per_second, count, lambda due_s: (pick(KEYS), due_s, process))


@final
class PacedReader(SourceReader[PacedSplit]):
    """Makes `count` records as they fall due, by a function of the due time."""

    def __init__(self, records_per_second: float, count: int, make: Callable[[float], Any]) -> None:
        self._gap_s = 1.0 / records_per_second
        self._count = count
        self._next = count
        self._began_s: float | None = None
        self._make = make

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
        return Records(list(map(self._make, dues)))

    def snapshot(self) -> list[PacedSplit]:
        return [PacedSplit(self._next, self._began_s)] if self._next < self._count else []


@final
@dataclass(frozen=True, slots=True)
class FilledSource(Source[PacedSplit]):
    """A record `(key, due time, 0)` for each of so many keys at once, and then such records at a steady rate."""

    keys: int
    records_per_second: float
    seconds: float
    parallelism_max = 1

    def splits(self, parallelism: int) -> list[PacedSplit]:
        return [PacedSplit(0)]

    def reader(self, context: SourceContext) -> FilledReader:
        return FilledReader(self)


@final
class FilledReader(SourceReader[PacedSplit]):
    """Goes over the keys as fast as it can once, then round and round as records fall due."""

    def __init__(self, source: FilledSource) -> None:
        self._keys = source.keys
        keys = map(self._key, count())
        records = int(source.records_per_second * source.seconds)
        self._paced = PacedReader(source.records_per_second, records, lambda due_s: (next(keys), due_s, 0))
        self._filled = 0

    def _key(self, index: int) -> int:
        """Return the key at this place, as if they were shuffled."""
        return index * STRIDE % self._keys

    def add_splits(self, splits: list[PacedSplit]) -> None:
        self._paced.add_splits(splits)

    def poll(self, records_max: int) -> Poll:
        first = self._filled
        if first >= self._keys:
            return self._paced.poll(records_max)
        self._filled = min(self._keys, first + records_max)
        now_s = time.monotonic()
        return Records([(self._key(index), now_s, 0) for index in range(first, self._filled)])

    def snapshot(self) -> list[PacedSplit]:
        return self._paced.snapshot()
