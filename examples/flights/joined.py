"""Late flights with their aircraft and their destination: Spark SQL joins, headgate counts, Spark SQL has the result.

The same program runs as a stream and as a batch job. `make joined` runs both; it ends with exit code 0 only if they
agree, and agree with an independent computation.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import data
from demo import HERE, WORK, spark_session
from job import ALERT, LateInARow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from reference import expected_alerts

from headgate.common import Row, Types
from headgate.datastream import DataStream, KeyedProcessFunction, RuntimeExecutionMode, StreamExecutionEnvironment

WAREHOUSE = WORK / "warehouse"
TABLE = "late_flights"
LATE = Types.ROW_NAMED(
    [*ALERT.get_field_names(), "manufacturer", "model", "destination"],
    [*ALERT.get_field_types(), Types.STRING(), Types.STRING(), Types.STRING()],
)
Late = Row(*LATE.get_field_names())


class LateWithAircraft(LateInARow):
    """Adds to an alert what the flight's row says of the aircraft and the destination."""

    def process_element(self, flight: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        for alert in super().process_element(flight, ctx):
            yield Late(*alert, flight.manufacturer, flight.model, flight.destination)


def late_flights(flights: DataStream) -> DataStream:
    """Return the alerts for a stream of joined flights in the order of their departure."""
    return flights.key_by(lambda flight: flight.tailnum).process(LateWithAircraft(), output_type=LATE)


def joined(flights: DataFrame, planes: DataFrame, airports: DataFrame) -> DataFrame:
    """Return the flights, in their order, with the aircraft and the destination, null where there is none."""
    aircraft = f.broadcast(planes.select("tailnum", "manufacturer", "model"))  # small tables: rows stay where they are
    destinations = f.broadcast(airports.select(f.col("faa").alias("dest"), f.col("name").alias("destination")))
    return flights.join(aircraft, "tailnum", "left").join(destinations, "dest", "left")


def run(flights: DataFrame, mode: RuntimeExecutionMode) -> DataFrame:
    """Run the program in a mode; return its result as a DataFrame."""
    env = StreamExecutionEnvironment.get_execution_environment(spark=flights.sparkSession)
    env.set_runtime_mode(mode).set_parallelism(2)
    source = env.from_spark(flights, "flights").set_parallelism(1)  # 1: keeps their order
    result: DataFrame = late_flights(source).to_spark()
    return result


def read(spark: SparkSession, work: Path) -> DataFrame:
    """Return the flights of 2013 that departed, joined."""
    planes, airports = (spark.read.csv(str(data.table_csv(work, name)), header=True) for name in ("planes", "airports"))
    flights = data.departed(data.read(spark, data.flights_csv(work), "dest"))
    return joined(flights, planes, airports)


def differences(one: DataFrame, other: DataFrame) -> int:
    """Return how many rows are in one of them only."""
    return one.exceptAll(other).count() + other.exceptAll(one).count()


def main() -> None:
    shutil.rmtree(WAREHOUSE, ignore_errors=True)
    with spark_session(**{"spark.sql.warehouse.dir": str(WAREHOUSE)}) as spark:
        spark.sparkContext.addPyFile(str(HERE / "joined.py"))
        flights = read(spark, WORK)
        streaming = run(flights, RuntimeExecutionMode.STREAMING)
        batch = run(flights, RuntimeExecutionMode.BATCH)
        batch.write.mode("overwrite").saveAsTable(TABLE)
        spark.sql(
            "SELECT manufacturer, count(*) AS alerts, round(avg(mean_delay)) AS mean_delay "
            f"FROM {TABLE} GROUP BY manufacturer ORDER BY alerts DESC LIMIT 5"
        ).show()
        found, expected = spark.table(TABLE).count(), len(expected_alerts(data.flights_csv(WORK)))
        print(f"{found:,} alerts in the table, {expected:,} expected; {differences(streaming, batch)} differ by mode")
        if found != expected or differences(streaming, batch):
            sys.exit("FAILED: the modes, or the computations, disagree")


if __name__ == "__main__":
    main()
