"""DataFrames on Spark: rows of Spark's DataFrames in columns, windows, files, and the way back."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headgate import dataframe as pf
from headgate.common import Configuration
from headgate.errors import ProgramError
from headgate.table.table_environment import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark


@pytest.fixture
def environment(spark: SparkSession) -> Iterator[TableEnvironment]:
    settings = {"parallelism.default": "2", "table.local-time-zone": "UTC"}
    configuration = Configuration.from_dict(settings)
    made = EnvironmentSettings.new_instance().with_configuration(configuration).build()
    environment = TableEnvironment.create(made, spark)
    pf.set_table_environment(environment)
    yield environment
    pf.set_table_environment(None)


@pytest.mark.usefixtures("environment")
def test_windows_of_a_spark_dataframe_become_a_spark_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    given = spark.range(20_000).selectExpr("id", "id % 7 AS k", "timestamp_millis(id * 10) AS ts")
    frame = pf.from_spark(given, watermark=("ts", "ts - INTERVAL '5' SECOND")).filter("k < 5")
    windows = frame.tumble(on="ts", size=dt.timedelta(seconds=20)).group_by("window_start", "window_end", "k")
    counts = windows.agg(n=pf.lit(1).count, total=pf.col("id").sum)
    expected = Counter((number // 2000, number % 7) for number in range(20_000) if number % 7 < 5)
    found = counts.to_spark().selectExpr("unix_seconds(CAST(window_start AS TIMESTAMP)) AS s", "k", "n").collect()
    assert {(row.s // 20, row.k): row.n for row in found} == expected

    counts.write_parquet(str(tmp_path))
    written = spark.read.parquet(str(tmp_path))
    assert written.count() == len(expected)
    assert written.selectExpr("sum(n)").first()[0] == sum(expected.values())  # type: ignore[index]


@pytest.mark.usefixtures("environment")
def test_functions_of_users_run_on_the_workers_of_spark() -> None:
    @pf.udf
    def shout(text: str) -> str:
        return text.upper()

    words = pf.from_dict({"word": ["a", "b"] * 500}).select(shout(pf.col("word")).alias("loud"))
    assert Counter(row.loud for row in words.collect()) == {"A": 500, "B": 500}
    odd = pf.range(10**12).filter(pf.col("id") % 2 == 1).take(2)
    assert [row["id"] % 2 for row in odd] == [1, 1]


SPARK_COLUMNS = """
    true AS yes, 1Y AS tiny, 2S AS small, 3 AS whole, 4L AS big, 0.5F AS f, 0.1D AS x, 1.50BD AS d,
    CAST(7 AS DECIMAL(38, 0)) AS large, 'ü' AS s, CAST('c' AS VARCHAR(3)) AS v, X'00FF' AS b, DATE'1582-01-01' AS day,
    TIMESTAMP_NTZ'1969-12-31 23:59:59.45' AS at, TIMESTAMP'2024-01-01 00:00:00.000005Z' AS moment,
    INTERVAL '1 02:03:04.5' DAY TO SECOND AS span, array('a', null) AS tags, map('k', 1L, 'l', null) AS m,
    named_struct('a', null, 'at', TIMESTAMP'2024-01-01 00:00:00Z', 'inner', array(named_struct('n', 1))) AS r
"""


@pytest.mark.usefixtures("environment")
def test_every_type_of_spark_comes_and_goes(spark: SparkSession) -> None:
    one = spark.sql(f"SELECT {SPARK_COLUMNS}").withColumn(
        "r", F.expr("named_struct('a', 1L, 'at', r.at, 'inner', r.inner)")
    )
    given = one.unionByName(one.select(*(F.lit(None).cast(f.dataType).alias(f.name) for f in one.schema)))
    found = pf.from_spark(given)
    back = found.to_spark()
    assert back.columns == given.columns
    assert [f.dataType.simpleString() for f in back.schema] == [
        "string" if f.name == "v" else f.dataType.simpleString() for f in given.schema
    ]
    assert sorted(map(repr, back.collect())) == sorted(map(repr, given.collect()))
    assert sorted(map(repr, found.select("r", "whole").to_spark().collect())) == sorted(
        map(repr, given.select("r", "whole").collect())
    )
    assert "Scan spark [whole]" in found.select("whole").explain()


@pytest.mark.usefixtures("environment")
def test_types_that_spark_or_sql_does_not_have_are_refused_by_name(spark: SparkSession) -> None:
    with pytest.raises(ProgramError, match="times of day only with"):
        pf.from_dict({"hour": [dt.time(1)]}).to_spark()
    with pytest.raises(ProgramError, match="'odd'"):
        pf.from_spark(spark.sql("SELECT INTERVAL '1' YEAR AS odd"))


@pytest.mark.usefixtures("environment")
def test_two_spark_dataframes_are_read_in_one_job(spark: SparkSession) -> None:
    one, other = (pf.from_spark(spark.range(start, start + 100)) for start in (0, 100))
    assert {row.id for row in one.union_all(other).collect()} == set(range(200))


@pytest.mark.usefixtures("environment")
def test_a_streaming_dataframe_is_read_in_columns(spark: SparkSession, tmp_path: Path) -> None:
    given, location = tmp_path / "in", str(tmp_path / "query")
    spark.range(50).selectExpr("id", "CAST(id AS STRING) AS s", "timestamp_seconds(id) AS ts").write.parquet(str(given))
    streaming = spark.readStream.schema("id BIGINT, s STRING, ts TIMESTAMP").parquet(str(given))
    frame = pf.from_spark(streaming, checkpoint_location=location, available_now=True)
    found = frame.filter("s <> '7'").select("s", twice=pf.col("id") * 2).collect()
    assert sorted((row.twice, row.s) for row in found) == [(2 * n, str(n)) for n in range(50) if n != 7]
    with pytest.raises(ValueError, match="checkpoint_location"):
        pf.from_spark(streaming)
    with pytest.raises(ValueError, match="bounded"):
        pf.from_spark(spark.range(1), checkpoint_location=location)
