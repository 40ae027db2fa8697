"""DataFrames in and out, with a Spark session beside a MiniCluster."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headgate.common.configuration import Configuration
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.deploy.spark.java import ensure_java
from headgate.errors import ProgramError
from headgate.types.row import Row
from headgate.types.typeinfo import Types

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    os.environ.setdefault("JAVA_HOME", str(ensure_java()))
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.log.level": "ERROR",
    }
    session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def env(spark: SparkSession) -> StreamExecutionEnvironment:
    conf = Configuration.from_dict({"headgate.deploy.target": "minicluster"})
    return StreamExecutionEnvironment.get_execution_environment(conf, spark)


def test_rows_of_a_dataframe_arrive_in_its_order(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    frame = spark.range(0, 1000, 1, 4).selectExpr("id", "cast(id as string) as name", "id / 2 as half")
    stream = env.from_spark(frame)
    assert stream.get_type() == Types.ROW_NAMED(["id", "name", "half"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
    with stream.execute_and_collect() as records:
        rows = list(records)
    assert [row.id for row in rows] == list(range(1000))
    assert tuple(rows[3]) == (3, "3", 1.5)


def test_results_become_a_dataframe(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    counted = Types.ROW_NAMED(["parity", "count"], [Types.LONG(), Types.LONG()])
    counts = env.from_spark(spark.range(10)).map(lambda row: Row(row.id % 2, 1), counted).key_by(lambda row: row[0])
    frame = counts.sum(1).to_spark()
    assert frame.columns == ["parity", "count"]
    assert sorted(map(tuple, frame.groupBy("parity").max("count").collect())) == [(0, 5), (1, 5)]


def test_no_results_become_an_empty_dataframe(env: StreamExecutionEnvironment) -> None:
    frame = env.from_collection([1, 2], Types.LONG()).filter(lambda n: n > 2).to_spark()
    assert (frame.columns, frame.count()) == (["value"], 0)


def test_an_empty_dataframe_is_an_empty_stream(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    assert list(env.from_spark(spark.range(0)).execute_and_collect()) == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("1 a, 2 a", r"two columns 'a' in the DataFrame"),
        ("array(struct(1 a, 2 a)) pairs", r"two columns 'pairs\[\]\.a'"),
        ("parse_json('1') v", r"column 'v' of the DataFrame is 'variant'"),
        ("map('k', struct(array(interval '1' year) years)) m", r"column 'm\[value\]\.years\[\]' .* is 'interval year'"),
    ],
)
def test_a_column_that_no_record_holds_is_named_before_anything_runs(
    spark: SparkSession, env: StreamExecutionEnvironment, columns: str, message: str
) -> None:
    with pytest.raises(ProgramError, match=message):
        env.from_spark(spark.sql(f"select {columns}"))


def test_a_dataframe_without_columns_is_refused(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match="the DataFrame has no columns"):
        env.from_spark(spark.range(3).select())


def test_what_is_no_bounded_dataframe_is_refused(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match=r"from_spark\(\) takes a Spark DataFrame, not \[1\]"):
        env.from_spark([1])
    with pytest.raises(ProgramError, match="this one is streaming"):
        env.from_spark(spark.readStream.format("rate").load())


def test_to_spark_needs_columns_and_an_end(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match="give the last operator an output_type"):
        env.from_collection([1]).to_spark()
    endless = env.from_source(DataGeneratorSource(lambda n: n), None, "endless", Types.LONG())
    with pytest.raises(ProgramError, match="source 'endless' never does"):
        endless.to_spark()
