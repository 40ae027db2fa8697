"""Batches for models on Spark: a model that computes on a thread of each slot; batches of a process that is killed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from headgate.common import Configuration, Time, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment
from tests.cluster.programs import Fault

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RECORDS = 600


class Line:
    """A line that is fitted to points by least squares; once, the process is killed while it is asked."""

    def __init__(self, weights: Path, fault: Fault) -> None:
        self.slope, self.offset = np.load(weights)
        self.marker = weights.with_name("killed")
        self.fault = fault

    def __call__(self, records: list[int]) -> list[tuple[int, float]]:
        if self.fault.at in records:
            self.fault.strike(self.marker)
        return list(zip(records, (self.slope * np.array(records) + self.offset).round(6).tolist(), strict=True))


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """The file of a line through points that lie on it."""
    at = np.arange(20.0)
    found, *_ = np.linalg.lstsq(np.column_stack([at, np.ones(20)]), 2.0 * at + 1.0)
    np.save(tmp_path / "weights.npy", found)
    return tmp_path / "weights.npy"


def scored(spark: SparkSession, conf: dict[str, str], model: Any) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(conf), spark).set_parallelism(2)
    numbers = env.from_source(DataGeneratorSource(lambda index: index, RECORDS, 2_000), None, "numbers")
    score = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
    return sorted(numbers.map_batches(model, return_dtype=score, max_wait=Time.milliseconds(20)).execute_and_collect())


EXPECTED = [(number, 2.0 * number + 1.0) for number in range(RECORDS)]


def test_each_record_has_its_score_once_when_a_worker_is_killed(spark: SparkSession, weights: Path) -> None:
    conf = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 s",
        "execution.checkpointing.interval": "50 ms",
    }
    assert scored(spark, conf, partial(Line, weights, Fault("kill the worker", RECORDS // 2))) == EXPECTED
    assert weights.with_name("killed").exists()


def test_a_batch_job_scores(spark: SparkSession, weights: Path) -> None:
    model = partial(Line, weights, Fault("none", RECORDS))
    assert scored(spark, {"execution.runtime-mode": "BATCH"}, model) == EXPECTED
