"""Jobs on a standalone cluster that change their parallelism while a worker is killed: each record counts once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.errors import RescaleError
from headgate.testing.servers.spark import SparkCluster
from tests.cluster.programs import pids
from tests.cluster.rescaled import check_all, rescale, started
from tests.scenarios.runs import wait_until

pytestmark = [pytest.mark.standalone, pytest.mark.slow]


@pytest.mark.parametrize("parallelism", [pytest.param(1, marks=pytest.mark.soak), 4])
def test_a_worker_that_is_killed_on_the_way_costs_no_record(
    cluster_session: SparkSession, tmp_path: Path, parallelism: int
) -> None:
    """The one that began first is killed when the job is asked for another parallelism, wherever that finds it."""
    job = started(cluster_session, tmp_path, 2)
    wait_until(lambda: len(pids(tmp_path)) == 2, job)
    rescaled = rescale(job, parallelism)
    os.kill(pids(tmp_path)[0], signal.SIGKILL)
    try:
        width = parallelism if rescaled.result(60.0) else 0
    except RescaleError:
        width = 2
    check_all(job)
    assert job.progress.placement.slots == width


ADAPTIVE = {
    "jobmanager_scheduler": "adaptive",
    "jobmanager_adaptive-scheduler_submission_resource-stabilization-timeout": "1 s",
    "jobmanager_adaptive-scheduler_executing_cooldown-after-rescaling": "1 s",
}
MANY = 30_000


@pytest.mark.soak
def test_an_adaptive_job_goes_on_without_an_executor_and_grows_when_there_is_one_again(
    cluster: SparkCluster, cluster_session: SparkSession, tmp_path: Path
) -> None:
    """The worker that would start another executor in its place is frozen for a while."""
    job = started(cluster_session, tmp_path, 4, MANY, **ADAPTIVE)
    wait_until(lambda: len(pids(tmp_path)) == 4, job)
    executor = cluster.executors()[0]
    worker = next(each for each in cluster.workers() if each in executor.parents())
    worker.suspend()
    try:
        executor.kill()
        wait_until(lambda: job.progress.placement.slots == 2, job)
    finally:
        worker.resume()
    wait_until(lambda: job.progress.placement.slots == 4, job)
    check_all(job, MANY)
    assert job.progress.restarts == 1
