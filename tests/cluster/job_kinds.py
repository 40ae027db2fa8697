"""One job of each kind, on the Spark that is installed: `python -m tests.cluster.job_kinds`.

For a Spark that the tests themselves do not run on: it needs no pytest. What a job of each kind asks of Spark is there:
a worker that is killed and a module that is shipped, stages of Spark SQL, tables of Arrow in both directions,
streaming queries, snapshots read and written by tasks.
"""

from __future__ import annotations

import datetime as dt
import importlib
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from headgate.common import Configuration, JobStatus, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import (
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headgate.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headgate.deploy.spark.java import ensure_java
from headgate.elements import SavepointFormat
from headgate.errors import EnvironmentFault
from headgate.savepoints import SavepointReader, SavepointWriter, register

RECORDS: Final = 2_000
KEYS: Final = 10
COUNT: Final = ValueStateDescriptor("count", Types.LONG())
LAST: Final = ValueStateDescriptor("last", Types.SQL_TIMESTAMP())
RATES: Final = MapStateDescriptor("rates", Types.STRING(), Types.LONG())
SALE: Final = Types.ROW_NAMED(
    ["shop", "at", "price", "tags"],
    [Types.STRING(), Types.INSTANT(), Types.SQL_DECIMAL(10, 2), Types.LIST(Types.STRING())],
)


def environment(spark: SparkSession, **settings: str) -> StreamExecutionEnvironment:
    """An environment on the session, with these settings, of parallelism 2."""
    configuration = Configuration.from_dict(settings)
    return StreamExecutionEnvironment.get_execution_environment(configuration, spark).set_parallelism(2)


class Count(KeyedProcessFunction):
    """Counts the records of each key; kills its process once, if there is a file to tell that it has."""

    def __init__(self, marker: Path | None = None) -> None:
        self._marker = marker

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[Any, int]]:
        if self._marker is not None and value == RECORDS // 2 and not self._marker.exists():
            self._marker.touch()
            os.kill(os.getpid(), 9)
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield ctx.get_current_key(), count


class Visits(Count):
    """Remembers when, too: a visit each second."""

    def open(self, runtime_context: Any) -> None:
        super().open(runtime_context)
        self._last = runtime_context.get_state(LAST)

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[Any, int]]:
        for key, count in super().process_element(value, ctx):
            self._last.update(dt.datetime(2024, 2, 29, 1, 2, 3, 4) + dt.timedelta(seconds=count))
            yield key, count


