"""Failed records cross from slot to slot on Spark, exactly once when a slot's process is killed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate.common import Configuration
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import OutputTag, RecordErrors, StreamExecutionEnvironment
from tests.cluster.programs import Count, Fault, pids

pytestmark = [pytest.mark.spark, pytest.mark.soak]

RECORDS = 4_000
KEYS = 10
BAD = OutputTag("bad")


class UnreadableError(Exception):
    """An error of the program's own, which slots know from the program."""


def read(index: int) -> int:
    if index % 7 == 0:
        raise UnreadableError(f"word {index}")
    return index


def expected() -> Counter[Any]:
    seen: Counter[int] = Counter()
    results: Counter[Any] = Counter()
    for index in range(RECORDS):
        if index % 7 == 0:
            results["read", index, f"word {index}"] += 1
        else:
            seen[index % KEYS] += 1
            results[index % KEYS, seen[index % KEYS]] += 1
    return results


def test_failed_records_are_exact_when_a_worker_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    conf = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0 s"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(conf), spark)
    env.set_parallelism(2).enable_checkpointing(50)
    indexes = env.from_source(DataGeneratorSource(lambda index: index, RECORDS, 8_000), None, "indexes")
    numbers = indexes.map(read).name("read").on_error(RecordErrors.side_output(BAD, UnreadableError))
    counts = numbers.key_by(lambda number: number % KEYS).process(Count(tmp_path, Fault("kill the worker", 2_000)))
    failed = numbers.get_side_output(BAD).rebalance()
    shown = failed.map(lambda one: (one.operator, one.record, one.error.splitlines()[-1].partition(": ")[2]))
    assert Counter(counts.union(shown).execute_and_collect()) == expected()
    assert len(pids(tmp_path)) == 4
