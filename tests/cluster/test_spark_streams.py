"""Streaming queries of Spark as sources: exactly once whatever is killed, from savepoints too; and what is refused."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headgate.common import Configuration
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from headgate.errors import EnvironmentFault, JobFailedError, ProgramError
from tests.cluster.programs import Count, Fault, pids

pytestmark = pytest.mark.spark

FILES = 4
SIZE = 500
KEYS = 10
EXPECTED = Counter((key, count) for key in range(KEYS) for count in range(1, FILES * SIZE // KEYS + 1))
SCHEMA = pa.schema([("n", pa.int64())])


def put(folder: Path, number: int, size: int = SIZE) -> None:
    """Let a file of the next numbers be there, whole at once."""
    folder.mkdir(exist_ok=True)
    rows = list(range(number * size, (number + 1) * size))
    pq.write_table(pa.table({"n": rows}, schema=SCHEMA), folder / f".{number}")
    (folder / f".{number}").rename(folder / f"{number}.parquet")


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema("n long").option("maxFilesPerTrigger", 1).parquet(str(folder))


def environment(
    spark: SparkSession, folder: Path, target: str = "spark", snapshot: str | None = None
) -> StreamExecutionEnvironment:
    settings = {
        "headgate.deploy.target": target,
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 s",
        **({} if snapshot is None else {"execution.state-recovery.path": snapshot}),
    }
    conf = Configuration.from_dict(settings)
    return StreamExecutionEnvironment.get_execution_environment(conf, spark).set_parallelism(2)


def numbers(rows: DataStream) -> DataStream:
    return rows.map(lambda row: row.n)


def test_a_keyed_count_of_a_query_that_ends_is_exact_though_a_slot_is_killed(
    spark: SparkSession, tmp_path: Path
) -> None:
    for number in range(FILES):
        put(tmp_path / "in", number)
    marks = tmp_path / "marks"
    marks.mkdir()
    env = environment(spark, tmp_path)
    rows = env.from_spark_stream(stream_of(spark, tmp_path / "in"), str(tmp_path / "query"), available_now=True)
    counts = numbers(rows).key_by(lambda n: n % KEYS).process(Count(marks, Fault("kill the worker", 2 * SIZE + 250)))
    with counts.execute_and_collect("stream") as results:
        assert Counter(results) == EXPECTED
    assert len(pids(marks)) == 4
    assert {path.name for path in (tmp_path / "query/query/commits").glob("[0-9]*")} == {"0", "1", "2", "3"}
    assert list((tmp_path / "query/batches").glob("*/*")) == [], "acknowledged batches go"


def test_a_core_is_needed_beside_the_slots(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    env = environment(spark, tmp_path).set_parallelism(4)
    env.from_spark_stream(stream_of(spark, tmp_path / "in"), str(tmp_path / "query")).print()
    told = r"holds 4 task slots for its life, and Spark makes the micro-batches .* on 1 more.*Spark has 4.*local\[5\]"
    with pytest.raises(EnvironmentFault, match=told):
        env.execute()
    other = environment(spark, tmp_path).set_parallelism(3)
    other.from_spark_stream(stream_of(spark, tmp_path / "in"), str(tmp_path / "query"), free_cores=3).print()
    with pytest.raises(EnvironmentFault, match=r"on 3 more.*local\[6\]"):
        other.execute()


def test_two_sources_of_one_checkpoint_location_are_refused_before_either_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    env = environment(spark, tmp_path).set_parallelism(1)
    for _ in range(2):
        env.from_spark_stream(stream_of(spark, tmp_path / "in"), str(tmp_path / "query")).print()
    with pytest.raises(ProgramError, match=f"have the checkpoint location {tmp_path}/query: each needs its own"):
        env.execute()
    assert not (tmp_path / "query").exists()


def test_jobs_go_on_from_snapshots_as_new_as_what_spark_has_acknowledged_and_from_no_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    for number in range(2):
        put(tmp_path / "in", number)

    def start(snapshot: str | None = None) -> Collected:
        env = environment(spark, tmp_path, "minicluster", snapshot)
        rows = env.from_spark_stream(stream_of(spark, tmp_path / "in"), str(tmp_path / "query"))
        rows.uid("query")
        return Collected(numbers(rows.filter(lambda row: True)).execute_and_collect())

    first = start()
    assert first.take(2 * SIZE) == list(range(2 * SIZE))
    early = first.job.trigger_savepoint(str(tmp_path / "early"), SavepointFormat.CANONICAL).result(120.0)
    put(tmp_path / "in", 2)
    assert first.take(SIZE) == list(range(2 * SIZE, 3 * SIZE))
    late = first.job.stop_with_savepoint(False, str(tmp_path / "late"), SavepointFormat.CANONICAL).result(120.0)
    put(tmp_path / "in", 3)
    again = start(late)
    assert again.take(SIZE) == list(range(3 * SIZE, 4 * SIZE))
    again.job.cancel()
    again.job.wait()
    for snapshot, told in ((early, "covers 1"), (None, "without a snapshot")):
        with pytest.raises(JobFailedError, match=rf"has acknowledged batch [23], but .*{told}"):
            list(start(snapshot).results)
    assert spark.streams.active == [], "queries end with their jobs"


class Collected:
    """What a job emits, and its handle."""

    def __init__(self, results: Any) -> None:
        self.results: Iterator[Any] = results
        self.job = results._job

    def take(self, count: int) -> list[Any]:
        return sorted(next(self.results) for _ in range(count))


def test_a_query_that_fails_fails_the_job_with_what_spark_says(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in", 0)
    failing = stream_of(spark, tmp_path / "in").select(F.assert_true(F.col("n") < 7, "no seven here").alias("n"))
    env = environment(spark, tmp_path, "minicluster")
    env.from_spark_stream(failing, tmp_path / "query", "orders").print()
    with pytest.raises(JobFailedError, match=r"Source: orders: the streaming query has failed: .*no seven") as raised:
        env.execute()
    assert "py4j" not in str(raised.value)


def test_aggregates_come_in_update_mode_and_columns_of_any_type_as_they_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    put(tmp_path / "in", 0)
    totals = (
        stream_of(spark, tmp_path / "in")
        .groupBy((F.col("n") % 2).alias("odd"))
        .agg(F.sum("n").cast("decimal(20,2)").alias("sum"), F.lit(None).cast("string").alias("none"))
        .withColumn("pair", F.struct(F.col("odd"), F.array("sum").alias("sums")))
    )
    env = environment(spark, tmp_path, "minicluster")
    rows = env.from_spark_stream(totals, str(tmp_path / "query"), output_mode="update", available_now=True)
    with rows.execute_and_collect() as results:
        found = {row.odd: (row.sum, row.none, row.pair.sums) for row in results}
    sums = {odd: Decimal(sum(n for n in range(SIZE) if n % 2 == odd)).quantize(Decimal("0.01")) for odd in (0, 1)}
    assert found == {odd: (total, None, [total]) for odd, total in sums.items()}


def test_what_is_no_streaming_dataframe_is_refused_where_it_is_given(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(spark, tmp_path)
    with pytest.raises(ProgramError, match=r"is bounded: use from_spark\(\)"):
        env.from_spark_stream(spark.range(3), "there")
    with pytest.raises(ProgramError, match="takes a streaming DataFrame"):
        env.from_spark_stream([1], "there")  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="output_mode is 'upsert'"):
        env.from_spark_stream(stream_of(spark, tmp_path), "there", output_mode="upsert")
    with pytest.raises(ProgramError, match="a query can have only one"):
        env.from_spark_stream(stream_of(spark, tmp_path), "there", available_now=True, processing_time="1 second")


PROGRAM = """
import os, signal
from headgate.common import Configuration
from headgate.connectors.micro_batches.feed import BatchFeed
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.connectors.file_system import Encoder, FileSink
from headgate.deploy.spark.session import obtain