class Rated(KeyedBroadcastProcessFunction):  # type: ignore[type-arg]  # as users write it
    """Multiplies by what was broadcast."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[str, int]]:
        yield value[0], value[1] * ctx.get_broadcast_state(RATES).get("all")

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RATES).put(*value)


def streaming(spark: SparkSession, folder: Path) -> None:
    """Keyed state, checkpoints, a killed worker, a module that was shipped."""
    settings = {
        "execution.checkpointing.interval": "50 ms",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 s",
    }
    env = environment(spark, **settings)
    (folder / "headgate_test_keys.py").write_text(f"def key(value):\n    return value % {KEYS}\n")
    env.add_python_file(str(folder / "headgate_test_keys.py"))
    keys = importlib.import_module("headgate_test_keys")
    numbers = env.from_source(DataGeneratorSource(int, RECORDS, 2_000), None, "numbers")
    last = dict(sorted(numbers.key_by(keys.key).process(Count(folder / "killed")).execute_and_collect()))
    assert (folder / "killed").exists()
    assert last == dict.fromkeys(range(KEYS), RECORDS // KEYS), last


def batch(spark: SparkSession, folder: Path) -> None:
    """A DataFrame sorted by Spark, a shuffle, and an edge that every task reads."""
    env = environment(spark).set_runtime_mode(RuntimeExecutionMode.BATCH)
    trips = env.from_spark(spark.createDataFrame([("a", 7), ("b", 3), ("a", 5)], "car string, km long"))
    counted = trips.key_by(lambda trip: trip.car).process(Count())
    rates = env.from_collection([("all", 10)]).broadcast(RATES)
    rated = counted.key_by(lambda pair: pair[0]).connect(rates).process(Rated())
    assert sorted(rated.execute_and_collect()) == [("a", 10), ("a", 20), ("b", 10)]


def data_frames(spark: SparkSession, folder: Path) -> None:
    """A DataFrame of many types becomes a stream, and the same DataFrame again."""
    sales = spark.createDataFrame(
        [
            ("ann", dt.datetime(2024, 5, 1, 10), Decimal("3.50"), ["tea"]),
            ("bob", dt.datetime(2024, 5, 1, 11), Decimal("0.00"), []),
        ],
        "shop STRING, at TIMESTAMP, price DECIMAL(10, 2), tags ARRAY<STRING>",
    )
    again = environment(spark).from_spark(sales).key_by(lambda sale: sale.shop).map(lambda sale: sale, SALE).to_spark()
    assert again.schema == sales.schema, again.schema
    assert sorted(again.collect()) == sorted(sales.collect())
    nothing = environment(spark).from_spark(sales.where("price < 0")).map(lambda sale: sale, SALE).to_spark()
    assert nothing.schema == sales.schema
    assert nothing.count() == 0


def streaming_data_frames(spark: SparkSession, folder: Path) -> None:
    """A streaming query feeds a job, a micro-batch for each file."""
    (folder / "orders").mkdir()
    for day, names in enumerate((["ann", "bob"], ["ann"])):
        (folder / f"orders/{day}.txt").write_text("\n".join(names))
    orders = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "orders"))
    stream = environment(spark).from_spark_stream(orders, folder / "query", available_now=True)
    counted = stream.key_by(lambda row: row.value).process(Count())
    assert sorted(counted.execute_and_collect()) == [("ann", 1), ("ann", 2), ("bob", 1)]
    assert sorted(path.name for path in (folder / "query/query/commits").glob("[01]")) == ["0", "1"]


def savepoints(spark: SparkSession, folder: Path) -> None:
    """Tasks write state, a job begins with it; what it leaves goes to DataFrames, from files or through the driver."""
    known = spark.createDataFrame([(0, 5), (1, 7)], "key long, value long")
    path = SavepointWriter.new(128, parallelism=2).with_keyed_state("visits", COUNT, known).write(str(folder / "first"))
    env = environment(spark, **{"execution.state-recovery.path": path})
    numbers = env.from_source(DataGeneratorSource(int, None, 1_000), None, "numbers")
    numbers.key_by(lambda number: number % 2).process(Visits()).uid("visits").filter(lambda _: False).print()
    client = env.execute_async("visits")
    while client.get_job_status().result() is not JobStatus.RUNNING:
        time.sleep(0.01)
    native = client.stop_with_savepoint(False, str(folder), SavepointFormat.NATIVE).result()
    with SavepointReader.read(path) as before, SavepointReader.read(native) as after:
        assert rows_of(before.to_spark("visits", "count", spark)) == [(0, 5), (1, 7)]
        assert rows_of(after.to_spark("visits", "count", spark)) > [(0, 5), (1, 7)]
        for name in ("count", "last"):
            entries = sorted((entry.key, entry.value) for entry in after.entries("visits", name))
            assert rows_of(after.to_spark("visits", name, spark)) == entries, name


def rows_of(frame: DataFrame) -> list[tuple[Any, Any]]:
    """Keys and values of a table of state."""
    return sorted((row.key, row.value) for row in frame.select("key", "value").collect())


def state_tables(spark: SparkSession, folder: Path) -> None:
    """State is a table for SQL, or a Spark without Python data sources is told what to do."""
    path = SavepointWriter.new(128).with_keyed_state("visits", COUNT, {0: 5, 1: 7}).write(str(folder / "first"))
    if spark.version.startswith("3."):
        refusal = ""
        try:
            register(spark)
        except EnvironmentFault as error:
            refusal = str(error)
        assert "Spark 4.0 or newer, or use SavepointReader.to_spark()" in refusal, refusal
        return
    register(spark)
    assert rows_of(spark.read.format("headgate").load(path=path, uid="visits", state="count")) == [(0, 5), (1, 7)]


KINDS: Final[tuple[Callable[[SparkSession, Path], None], ...]] = (
    streaming,
    batch,
    data_frames,
    streaming_data_frames,
    savepoints,
    state_tables,
)


def main() -> None:
    """Run a job of each kind on a local session, and tell on which Spark."""
    os.environ["JAVA_HOME"] = str(ensure_java())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    conf: dict[str, Any] = {
        "spark.master": "local[4]",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = SparkSession.builder.config(map=conf).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            kind(spark, Path(folder))
        print(f"Spark {spark.version}, Python {platform.python_version()}: {kind.__name__} done", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
