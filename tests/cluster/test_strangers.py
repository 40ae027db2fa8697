"""Whole jobs in Spark's local mode while strangers, without the job's secret, connect to all processes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bench.strangers import some_ports, strangers
from headgate.common import Configuration
from tests.cluster.programs import Count, Fault, pids, recovery_s
from tests.cluster.test_local import EXPECTED, RECORDS, checkpointed, run_count

pytestmark = [pytest.mark.spark, pytest.mark.soak]

STRANGERS = 3_000


def test_a_killed_worker_is_replaced_while_thousands_of_strangers_are_at_the_doors(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ports, crowded = some_ports(), tmp_path / "crowded"
    env = checkpointed(spark)
    settings = {
        "headgate.network.port-range": "{}-{}".format(*ports),
        "restart-strategy.fixed-delay.attempts": "3",
    }
    env.configure(Configuration.from_dict(settings))
    with strangers(ports, STRANGERS, crowded):
        results = run_count(env, Count(tmp_path, Fault("kill the worker", RECORDS // 2, crowded)), rate=8_000)
    assert Counter(results) == EXPECTED
    assert len(pids(tmp_path)) == 4
    refusals = [line for line in caplog.messages if line.startswith("refused a connection")]
    assert 0 < len(refusals) < 50
    print(f"recovery after SIGKILL among strangers: {recovery_s(tmp_path):.3f} s")
