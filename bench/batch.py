"""One run of the flights job as a batch job, or of the same function by hand in `groupBy().applyInArrow`.

`python -m bench.batch` takes `{"rows": ..., "rounds": ...}` as JSON, and prints its result as JSON on the last line:
the seconds of each round but the first, and the number of alerts. Both read the same Parquet files, need the flights of
each aircraft in the order of their departure, and write Parquet.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headgate.common import WatermarkStrategy
from headgate.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headgate.deploy.spark.session import obtain, stop_embedded
from headgate.types.arrow import arrow_schema

EXAMPLE = Path(__file__).parent.parent / "examples" / "flights"
sys.path.insert(0, str(EXAMPLE))
import data  # noqa: E402  # the example's modules are found by now
from job import ALERT, ALERT_AT, LATE_MINUTES, alerts  # noqa: E402

TASKS = 2
_YEAR_MS = 365 * 86_400_000
_ALERTS = arrow_schema(ALERT)


def write_flights(spark: SparkSession, folder: str, rows: int) -> None:
    """Write so many flights: those of 2013, again and again, a year later each time."""
    path = data.flights_csv(EXAMPLE / "work")
    time_ms = f.expr("unix_millis(make_timestamp(year, month, day, hour, minute, 0))").alias("time_ms")
    year = data.departed(data.read(spark, path, time_ms)).cache()
    years = spark.range(-(-rows // year.count()))
    flights = years.crossJoin(year).withColumn("time_ms", f.col("time_ms") + f.col("id") * _YEAR_MS)
    flights.drop("id").limit(rows).repartition(4 * TASKS).write.parquet(folder)
    year.unpersist()


def by_headgate(flights: DataFrame) -> DataFrame:
    """Return the alerts of the example's job, run in BATCH mode."""
    env = StreamExecutionEnvironment.get_execution_environment(spark=flights.sparkSession)
    env.set_parallelism(TASKS).set_runtime_mode(RuntimeExecutionMode.BATCH)
    by_departure = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: row.time_ms)
    found: DataFrame = alerts(env.from_spark(flights).assign_timestamps_and_watermarks(by_departure)).to_spark()
    return found


def late_in_a_row(flights: pa.Table) -> pa.Table:
    """Return the alerts of one aircraft, as one writes it for Arrow: no object for a row, no state but variables."""
    in_order = flights.sort_by("time_ms")
    columns = [in_order[name].to_pylist() for name in ("tailnum", "day", "carrier", "flight", "dep_delay")]
    departures = minutes = streak = 0
    found = []
    for tailnum, day, carrier, flight, delay in zip(*columns, strict=True):
        departures += 1
        minutes += delay
        if delay <= LATE_MINUTES:
            streak = 0
            continue
        streak += 1
        if streak == ALERT_AT:
            found.append((tailnum, day, carrier, flight, delay, departures, minutes / departures))
    rows = [dict(zip(_ALERTS.names, alert, strict=True)) for alert in found]
    return pa.Table.from_pylist(rows, schema=_ALERTS)


def by_hand(flights: DataFrame) -> DataFrame:
    """Return the alerts of `late_in_a_row`, written and read back, as those of a job are."""
    schema = "tailnum string, day string, carrier string, flight int, delay int, departures int, mean_delay double"
    folder = f"{tempfile.mkdtemp()}/alerts"
    flights.groupBy("tailnum").applyInArrow(late_in_a_row, schema).write.parquet(folder)
    return flights.sparkSession.read.parquet(folder)


SYSTEMS: dict[str, Callable[[DataFrame], DataFrame]] = {"headgate": by_headgate, "applyInArrow": by_hand}


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Run both, in turn, as often as asked for after one run each that does not count."""
    spark = obtain(None, TASKS)
    spark.conf.set("spark.sql.shuffle.partitions", str(TASKS))
    seconds: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
        write_flights(spark, f"{folder}/flights", given["rows"])
        for _ in range(given["rounds"] + 1):
            for name, run in SYSTEMS.items():
                began_s = time.monotonic()
                counts[name] = run(spark.read.parquet(f"{folder}/flights")).count()
                seconds[name].append(time.monotonic() - began_s)
    stop_embedded()
    return {"seconds": {name: all_s[1:] for name, all_s in seconds.items()}, "alerts": counts}


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))), flush=True)
