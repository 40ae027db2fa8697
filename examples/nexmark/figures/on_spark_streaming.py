"""Runs the queries as streams of Spark SQL."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from figures.written import add
from run import spark_session
from tables import register_streams, streamed

FILES = 2
"""So many files, of 50,000 events each, are a micro-batch: one for each task."""
UPDATE = {"q12", "q15", "q16", "q17", "q18", "q19"}
"""Queries that emit each change of a result; the others emit what is final."""
CLOSED = {"q5", "q7", "q8", "q9", "q11"}
"""Queries whose last windows close only when later events come, as they do where results are compared."""


def main() -> None:
    with spark_session() as spark, tempfile.TemporaryDirectory() as checkpoints:
        for line in sys.stdin:
            name, folder, *results = line.split()
            run(spark, name, Path(folder), Path(results[0]) if results else None, checkpoints)
            print("done", flush=True)


def run(spark: SparkSession, name: str, folder: Path, results: Path | None, checkpoints: str) -> None:
    """Run a query until all files are read."""
    shutil.rmtree(checkpoints, ignore_errors=True)
    register_streams(spark, folder, "{parts,closing}" if results and name in CLOSED else "parts", FILES)
    writer = streamed(spark, name).writeStream.outputMode("update" if name in UPDATE else "append")
    writer = writer.option("checkpointLocation", checkpoints).trigger(availableNow=True)
    to_sink(writer, name, folder, results).start().awaitTermination()


def to_sink(writer: DataStreamWriter, name: str, folder: Path, results: Path | None) -> DataStreamWriter:
    """Return the writer with where it writes."""
    if results is not None:
        return writer.foreachBatch(lambda rows, _: add_to(results, rows))
    if name != "q10":
        return writer.format("noop")
    shutil.rmtree(folder / "log", ignore_errors=True)
    return writer.format("csv").option("path", str(folder / "log")).partitionBy("dt", "hm")


def add_to(results: Path, rows: DataFrame) -> None:
    add(results, rows.collect())


if __name__ == "__main__":
    main()
