"""A session whose executors come late: a job that is submitted meanwhile waits for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment
from headgate.deploy.spark.preflight import SLOTS_WAIT_S_MAX
from headgate.testing.servers.spark import SparkCluster
from tests.cluster.conftest import make_session, stop

pytestmark = [pytest.mark.standalone, pytest.mark.soak]


@pytest.fixture
def late_session(cluster: SparkCluster) -> Iterator[SparkSession]:
    """The workers of its cluster are frozen for longer than a job in an older session would wait."""
    workers = cluster.workers()
    assert len(workers) == 2
    for worker in workers:
        worker.suspend()
    resumed = [threading.Timer(SLOTS_WAIT_S_MAX + 2.0, worker.resume) for worker in workers]
    conf = {"spark.master": cluster.url, "spark.executor.memory": "512m", "spark.ui.enabled": "false"}
    session = make_session(dict(conf), cluster.folder)
    for timer in resumed:
        timer.start()
    yield session
    for timer in resumed:
        timer.join()
    stop(session)


def test_a_job_of_a_young_session_waits_for_executors_that_are_still_to_register(late_session: SparkSession) -> None:
    configuration = Configuration.from_dict({"execution.checkpointing.storage": "jobmanager"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration, late_session).set_parallelism(3)
    numbers = env.from_collection(list(range(10))).rebalance().map(lambda number: number * 2)
    with numbers.execute_and_collect() as doubled:
        assert sorted(doubled) == [2 * number for number in range(10)]
