"""Memory and references over ten million records of a compiled job: `python -m bench.growth --out FILE`.

Jobs of the benchmark run on MiniCluster with checkpoints, and read the same records again and again. Their keys and
windows stay as many, so whatever grows between the first million and the last was left behind by some record: memory
of the process, blocks of Python's allocator, objects that the garbage collector knows, or references to objects that
live as long as the process. Exits with 1 if one of them grows.
"""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, final

import psutil

from bench.counted_jobs import JOBS, Nowhere, elements
from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment
from headgate.functions.source import END_OF_INPUT, Poll, Records, Source, SourceContext, SourceReader
from headgate.types.record_copies import ATOMIC

EACH: Final = 1_000_000
"""Records between two samples."""
GROWTH_MAX: Final = 6_000
"""Blocks, objects or references. Batches on their way have up to 4,000; one left by each batch would be 9,000."""
RSS_GROWTH_MAX: Final = 4 << 20
"""Bytes. An object left by each tenth record would be 50 MB."""


@final
@dataclass(frozen=True, slots=True)
class Sample:
    """What the process held when the first source subtask had read so many elements."""

    records: int
    rss: int
    blocks: int
    objects: int
    references: int


LASTING: Final = (None, True, False, *ATOMIC, tuple, list, dict)
"""Objects that live as long as the process, whose references are counted."""
SAMPLES: Final[list[Sample]] = []
"""Those of the job that runs, in this process."""


def sample(records: int) -> Sample:
    """Return what this process holds now, after a garbage collection."""
    gc.collect()
    references = sum(map(sys.getrefcount, LASTING))
    return Sample(
        records, psutil.Process().memory_info().rss, sys.getallocatedblocks(), len(gc.get_objects()), references
    )


@final
@dataclass(frozen=True, slots=True)
class AgainAndAgain(Source[int]):
    """The elements of a job's input, repeated until each subtask has read `count`. A split is a subtask's number."""

    row: str
    count: int

    def splits(self, parallelism: int) -> list[int]:
        return list(range(parallelism))

    def reader(self, context: SourceContext) -> Repeating:
        return Repeating(self.row, self.count, is_first=context.subtask == 0)


@final
class Repeating(SourceReader[int]):
    """Reads the elements of a job's input, and takes a sample now and then if it is the first subtask's."""

    def __init__(self, row: str, count: int, *, is_first: bool) -> None:
        self._elements, _ = elements(row)
        self._job = JOBS[row]
        self._count = count
        self._is_first = is_first
        self._splits: list[int] = []
        self._read = 0

    def add_splits(self, splits: list[int]) -> None:
        self._splits += splits

    def poll(self, records_max: int) -> Poll:
        if self._read >= self._count or not self._splits:
            return END_OF_INPUT
        step = EACH // self._job.in_one
        before, place = self._read, self._read % len(self._elements)
        found = self._elements[place : place + records_max]
        self._read += len(found)
        if self._is_first and before // step != self._read // step:
            SAMPLES.append(sample(self._read * self._job.in_one))
        time_ms = self._job.time_ms
        return Records(found, None if time_ms is None else list(map(time_ms, range(before, self._read), found)))

    def snapshot(self) -> list[int]:
        return self._splits


def samples_of(row: str, records: int, folder: str) -> list[Sample]:
    """Run a job compiled with that many records for each slot; return its samples. Blocks until it has ended."""
    SAMPLES.clear()
    job = JOBS[row]
    conf = {"headgate.deploy.target": "minicluster", "headgate.native": "on", "execution.checkpointing.interval": "1 s"}
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({**conf, "headgate.storage.dir": folder})
    ).set_parallelism(job.slots)
    source = AgainAndAgain(row, records // job.in_one)
    job.build(env.from_source(source, job.strategy, "records")).sink_to(Nowhere())
    env.execute(f"growth of {row}")
    return list(SAMPLES)


def grown(first: Sample, last: Sample) -> Iterator[str]:
    """Yield what has grown from one sample to another by more than it may."""
    if last.rss - first.rss > RSS_GROWTH_MAX:
        yield f"memory by {(last.rss - first.rss) / 2**20:.1f} MB"
    for name in ("blocks", "objects", "references"):
        growth = getattr(last, name) - getattr(first, name)
        if growth > GROWTH_MAX:
            yield f"{name} by {growth:,}"


def table(row: str, found: list[Sample]) -> Iterator[str]:
    """Yield the lines of a row's samples."""
    yield f"{row:>3}  {'records':>12}  {'memory':>9}  {'blocks':>9}  {'objects':>8}  {'references':>10}"
    for each in [found[0], *islice(found, 2, len(found) - 1, 3), found[-1]]:
        mb = each.rss / 2**20
        yield f"     {each.records:>12,}  {mb:>6.1f} MB  {each.blocks:>9,}  {each.objects:>8,}  {each.references:>10,}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description="Watch memory and references.")
    parser.add_argument("--records", type=int, default=10 * EACH, help="records for each slot of each job")
    parser.add_argument("--rows", nargs="*", default=list(JOBS), choices=list(JOBS), help="rows of the benchmark")
    parser.add_argument("--out", type=Path, help="a file for the result")
    options = parser.parse_args()
    facts = f"{dt.date.today()}, {os.cpu_count()} shared cores, CPython {platform.python_version()}"
    lines = [f"python -m bench.growth --records {options.records}   ({facts})", ""]
    faults: list[str] = []
    for row in options.rows:
        with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
            found = samples_of(row, options.records, folder)
        faults += [f"row {row}: {fault}" for fault in grown(found[0], found[-1])]
        made = list(table(row, found))
        print("\n".join(made), flush=True)
        lines += [*made, ""]
    verdict = f"grown: {'; '.join(faults)}" if faults else "nothing has grown"
    print(verdict)
    if options.out is not None:
        options.out.write_text("\n".join([*lines, verdict]) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
