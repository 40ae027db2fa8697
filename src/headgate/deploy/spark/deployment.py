"""Jobs on Spark: checks the session, then runs each job as slots in a barrier stage, mastered from this process."""

from __future__ import annotations

import logging
from typing import final

from pyspark.sql import SparkSession

from headgate.deploy.handle import JobHandle
from headgate.deploy.local import storage_location
from headgate.deploy.running_job import RunningJob
from headgate.deploy.spark import preflight, session
from headgate.deploy.spark.host import SparkHost
from headgate.deploy.spark.observe import await_slots, observe
from headgate.graph.physical import JobPlan

_log = logging.getLogger(__name__)


@final
class SparkDeployment:
    """Runs jobs on a session: the one given, else the active one, else an embedded one that is made when needed."""

    def __init__(self, spark: SparkSession | None) -> None:
        self._spark = spark

    @property
    def default_parallelism(self) -> int:
        return session.default_parallelism(self._spark)

    def submit(self, job: JobPlan) -> JobHandle:
        """Start the job. Blocks while a session is made and checked. Raises EnvironmentFault."""
        spark = session.obtain(self._spark, job.slots)
        check(spark, job)
        return RunningJob(job, SparkHost(job, spark)).start()


def check(spark: SparkSession, job: JobPlan) -> None:
    """Check that the job can run on the session. Blocks some seconds at most. Raises EnvironmentFault."""
    facts = observe(spark)
    preflight.check_session(facts)
    preflight.check_storage(facts, storage_location(job))
    facts = await_slots(spark, facts, job.slots)
    preflight.check_slots(facts, job.slots)
    for warning in preflight.warnings(facts):
        _log.warning(warning)
