"""Jobs on Spark that change their parallelism while they run: each record counts once, and cores come free."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.errors import EnvironmentFault
from tests.cluster.rescaled import RECORDS, check_all, free_in_the_end, rescale, started

ADAPTIVE = "jobmanager.adaptive-scheduler"

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_job_grows_and_shrinks_and_its_cores_come_free(spark: SparkSession, tmp_path: Path) -> None:
    job = started(spark, tmp_path, 2)
    for parallelism in (3, 1, 2):
        assert rescale(job, parallelism).result(60.0).startswith(f"the job runs at parallelism {parallelism}")
        free_in_the_end(spark, 4 - parallelism, job)
    check_all(job)
    assert job.progress.restarts == 0


@pytest.mark.soak
def test_slots_that_were_just_released_are_there_for_the_next_rescale(spark: SparkSession, tmp_path: Path) -> None:
    job = started(spark, tmp_path, 2)
    for parallelism in (4, 1, 4):
        assert rescale(job, parallelism).result(60.0).startswith(f"the job runs at parallelism {parallelism}")
    check_all(job)


def test_an_adaptive_job_may_wait_for_its_first_slot_as_long_as_it_takes(spark: SparkSession, tmp_path: Path) -> None:
    first = started(spark, tmp_path / "first", 4, RECORDS)
    adaptive = {f"{ADAPTIVE}.submission.resource-wait-timeout": "-1", "jobmanager.scheduler": "adaptive"}
    second = started(spark, tmp_path / "second", 2, 100, **adaptive)
    assert second.status().name == "CREATED"
    check_all(first)
    check_all(second, 100)


def test_more_slots_than_spark_has_are_refused_and_nothing_ends(spark: SparkSession, tmp_path: Path) -> None:
    job = started(spark, tmp_path, 2)
    with pytest.raises(EnvironmentFault, match="the job is to have 9 task slots, but Spark has 4 for it"):
        rescale(job, 9).result(60.0)
    check_all(job)
    assert job.progress.attempt == 1
