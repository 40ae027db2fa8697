"""Spark DataFrames for savepoints: state as a DataFrame, and work on the batches of a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.deploy.spark.dataframes.parquet import READ_OPTIONS, spark_pattern
from headgate.deploy.spark.releases import arrow_schema, frame_of
from headgate.deploy.spark.session import obtain


def frame_of_table(table: pa.Table, spark: SparkSession | None) -> DataFrame:
    """Return an Arrow table as a DataFrame of `spark`, else of the active session, else of a new session."""
    return frame_of(table, obtain(spark, 1))


def frame_of_files(places: Sequence[str], spark: SparkSession | None) -> DataFrame:
    """Return Parquet files with equal columns as a DataFrame. Executors must be able to read the files."""
    return obtain(spark, 1).read.options(**READ_OPTIONS).parquet(*map(spark_pattern, places))


def schema_of(frame: DataFrame, columns: Sequence[str]) -> pa.Schema:
    """Return the Arrow schema of the columns. Computes no rows."""
    return arrow_schema(frame.select(*columns).schema)


def rows_of_tasks(
    frame: DataFrame,
    columns: Sequence[str],
    work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: str,
) -> list[tuple[Any, ...]]:
    """Run `work` on the batches of each partition, in tasks of Spark. Return the resulting rows. Blocks."""
    return [tuple(row) for row in frame.select(*columns).mapInArrow(lambda batches: work(batches), schema).collect()]
