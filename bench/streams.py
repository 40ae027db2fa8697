"""One run of a keyed count over a stream of Parquet files, on headgate or as Spark's own `transformWithState`.

`python -m bench.streams` takes `{"system": ..., "batches": ..., "target": ...}` as JSON, and prints its result as JSON
on the last line. Both read the same files, two in each micro-batch, and count in a value state, record by record:
headgate in one slot, Spark in two tasks.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from bench.inputs import KEYS
from bench.programs import Count
from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment
from headgate.deploy.spark.session import obtain, stop_embedded

BATCH_RECORDS = 400_000
TASKS = 2


def write_files(folder: Path, count: int) -> None:
    """Write so many files of (key, number) rows, `TASKS` of them for each micro-batch."""
    folder.mkdir()
    size = BATCH_RECORDS // TASKS
    for number in range(count * TASKS):
        numbers = range(number * size, (number + 1) * size)
        keys = [each * 7_919 % KEYS for each in numbers]
        pq.write_table(pa.table({"key": keys, "number": list(numbers)}), folder / f"{number:03}.parquet")


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the stream of the files, one for each task in a micro-batch."""
    reader = spark.readStream.schema("key long, number long").option("maxFilesPerTrigger", TASKS)
    return reader.parquet(str(folder))


def rate(commits: Path) -> float:
    """Return the records a second of the median micro-batch, from Spark's commit of the one before to its own."""
    ends = sorted(path.stat().st_mtime_ns for path in commits.iterdir() if path.name.isdecimal())
    return BATCH_RECORDS / median(end - before for before, end in pairwise(ends)) * 1e9


def run_headgate(spark: SparkSession, folder: Path, target: str) -> float:
    """Count on headgate; return the rate."""
    conf = Configuration.from_dict({"headgate.deploy.target": target, "headgate.storage.dir": str(folder / "storage")})
    env = StreamExecutionEnvironment.get_execution_environment(conf, spark).set_parallelism(1)
    rows = env.from_spark_stream(stream_of(spark, folder / "in"), str(folder / "query"), available_now=True)
    rows.key_by(lambda row: row[0]).process(Count()).filter(lambda pair: False).print()
    env.execute("bench stream")
    return rate(folder / "query/query/commits")


@final
class StateCount(StatefulProcessor):
    """Counts the records of each key, with one output for each input."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        for _ in rows:
            seen = self.count.get()
            count = 1 if seen is None else seen[0] + 1
            self.count.update((count,))
            yield Row(key=key[0], count=count)

    def close(self) -> None:
        pass


def run_spark(spark: SparkSession, folder: Path, target: str) -> float:
    """Count with `transformWithState`; return the rate."""
    spark.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    spark.conf.set("spark.sql.shuffle.partitions", str(TASKS))
    counts = (
        stream_of(spark, folder / "in")
        .groupBy("key")
        .transformWithState(StateCount(), "key long, count long", outputMode="Update", timeMode="None")
    )
    writer = counts.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(folder / "query"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return rate(folder / "query/commits")


SYSTEMS = {"headgate": run_headgate, "transformWithState": run_spark}


def main() -> None:
    given = json.loads(sys.argv.pop())
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as name:
        folder = Path(name)
        write_files(folder / "in", given["batches"])
        spark = obtain(None, TASKS)
        found = SYSTEMS[given["system"]](spark, folder, given["target"])
        stop_embedded()
    print(json.dumps({"rate": found}), flush=True)


if __name__ == "__main__":
    main()
