"""Outputs of the measured jobs: sinks that count, and that take latencies, per batch; and how to read what they leave.

A writer leaves one file, named by subtask, attempt and process id, with a line now and then: the time on the machine's
monotonic clock, the records so far, the longest pause between two batches since the line before, and the processor time
of the process.
"""

from __future__ import annotations

import gc
import os
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from headgate.functions.sink import Committer, Sink, SinkContext, SinkWriter
from headgate.ids import CheckpointId

MARK_GAP_S = 0.05


@final
class NoCommit(Committer[None]):
    """Has nothing to commit."""

    def commit(self, committables: list[None]) -> None:
        pass


@final
@dataclass(frozen=True, slots=True)
class TallySink(Sink[None]):
    """Counts records; leaves marks in `folder`."""

    folder: str

    def writer(self, context: SinkContext) -> TallyWriter:
        name = f"{context.subtask}-{context.attempt}-{os.getpid()}.marks"
        return TallyWriter(Path(self.folder) / name)

    def committer(self, context: SinkContext) -> NoCommit:
        return NoCommit()


@final
class TallyWriter(SinkWriter[None]):
    """Counts the records of one subtask in one attempt."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", buffering=1)
        self._count = 0
        self._due_s = 0.0
        self._last_s: float | None = None
        self._pause_s = 0.0

    def write(self, records: list[Any]) -> None:
        self._count += len(records)
        now_s = time.monotonic()
        if self._last_s is not None and now_s - self._last_s > self._pause_s:
            self._pause_s = now_s - self._last_s
        self._last_s = now_s
        if now_s >= self._due_s:
            self._due_s = now_s + MARK_GAP_S
            self._file.write(f"{now_s} {self._count} {self._pause_s} {time.process_time()}\n")
            self._pause_s = 0.0

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[None]:
        return []

    def close(self) -> None:
        if self._last_s is not None:
            self._file.write(f"{self._last_s} {self._count} {self._pause_s} {time.process_time()}\n")
        self._file.close()


@final
@dataclass(frozen=True, slots=True)
class LatencySink(Sink[None]):
    """Takes the latency of records `(key, due time, process id)` that were made in another process."""

    folder: str

    def writer(self, context: SinkContext) -> LatencyWriter:
        return LatencyWriter(Path(self.folder) / f"{context.subtask}.latencies")

    def committer(self, context: SinkContext) -> NoCommit:
        return NoCommit()


@final
class LatencyWriter(SinkWriter[None]):
    """Keeps due time and latency in seconds of each record, and writes them down at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._taken = array("d")
        self._process = os.getpid()

    def write(self, records: list[Any]) -> None:
        now_s = time.monotonic()
        own, add = self._process, self._taken.append
        for _, due_s, process in records:
            if process != own:
                add(due_s)
                add(now_s - due_s)

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[None]:
        return []

    def close(self) -> None:
        with self._path.open("wb") as file:
            self._taken.tofile(file)


@final
@dataclass(frozen=True, slots=True)
class ArrivalSink(Sink[None]):
    """Notes when records `(key, due time, process id)` arrive; for low rates, as it leaves a line for each batch."""

    folder: str

    def writer(self, context: SinkContext) -> ArrivalWriter:
        name = f"{context.subtask}-{context.attempt}-{os.getpid()}.arrivals"
        return ArrivalWriter(Path(self.folder) / name)

    def committer(self, context: SinkContext) -> NoCommit:
        return NoCommit()


