"""Jobs that come to a halt half-way and go on at another parallelism, in each of the ways that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from itertools import permutations
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.cli.rescale import as_wide
from headgate.common import Configuration, Types
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.sink import FileSink
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from headgate.operators.sink import SinkOperator
from tests.scenarios.halting import GO_ON, MAY_END, all_halted, halt
from tests.scenarios.runs import MAX_PARALLELISM, wait_until

Program = Callable[[StreamExecutionEnvironment], object]
"""Builds a program in an environment, with its sinks, and without running it."""
Streams = DataStream | Mapping[str, DataStream]


class Way(Enum):
    """How a job comes to another parallelism."""

    RUNNING = "while it runs"
    CHECKPOINT = "from the checkpoint of a job that was cancelled"
    SAVEPOINT = "from a savepoint, after which the job was cancelled"
    STOPPED = "from the savepoint that a job was stopped with"


Change = tuple[Way, int, int]
PAIRS: Final = [*permutations((1, 2, 3), 2), (1, 1), (2, 2), (3, 3)]


LEFT_TO_SOAK: Final = (pytest.mark.soak, pytest.mark.long)


def changes(*ways: Way) -> list[Any]:
    """Return each pair of parallelisms in each of these ways; the same one twice for checkpoints only.

    `make test` runs each pair in one of the ways, and each way; `make soak-long` runs all others.
    """
    return [
        pytest.param(
            (way, before, after),
            id=f"{way.name.lower()}-{before}-{after}",
            marks=() if way is ways[index % len(ways)] or before == after == 2 else LEFT_TO_SOAK,
        )
        for way in ways
        for index, (before, after) in enumerate(PAIRS)
        if before != after or way is Way.CHECKPOINT
    ]


on_every_change: Final = pytest.mark.parametrize("change", changes(Way.RUNNING, Way.CHECKPOINT, Way.STOPPED))


def of_each(kinds: Iterable[str]) -> list[Any]:
    """Return each kind with each change, of which `make test` runs every other one, the others with the next kind."""
    every = changes(Way.RUNNING, Way.CHECKPOINT, Way.STOPPED)
    tested = [change for change in every if not change.marks]
    return [
        pytest.param(kind, *change.values, id=f"{kind}-{change.id}", marks=LEFT_TO_SOAK if left else ())
        for number, kind in enumerate(kinds)
        for change in every
        for left in [change not in tested or (number + tested.index(change)) % 2 == 1]
    ]


class Rescaled:
    """A program whose sources halt. All of its jobs are stored in one folder."""

    def __init__(self, folder: Path, program: Program, records: int | None = None, **settings: str) -> None:
        """`records` are how many each of its sources has, where that does not say so itself."""
        self.program, self.records = program, records
        self.jobs: list[Any] = []
        self.settings = {
            "headgate.deploy.target": "minicluster",
            "headgate.batch.records": "7",
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "execution.checkpointing.savepoint-dir": str(folder / "savepoints"),
            "execution.checkpointing.interval": "2 min",
            "execution.checkpointing.num-retained": "1000",  # later ones do not replace the one that is started from
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
            "pipeline.max-parallelism": str(MAX_PARALLELISM),
            "restart-strategy.type": "none",
            **settings,
        }

    def run(self, change: Change) -> Any:
        """Run from one parallelism to the other, and to the end; return the last job."""
        way, *parallelisms = change
        return self.run_through(way, *parallelisms)

    def run_through(self, way: Way, *parallelisms: int) -> Any:
        """The same through any number of parallelisms."""
        job = self.begin(parallelisms[0])
        for number, parallelism in enumerate(parallelisms[1:], 2):
            wait_until(all_halted, job)
            job = self.go_on(job, way, parallelism, is_last=number == len(parallelisms))
        return finished(job)

    def run_undisturbed(self, parallelism: int = 1) -> Any:
        """Run to the end at once; return the job."""
        GO_ON.set()
        return finished(self._submit(parallelism))

    def begin(self, parallelism: int) -> Any:
        """Start the job that will come to a halt."""
        GO_ON.clear()
        MAY_END.set()
        return self._submit(parallelism)

    def go_on(self, job: Any, way: Way, parallelism: int, *, is_last: bool = True) -> Any:
        """Have a job go on at another parallelism, the last one to its end; return the job that does."""
        if way is Way.RUNNING:
            rescale(job, parallelism)
            location = None
        else:
            location = self._location(job, way)
        if is_last:
            GO_ON.set()
        return job if location is None else self._submit(parallelism, location)

    def _location(self, job: Any, way: Way) -> str:
        """Return where the job has left a snapshot; it has ended."""
        if way is Way.STOPPED:
            location = job.stop_with_savepoint(False, None, SavepointFormat.CANONICAL).result(120.0)
        elif way is Way.SAVEPOINT:
            location = job.trigger_savepoint(None, SavepointFormat.NATIVE).result(120.0)
        else:
            location = job.trigger_checkpoint().result(120.0)
        if way is not Way.STOPPED:
            job.cancel()
        assert job.wait(120.0).status.word == ("finished" if way is Way.STOPPED else "cancelled")
        return str(location)

    def _submit(self, parallelism: int, location: str | None = None) -> Any:
        start = {} if location is None else {"execution.state-recovery.path": location}
        configuration = Configuration.from_dict({**self.settings, **start})
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)
        self.program(env)
        halt(env, self.records)
        self.jobs.append(env.submit())
        return self.jobs[-1]


def leave_commits_to_others(change: Change, patch: pytest.MonkeyPatch) -> None:
    """Have an attempt of a job that runs on end before it commits what it has prepared; the next one does."""
    if change[0] is Way.RUNNING:
        heard = SinkOperator.notify_completed
        patch.setattr(SinkOperator, "notify_completed", lambda self, id_: self.context.attempt > 1 and heard(self, id_))


def rescale(job: Any, parallelism: int) -> None:
    """Have a job run on at another parallelism, and wait until it does."""
    before = job.progress.attempt
    counts = job.progress.placement.parallelism
    widths = as_wide(counts, [vertex.parallelism_max for vertex in job.plan.vertices], parallelism)
    job.rescale({vertex: (width, width) for vertex, width in enumerate(widths)}).result(120.0)
    assert job.progress.attempt == before + 1


def finished(job: Any) -> Any:
    """Wait until a job has come to its end."""
    outcome = job.wait(120.0)
    assert outcome.status.word == "finished", outcome.cause
    assert job.progress.restarts == 0
    return job


def into_files(streams: Streams, out: Path) -> None:
    """End streams in files, each record as a line."""
    named = streams.items() if isinstance(streams, Mapping) else [("", streams)]
    first, *rest = (stream.map(_Named(name), Types.STRING()) for name, stream in named)
    sink = FileSink.for_row_format(str(out), Encoder.simple_string_encoder()).build()
    (first.union(*rest) if rest else first).sink_to(sink).uid("out")


def lines(out: Path) -> list[str]:
    """Return what a reader of the files sees, sorted."""
    return sorted(line for part in out.rglob("part-*") for line in part.read_text().splitlines())


class _Named:
    """Makes a line of a record."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, record: Any) -> str:
        return f"{self.name} {record}".strip()
