"""The same queries as SQL over the same events, answered by Spark as a batch, or as a stream."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from results import Rows

SQL = Path(__file__).parent / "sql" / "spark"
STREAMING_SQL = SQL.with_name("spark_streaming")
KINDS = ("person", "auction", "bid")


def register(spark: SparkSession, folder: Path) -> None:
    """Make views of the events in a folder: person, auction, bid and side_input."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.read.parquet(str(folder / "events.parquet")).createOrReplaceTempView("events")
    for number, kind in enumerate(KINDS):
        spark.sql(f"SELECT {kind}.* FROM events WHERE event_type = {number}").createOrReplaceTempView(kind)
    register_side_input(spark, folder)


def register_streams(spark: SparkSession, folder: Path, parts: str, files: int) -> None:
    """Make the same views of streams that take so many files of `parts` in a micro-batch.

    Records have their time as `ts`, too, which watermarks follow at four seconds.
    """
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    schema = spark.read.parquet(str(folder / "events.parquet")).schema
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", files).parquet(str(folder / parts))
    events.createOrReplaceTempView("events")
    for number, kind in enumerate(KINDS):
        records = spark.sql(f"SELECT {kind}.* FROM events WHERE event_type = {number}")
        with_time = records.withColumn("ts", f.timestamp_millis("dateTime"))
        with_time.withWatermark("ts", "4 seconds").createOrReplaceTempView(kind)
    register_side_input(spark, folder)


def register_side_input(spark: SparkSession, folder: Path) -> None:
    side_input = spark.read.schema("key LONG, value STRING").csv(str(folder / "side_input.csv"))
    side_input.createOrReplaceTempView("side_input")


def expected(spark: SparkSession, name: str) -> Rows:
    """Return the results of a query, and how often each is there."""
    return Counter(tuple(row) for row in spark.sql((SQL / f"{name}.sql").read_text()).collect())


def streamed(spark: SparkSession, name: str) -> DataFrame:
    """Return a query over streams: the batch's where Spark runs it as a stream as it is."""
    own = STREAMING_SQL / f"{name}.sql"
    return spark.sql((own if own.exists() else SQL / own.name).read_text())