@final
class ArrivalWriter(SinkWriter[None]):
    """Writes down the time and the latest due time of each batch."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", buffering=1)

    def write(self, records: list[Any]) -> None:
        self._file.write(f"{time.monotonic()} {max(due_s for _, due_s, _ in records)}\n")

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[None]:
        return []

    def close(self) -> None:
        self._file.close()


@final
@dataclass(frozen=True, slots=True)
class Arrival:
    """A batch that arrived at `time_s` in an attempt, in a process; its last record was due at `due_s`."""

    time_s: float
    due_s: float
    attempt: int
    process: int


def read_arrivals(folder: Path) -> list[Arrival]:
    """Return the arrivals in `folder`, in the order of time."""
    found = []
    for path in folder.glob("*.arrivals"):
        _, attempt, process = map(int, path.stem.split("-"))
        for time_s, due_s in map(str.split, path.read_text().split("\n")[:-1]):
            found.append(Arrival(float(time_s), float(due_s), attempt, process))
    return sorted(found, key=lambda arrival: arrival.time_s)


@final
@dataclass(frozen=True, slots=True)
class Mark:
    """One line of a tally."""

    time_s: float
    count: int
    pause_s: float
    cpu_s: float


@final
@dataclass(frozen=True, slots=True)
class Tally:
    """What one writer left."""

    subtask: int
    attempt: int
    process: int
    marks: list[Mark]


def read_tallies(folder: Path) -> list[Tally]:
    """Return the tallies in `folder` that have a mark, those of early attempts first."""
    found = []
    for path in folder.glob("*.marks"):
        subtask, attempt, process = map(int, path.stem.split("-"))
        marks = [_mark(line) for line in path.read_text().split("\n")[:-1]]
        if marks:
            found.append(Tally(subtask, attempt, process, marks))
    return sorted(found, key=lambda tally: (tally.attempt, tally.subtask))


def _mark(line: str) -> Mark:
    time_s, count, pause_s, cpu_s = line.split()
    return Mark(float(time_s), int(count), float(pause_s), float(cpu_s))


@final
@dataclass(frozen=True, slots=True)
class Steady:
    """What a job did in its steady state: `rate` in records per second, `cpu_ns` of all slots for each record."""

    rate: float
    cpu_ns: float


def steady_state(tallies: list[Tally], warm_up_s: float) -> Steady:
    """Return what all writers together did in the time that they share after the warm-up, each in its own process."""
    begin_s = max(tally.marks[0].time_s for tally in tallies) + warm_up_s
    end_s = min(tally.marks[-1].time_s for tally in tallies)
    if end_s <= begin_s:
        raise ValueError(f"no steady state: the job's output lasts {end_s - begin_s + warm_up_s:.1f} s")
    count, cpu_s = 0.0, 0.0
    for tally in tallies:
        begin, end = _at(tally.marks, begin_s), _at(tally.marks, end_s)
        count += end[0] - begin[0]
        cpu_s += end[1] - begin[1]
    return Steady(count / (end_s - begin_s), cpu_s / count * 1e9)


def count_at(marks: list[Mark], time_s: float) -> float:
    """Return how many records there had been at a time, on the straight line between the marks around it."""
    return _at(marks, time_s)[0]


def _at(marks: list[Mark], time_s: float) -> tuple[float, float]:
    """Return count and processor time at a time, on the straight line between the marks around it."""
    before = marks[0]
    for mark in marks[1:]:
        if mark.time_s >= time_s:
            share = (time_s - before.time_s) / (mark.time_s - before.time_s)
            count = before.count + share * (mark.count - before.count)
            return count, before.cpu_s + share * (mark.cpu_s - before.cpu_s)
        before = mark
    return before.count, before.cpu_s


def read_latencies_ms(folder: Path, warm_up_s: float) -> list[float]:
    """Return the latencies in `folder` after the warm-up, sorted."""
    pairs = read_latencies(folder)
    first_s = min((due_s for due_s, _ in pairs), default=0.0)
    return sorted(latency_s * 1_000.0 for due_s, latency_s in pairs if due_s >= first_s + warm_up_s)


def _pairs(path: Path) -> Iterator[tuple[float, float]]:
    taken = array("d")
    taken.frombytes(path.read_bytes())
    return zip(taken[::2], taken[1::2], strict=True)


def percentile(values: list[float], percent: float) -> float:
    """Return a percentile of sorted values."""
    return values[min(len(values) - 1, int(len(values) * percent / 100.0))]


COLLECTIONS_FILE = "collections"
COLLECTION_S_LEAST = 0.001


def note_collections(folder: str) -> None:
    """From now on, note when Python's garbage collector stops this process for a while, and for how long."""
    file = (Path(folder) / COLLECTIONS_FILE).open("w", buffering=1)
    began_s = 0.0

    def note(phase: str, info: dict[str, int]) -> None:
        nonlocal began_s
        if phase == "start":
            began_s = time.monotonic()
        elif (took_s := time.monotonic() - began_s) >= COLLECTION_S_LEAST:
            file.write(f"{began_s} {took_s} {info['generation']}\n")

    gc.callbacks.append(note)


@final
@dataclass(frozen=True, slots=True)
class Collection:
    """A stop for the collection of garbage; generation 2 is a full one."""

    time_s: float
    took_s: float
    generation: int


def read_collections(folder: Path) -> list[Collection]:
    """Return the collections that were noted in `folder`."""
    lines = (folder / COLLECTIONS_FILE).read_text().split("\n")[:-1]
    return [Collection(float(time_s), float(took_s), int(of)) for time_s, took_s, of in map(str.split, lines)]


def read_latencies(folder: Path) -> list[tuple[float, float]]:
    """Return the pairs of due time and latency, both in seconds, in `folder`."""
    return [pair for path in folder.glob("*.latencies") for pair in _pairs(path)]