process = BatchFeed.process

def killed_between_the_commits(self, query, batch, write):
    process(self, query, batch, write)
    if batch == 1 and not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)

BatchFeed.process = killed_between_the_commits
conf = Configuration.from_dict({
    "headgate.deploy.target": "minicluster",
    "headgate.job.id": "0123456789abcdef0123456789abcdef",
    "headgate.storage.dir": "storage",
})
spark = obtain(None, 2)
env = StreamExecutionEnvironment.get_execution_environment(conf, spark).set_parallelism(2)
frame = spark.readStream.schema("n long").option("maxFilesPerTrigger", 1).parquet("in")
numbers = env.from_spark_stream(frame, "query", available_now=True).map(lambda row: str(row.n))
numbers.sink_to(FileSink.for_row_format("out", Encoder.simple_string_encoder()).build())
env.execute("numbers")
"""


def lines(folder: Path) -> Counter[int]:
    return Counter(int(line) for part in (folder / "out").rglob("part-*") for line in part.read_text().splitlines())


@pytest.mark.soak
def test_a_driver_that_is_killed_between_the_checkpoint_and_sparks_commit_goes_on_without_a_trace(
    tmp_path: Path,
) -> None:
    for number in range(FILES):
        put(tmp_path / "in", number)
    (tmp_path / "job.py").write_text(PROGRAM)
    for code, commits in ((-signal.SIGKILL, {"0"}), (0, {"0", "1", "2", "3"})):
        ran = subprocess.run(
            [sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        assert ran.returncode == code, ran.stderr
        assert {path.name for path in (tmp_path / "query/query/commits").glob("[0-9]*")} == commits
    assert lines(tmp_path) == Counter(range(FILES * SIZE))
