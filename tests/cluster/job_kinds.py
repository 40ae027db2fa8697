"""One job in a barrier stage of the Spark that is installed: `python -m tests.cluster.barrier_job`.

Keyed state, a function that kills its worker half-way, checkpoints to start again from, a module that was given along:
what a job asks of Spark.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headgate.common import Configuration, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headgate.datastream.state import ValueStateDescriptor
from headgate.deploy.spark.java import ensure_java

RECORDS = 2_000
KEYS = 10


class Count(KeyedProcessFunction):
    """Counts the records of each key; kills its process once."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[tuple[int, int]]:
        if value == RECORDS // 2 and not self._marker.exists():
            self._marker.touch()
            os.kill(os.getpid(), 9)
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield ctx.get_current_key(), count


def run(spark: SparkSession, folder: Path) -> int:
    """Run the job; return how many records it counted at the end. Raises AssertionError for a wrong result."""
    settings = {
        "execution.checkpointing.interval": "50 ms",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 s",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings), spark)
    (folder / "headgate_test_keys.py").write_text(f"def key(value):\n    return value % {KEYS}\n")
    env.add_python_file(str(folder / "headgate_test_keys.py"))
    keys = importlib.import_module("headgate_test_keys")
    numbers = env.set_parallelism(2).from_source(DataGeneratorSource(int, RECORDS, 2_000), None, "numbers")
    counted = numbers.key_by(keys.key).process(Count(folder / "killed"))
    last = dict(sorted(counted.execute_and_collect("barrier job")))
    assert (folder / "killed").exists()
    assert last == dict.fromkeys(range(KEYS), RECORDS // KEYS), last
    return sum(last.values())


def main() -> None:
    """Run the job on a local session, and print what it did on which Spark."""
    os.environ["JAVA_HOME"] = str(ensure_java())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    conf: dict[str, Any] = {
        "spark.master": "local[3]",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = SparkSession.builder.config(map=conf).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        counted = run(spark, Path(folder))
    print(f"Spark {spark.version}: {counted} records counted in a barrier stage, one worker killed")
    spark.stop()


if __name__ == "__main__":
    main()
