"""Where jobs meet Spark SQL: stream writers of PySpark as sinks, and the state of a running job as tables."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headgate.common import Configuration, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.connectors.spark import SparkSink
from headgate.savepoints import newest_checkpoint, register
from headgate.types.row import Row
from tests.cluster.programs import Fault
from tests.scenarios.runs import wait_until
from tests.scenarios.test_state_tables import job
from tests.stream_writers import StagedFilesSource, batches_in, rows_in

INNER = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.LIST(Types.STRING())])
TYPE = Types.ROW_NAMED(["number", "inner", "at", "day"], [Types.LONG(), INNER, Types.STRING(), Types.STRING()])
COUNT = 400
KILLED_ROWS = 2_000


def record(number: int) -> Row:
    inner = Row(a=number, b=["x"] * (number % 3)) if number % 5 else None
    return Row(number=number, inner=inner, at=None, day=str(dt.date(2024, 1, 1 + number % 28)))


def by_spark(spark: SparkSession, folder: Path) -> list[Any]:
    (folder / "in").mkdir()
    lines = (json.dumps(record(number).as_dict(recursive=True)) for number in range(COUNT))
    (folder / "in" / "numbers.json").write_text("\n".join(lines))
    schema = "number bigint, inner struct<a: bigint, b: array<string>>, at string, day string"
    spark.dataSource.register(StagedFilesSource)
    rows = spark.readStream.schema(schema).json(str(folder / "in")).repartition(3)
    stream = rows.writeStream.format("staged-files").trigger(availableNow=True).outputMode("append")
    query = stream.option("path", str(folder / "spark")).option("checkpointLocation", str(folder / "progress")).start()
    query.awaitTermination(60)
    assert query.exception() is None
    return rows_in(folder / "spark")


def by_headgate(spark: SparkSession, folder: Path) -> list[Any]:
    conf = Configuration.from_dict({"headgate.storage.dir": str(folder / "storage")})
    env = StreamExecutionEnvironment.get_execution_environment(conf, spark=spark).set_parallelism(2)
    env.enable_checkpointing(100)
    sink = SparkSink.for_data_source(StagedFilesSource, TYPE, options={"path": folder / "ours"}, idempotent_commit=True)
    numbers = env.from_collection([record(number) for number in range(COUNT)], TYPE)
    numbers.rebalance().sink_to(sink)
    env.execute("to a stream writer")
    return rows_in(folder / "ours")


@pytest.mark.spark
@pytest.mark.soak
def test_a_stream_writer_writes_the_same_rows_for_spark_and_for_a_job(spark: SparkSession, tmp_path: Path) -> None:
    ours, sparks = by_headgate(spark, tmp_path), by_spark(spark, tmp_path)
    assert len(ours) == COUNT
    assert sorted(map(json.dumps, ours)) == sorted(map(json.dumps, sparks))
    assert batches_in(tmp_path / "ours") != []
    assert not list((tmp_path / "ours").glob(".*.staged"))


@pytest.mark.soak
@pytest.mark.spark
def test_a_worker_that_is_killed_neither_loses_nor_doubles_a_row(spark: SparkSession, tmp_path: Path) -> None:
    conf = {"headgate.storage.dir": str(tmp_path / "storage"), "execution.checkpointing.interval": "100 ms"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(conf), spark=spark)
    fault, marker = Fault("kill the worker", KILLED_ROWS // 2), tmp_path / "killed"

    def row(number: int) -> tuple[int]:
        if number == fault.at:
            fault.strike(marker)
        return (number,)

    schema = Types.ROW_NAMED(["number"], [Types.LONG()])
    folder = tmp_path / "table"
    sink = SparkSink.for_data_source(StagedFilesSource, schema, options={"path": folder}, idempotent_commit=True)
    numbers = DataGeneratorSource(lambda index: index, KILLED_ROWS, 1_000.0)
    env.set_parallelism(2).from_source(numbers, None, "numbers").map(row).sink_to(sink)
    env.execute("to a stream writer, with a worker killed")
    assert marker.exists()
    assert sorted(found["number"] for found in rows_in(folder)) == list(range(KILLED_ROWS))
    assert len(batches_in(folder)) > 3


@pytest.mark.spark
@pytest.mark.soak
def test_a_running_job_is_asked_twice_by_sql(spark: SparkSession, tmp_path: Path) -> None:
    conf = {
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.num-retained": "10000",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(conf), spark=spark)
    running: Any = job(env.set_parallelism(2)).submit()
    try:
        register(spark)
        wait_until(lambda: len(running.progress.checkpoints) >= 1, running)
        [folder] = (tmp_path / "checkpoints").iterdir()
        answers = [ask(spark, folder)]
        taken = len(running.progress.checkpoints)
        wait_until(lambda: len(running.progress.checkpoints) > taken + 1, running)
        answers.append(ask(spark, folder))
    finally:
        running.cancel()
        running.wait(120.0)
    assert [money for money, _, _ in answers] == [0, 0]
    assert [moves % 2 for _, moves, _ in answers] == [0, 0]
    assert answers[0][1] < answers[1][1], "the second is of a later checkpoint"
    assert answers[0][2] == [("balance", "keyed"), ("event", "timers"), ("moves", "keyed")]
    with pytest.raises(PySparkException, match="there is no snapshot"):
        spark.read.format("headgate").option("path", str(folder / "chk-1000000")).load()


def ask(spark: SparkSession, folder: Path) -> tuple[int, int, list[tuple[str, str]]]:
    """Return all money, all moves, and the states that there are, of the newest checkpoint."""
    path = newest_checkpoint(str(folder))
    for state in ("balance", "moves"):
        options = f"path '{path}', uid 'accounts', state '{state}'"
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {state} USING headgate OPTIONS ({options})")
    joined = "SELECT sum(b.value) AS money, sum(m.value) AS moves FROM balance b JOIN moves m USING (key)"
    [sums] = spark.sql(joined).collect()
    listed = spark.read.format("headgate").option("path", str(folder)).option("uid", "accounts").load()
    return sums.money, sums.moves, sorted((row["state"], row["table"]) for row in listed.collect())
