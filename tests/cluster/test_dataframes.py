"""DataFrames on Spark: rows of Spark's DataFrames in columns, windows, files, and the way back."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate import dataframe as pf
from headgate.common import Configuration
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
