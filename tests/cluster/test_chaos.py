"""A short time of chaos; `python -m tests.cluster.chaos` makes it longer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.testing.servers.spark import SparkCluster
from tests.cluster import chaos
from tests.cluster.conftest import make_session, stop

pytestmark = [pytest.mark.standalone, pytest.mark.soak]

SECONDS = 30.0


@pytest.fixture
def impatient_session(cluster: SparkCluster) -> Iterator[SparkSession]:
    """A session that soon gives up an executor that is silent."""
    path = str(Path(__file__).parents[2])
    conf = {**chaos.SPARK_CONF, "spark.master": cluster.url, "spark.executorEnv.PYTHONPATH": path}
    session = make_session(conf, cluster.folder)
    yield session
    stop(session)


def test_whatever_is_killed_or_frozen_the_result_is_exact_and_nothing_is_left(
    cluster: SparkCluster, impatient_session: SparkSession, tmp_path: Path
) -> None:
    report = chaos.run(cluster, impatient_session, tmp_path, SECONDS, seed=7)
    assert report.is_good, report.text()
    assert report.restarts > 0
