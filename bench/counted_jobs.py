"""The jobs whose instructions are counted. `bench.instructions` calls `main` in a Python under callgrind.

callgrind counts the instructions of the whole process, and begins a new count at each
call of libc's `getloadavg`. So a call before and after each job gives the job a count of its own.

Nothing may depend on how fast the machine is: callgrind makes Python fifty times slower. The clock of the jobs moves
when it is read, so pieces of work and reports are as large and as frequent as on an idle machine. No checkpoint is
triggered, and garbage is collected as in a slot's process.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final, final

from bench.inputs import TIMERS_DISORDER_MS, ListReader, keyed_tuples, lines, timed_tuples
from bench.outputs import NoCommit
from bench.programs import counted, doubled_odd, key_of, reminded, word_counts
from bench.timed_programs import PAUSE_MS, WINDOW_MS, records_per_ms, session_counts, tumbling_counts
from headgate.common import Configuration, WatermarkStrategy
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.deploy.handles.running_job import RunningJob
from headgate.deploy.local.mini_cluster import LocalHost
from headgate.functions.sink import Sink, SinkContext, SinkWriter
from headgate.functions.source import Source, SourceContext
from headgate.ids import CheckpointId
from headgate.runtime.slot.garbage import survivors_set_aside

WARM_UP: Final = 5_000
COUNTS: Final = (20_000, 80_000)
"""Each job runs with so many records for each slot, and the difference is what the additional ones took."""
READING_MS: Final = 0.05
"""By so much the clock moves at each reading; a batch reads it about six times."""
WORDS_IN_LINE: Final = 5
WINDOW_RECORDS: Final = 20
SESSION_RECORDS: Final = 2
TIMERS_OF_KEY: Final = 10

Build = Callable[[DataStream], DataStream]


@final
@dataclass(frozen=True, slots=True)
class Job:
    """A job over a list that `make` returns; `in_one` records are counted for each element of the list.

    `time_ms` returns the event time of an element, given its number too. `strategy` makes the watermarks: without one,
    event time stands still until the input ends.
    """

    build: Build
    make: Callable[[], list[Any]]
    slots: int = 1
    in_one: int = 1
    time_ms: Callable[[int, Any], int] | None = None
    strategy: WatermarkStrategy | None = None


def steadily(number: int, element: Any, per_ms: int, pause_ms: int = 0) -> int:
    """Return event times with so many elements in each millisecond, and a pause after each length of a window."""
    ms = number // per_ms
    return ms + ms // WINDOW_MS * pause_ms


def own(number: int, element: tuple[int, int]) -> int:
    """Return the second field of an element."""
    return element[1]


JOBS: Final = {
    "a": Job(counted, keyed_tuples),
    "c": Job(counted, keyed_tuples, slots=2),
    "d": Job(doubled_odd, keyed_tuples),
    "e": Job(word_counts, lines, in_one=WORDS_IN_LINE),
    "r": Job(reminded, lambda: timed_tuples(COUNTS[1], TIMERS_DISORDER_MS, COUNTS[1] // TIMERS_OF_KEY), time_ms=own),
    "ae": Job(
        lambda tuples: tumbling_counts(tuples.key_by(key_of)),
        keyed_tuples,
        time_ms=partial(steadily, per_ms=records_per_ms(WINDOW_RECORDS)),
        strategy=WatermarkStrategy.for_monotonous_timestamps(),
    ),
    "ai": Job(
        lambda tuples: session_counts(tuples.key_by(key_of)),
        keyed_tuples,
        time_ms=partial(steadily, per_ms=records_per_ms(SESSION_RECORDS), pause_ms=PAUSE_MS),
        strategy=WatermarkStrategy.for_monotonous_timestamps(),
    ),
}
"""The jobs by row of the benchmark."""


@cache
def elements(row: str) -> tuple[list[Any], list[int] | None]:
    """Return the whole input of a job, with its event times if it has any. It is made in the warm-up."""
    job = JOBS[row]
    made = job.make()
    return made, None if job.time_ms is None else list(map(job.time_ms, range(len(made)), made))


@final
class CountingClock:
    """A clock that moves when it is read."""

    def __init__(self) -> None:
        self._now_ms = 0.0

    def monotonic_ms(self) -> float:
        self._now_ms += READING_MS
        return self._now_ms

    def wall_ms(self) -> int:
        return int(self._now_ms)


@final
@dataclass(frozen=True, slots=True)
class FirstRecords(Source[int]):
    """The first `count` elements of a job's input, read once by each subtask."""

    row: str
    count: int

    def splits(self, parallelism: int) -> list[int]:
        return [0] * parallelism

    def reader(self, context: SourceContext) -> ListReader:
        records, times_ms = elements(self.row)
        return ListReader(records[: self.count], None if times_ms is None else times_ms[: self.count])


@final
@dataclass(frozen=True, slots=True)
class Nowhere(Sink[None]):
    """Drops what it gets."""

    def writer(self, context: SinkContext) -> Dropping:
        return Dropping()

    def committer(self, context: SinkContext) -> NoCommit:
        return NoCommit()


@final
class Dropping(SinkWriter[None]):
    """Drops records."""

    def write(self, records: list[Any]) -> None:
        pass

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[None]:
        return []


def run(row: str, count: int, folder: str) -> None:
    """Run a job with `count` records for each slot; block until it has ended."""
    job = JOBS[row]
    conf = Configuration.from_dict({"headgate.deploy.target": "minicluster", "headgate.storage.dir": folder})
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.set_parallelism(job.slots)
    job.build(env.from_source(FirstRecords(row, count // job.in_one), job.strategy, "records")).sink_to(Nowhere())
    plan = env.job_graph(f"instructions of {row}")
    outcome = RunningJob(plan, LocalHost(plan, CountingClock())).start().wait()
    if outcome is None or outcome.cause is not None:
        raise RuntimeError(f"the job of row {row} failed: {outcome}")


def main(*rows: str) -> None:
    """Run each row's job with each count of records."""
    with survivors_set_aside(), tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
        for row in rows:
            run(row, WARM_UP, folder)
            for count in COUNTS:
                os.getloadavg()
                run(row, count, folder)
                os.getloadavg()
