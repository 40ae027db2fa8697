"""A job that counts, asked for another parallelism while it runs, for tests on Spark."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headgate.cli.rescale import as_wide
from headgate.common import Configuration
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.deploy.spark.observe import slots_free
from headgate.operators.collect import CollectFactory
from tests.cluster.programs import Count
from tests.scenarios.runs import wait_until

RECORDS, PER_SECOND, KEYS = 6_000, 1_000, 10


def key_of(value: int) -> int:
    return value % KEYS


def started(spark: SparkSession | None, folder: Path, parallelism: int, records: int = RECORDS, **more: str) -> Any:
    """Start a job that counts records, a thousand in a second; `more` are settings, with underlines for dots."""
    settings = {key.replace("_", "."): value for key, value in more.items()} | {
        "execution.checkpointing.interval": "100 ms",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 s",
    }
    configuration = Configuration.from_dict(settings)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark).set_parallelism(parallelism)
    numbers = env.from_source(DataGeneratorSource(lambda index: index, records, PER_SECOND), None, "numbers")
    numbers.key_by(key_of).process(Count(folder))._end("collect", CollectFactory())
    return env.submit()


def rescale(job: Any, parallelism: int) -> Future[str]:
    """Ask for a parallelism of the whole job, once it runs."""
    wait_until(lambda: job.status().name == "RUNNING", job)
    counts = [vertex.parallelism for vertex in job.plan.vertices]
    most = [vertex.parallelism_max for vertex in job.plan.vertices]
    wanted = as_wide(counts, most, parallelism)
    return job.rescale({vertex: (count, count) for vertex, count in enumerate(wanted)})  # type: ignore[no-any-return]


def free_in_the_end(spark: SparkSession, slots: int, job: Any) -> None:
    """Wait until so many task slots are free."""
    wait_until(lambda: slots_free(spark.sparkContext) == slots, job)


def check_all(job: Any, records: int = RECORDS) -> None:
    """Assert that each record has counted once, in the end."""
    assert Counter(job.results()) == Counter((key, at + 1) for key in range(KEYS) for at in range(records // KEYS))
    outcome = job.wait(120.0)
    assert (outcome.status.word, outcome.cause) == ("finished", None)
