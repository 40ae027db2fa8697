"""All queries on Spark, as a stream with a worker killed on the way and as a batch: `make nexmark` runs it.

It ends with exit code 0 only if each gives what Spark SQL gives for the same events.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import frames
from figures.written import plain
from frames import frame
from frames.events import EventFrames
from generator.events import Settings
from headgate.common import Configuration
from headgate.dataframe import set_table_environment
from headgate.datastream import DataStream, MapFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from headgate.datastream.functions import CheckpointListener
from headgate.deploy.spark.java import ensure_java
from headgate.table import TableEnvironment
from inputs import write_inputs
from queries import NAMES, PATTERNS, query
from results import Rows, difference, settled
from streams import Events
from tables import expected, register

HERE = Path(__file__).parent
WORK = HERE / "work"
EVENTS = 300_000
CHECKPOINTS_BEFORE_KILL = 2

SETTINGS = {
    "execution.checkpointing.interval": "50 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "0 ms",
}
SPARK: dict[str, bool | float | int | str | None] = {
    "spark.master": "local[4]",  # two slots for a job, and some for Spark's own work
    "spark.app.name": "nexmark",
    "spark.driver.host": "127.0.0.1",
    "spark.python.task.killTimeout": "100ms",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


class KillOnce(MapFunction, CheckpointListener):
    """Hands records on. Kills its own process after some checkpoints, unless a file says that this has been done."""

    def __init__(self, done: Path) -> None:
        self.done = done
        self.checkpoints = 0

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.checkpoints += 1

    def map(self, value: Any) -> Any:
        if self.checkpoints >= CHECKPOINTS_BEFORE_KILL and not self.done.exists():
            self.done.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value


@dataclass(frozen=True)
class Disturbed(Events):
    """Events whose reader is killed once."""

    done: Path

    def read(self, *kinds: str) -> DataStream:
        return super().read(*kinds).map(KillOnce(self.done))


@dataclass(frozen=True)
class Records:
    """A query as a program of the DataStream API."""

    spark: SparkSession
    folder: Path
    name: str

    def stream(self, mode: RuntimeExecutionMode, done: Path) -> DataStream:
        """Return the results. As a stream, the job kills a worker and creates the file `done`."""
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(SETTINGS), self.spark)
        env.set_runtime_mode(mode).set_parallelism(2)
        is_stream = mode is RuntimeExecutionMode.STREAMING
        return query(self.name)(Disturbed(env, self.folder, done) if is_stream else Events(env, self.folder))


@dataclass(frozen=True)
class Frames:
    """A query as a program of DataFrames."""

    folder: Path
    name: str

    def stream(self, mode: RuntimeExecutionMode, done: Path) -> DataStream:
        """Return the results, as `Records.stream` does."""
        own = {"execution.runtime-mode": mode.name, "parallelism.default": "2", "table.local-time-zone": "UTC"}
        set_table_environment(TableEnvironment.create(Configuration.from_dict(SETTINGS | own)))
        results = frame(self.name)(EventFrames(self.folder)).to_data_stream()
        return results.map(KillOnce(done)) if mode is RuntimeExecutionMode.STREAMING else results


def main() -> None:
    parser = argparse.ArgumentParser(description="Nexmark on Spark, as a stream with a worker killed and as a batch.")
    parser.add_argument("queries", nargs="*", metavar="QUERY", help="such as q5; all if none is named")
    parser.add_argument("--events", type=int, default=EVENTS, help=f"how many events there are ({EVENTS:,})")
    given = parser.parse_args()
    if unknown := sorted(set(given.queries) - {*NAMES, *PATTERNS}):
        parser.error(
            f"there is no {unknown[0]}: queries are {NAMES[0]} to {NAMES[-1]}, and {PATTERNS[0]} to {PATTERNS[-1]}"
        )
    folder = WORK / "input"
    write_inputs(folder, given.events, Settings())
    print(f"{given.events:,} events; the log of Spark and of the jobs goes to {WORK / 'spark.log'}.\n")
    with spark_session() as spark:
        register(spark, folder)
        wrong = [name for name in given.queries or [*NAMES, *PATTERNS] if not check(spark, folder, name)]
    if wrong:
        sys.exit(f"\nFAILED: {', '.join(wrong)}")
    print("\nEach query gives what Spark SQL gives, as a stream with a worker killed on the way and as a batch.")


def check(spark: SparkSession, folder: Path, name: str) -> bool:
    """Run the programs of a query in both modes, tell how it went, and return whether all is as expected."""
    wanted, done = expected(spark, name), WORK / "killed"
    programs: list[Records | Frames] = [Records(spark, folder, name)]
    if name in frames.NAMES:
        programs.append(Frames(folder, name))
    right = True
    for program in programs:
        for mode in (RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH):
            done.unlink(missing_ok=True)
            started_s = time.monotonic()
            found = results(name, program.stream(mode, done))
            missed = mode is RuntimeExecutionMode.STREAMING and not done.exists()
            wrong = difference(found, wanted) or ("no worker was killed" if missed else None)
            right = right and wrong is None
            took_s = time.monotonic() - started_s
            kind = type(program).__name__.lower()
            print(
                f"  {name:<4}{kind:<8}{mode.name:<10}{found.total():>9,} results {took_s:6.1f} s  {wrong or 'right'}",
                flush=True,
            )
    return right


def results(name: str, stream: DataStream) -> Rows:
    """Run a query and return what counts of its results."""
    with stream.execute_and_collect(name) as records:
        return settled(name, (tuple(map(plain, record)) for record in records))


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    """A Spark session whose log, and that of the jobs, goes to a file, and whose workers find these modules."""
    console = os.dup(2)
    with (WORK / "spark.log").open("w") as log:
        os.dup2(log.fileno(), 2)
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ.update(JAVA_HOME=str(ensure_java()), PYSPARK_PYTHON=sys.executable, PYTHONPATH=os.pathsep.join(paths))
    try:
        spark = SparkSession.builder.config(map=SPARK).getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
    finally:
        sys.stderr.flush()
        os.dup2(console, 2)


if __name__ == "__main__":
    main()
