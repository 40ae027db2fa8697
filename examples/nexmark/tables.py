"""The same queries as SQL over the same events, answered by Spark as a batch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

from results import Rows

SQL = Path(__file__).parent / "sql" / "spark"


def register(spark: SparkSession, folder: Path) -> None:
    """Make views of the events in a folder: person, auction, bid and side_input."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.read.parquet(str(folder / "events.parquet")).createOrReplaceTempView("events")
    for number, kind in enumerate(("person", "auction", "bid")):
        spark.sql(f"SELECT {kind}.* FROM events WHERE event_type = {number}").createOrReplaceTempView(kind)
    side_input = spark.read.schema("key LONG, value STRING").csv(str(folder / "side_input.csv"))
    side_input.createOrReplaceTempView("side_input")


def expected(spark: SparkSession, name: str) -> Rows:
    """Return the results of a query, and how often each is there."""
    return Counter(tuple(row) for row in spark.sql((SQL / f"{name}.sql").read_text()).collect())
