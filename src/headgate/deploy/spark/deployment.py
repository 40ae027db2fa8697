"""Jobs on Spark: checks the session, then runs each job as slots in a barrier stage, mastered from this process."""

from __future__ import annotations

import atexit
import contextlib
import logging
import weakref
from typing import Final, final

from pyspark.sql import SparkSession

from headgate import options
from headgate.deploy.handles.batch_job import BatchJob
from headgate.deploy.handles.handle import JobHandle
from headgate.deploy.handles.job_endpoint import endpoint_of
from headgate.deploy.handles.running_job import RunningJob
from headgate.deploy.spark import preflight, session
from headgate.deploy.spark.batch.engine import SparkBatch
from headgate.deploy.spark.host import SparkHost
from headgate.deploy.spark.jvm_loss import quieten_accumulators, quieten_py4j
from headgate.deploy.spark.observe import await_slots, observe
from headgate.deploy.spark.preflight import cores_beside, micro_batches_of
from headgate.deploy.spark.shipping import ship
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import as_programmed
from headgate.runtime.job_storage.location import keeps_in_memory, storage_location
from headgate.runtime.master.assembly import slots_wait_ms

_log = logging.getLogger(__name__)

_EXIT_S_MAX: Final = 10.0
_running: Final[weakref.WeakSet[JobHandle]] = weakref.WeakSet()


def _end_jobs() -> None:
    """At the exit of the program: end the jobs that it has left running."""
    for job in list(_running):
        job.cancel()
    for job in list(_running):
        with contextlib.suppress(Exception):  # the handle may be gone
            job.wait(_EXIT_S_MAX)


@final
class SparkDeployment:
    """Runs jobs on a session: the one given, else the active one, else an embedded one that is made when needed."""

    def __init__(self, spark: SparkSession | None) -> None:
        self._spark = spark

    @property
    def default_parallelism(self) -> int:
        return session.default_parallelism(self._spark)

    def submit(self, job: JobGraph) -> JobHandle:
        """Start the job. Blocks while a session is made and checked. Raises EnvironmentFault."""
        quieten_py4j()
        spark = session.obtain(self._spark, as_programmed(job).slots)
        quieten_accumulators(spark)
        check(spark, job)
        host = SparkHost(job, spark, ship(spark.sparkContext, job.settings))
        return _ended_at_exit(RunningJob(job, host, endpoint_of(job.settings, default=True)).start())

    def submit_batch(self, job: JobGraph) -> JobHandle:
        """Start a batch job: stages that come and go, so no slots need be free. Raises EnvironmentFault."""
        spark = session.obtain(self._spark, 1)  # tasks take turns, however many there are
        preflight.check_batch_session(observe(spark))
        return _ended_at_exit(BatchJob(job, SparkBatch(job, spark, ship(spark.sparkContext, job.settings))).start())


def _ended_at_exit(job: JobHandle) -> JobHandle:
    _running.add(job)
    # Last in, first out: jobs end before the session that they run on is stopped.
    atexit.unregister(_end_jobs)
    atexit.register(_end_jobs)
    return job


def check(spark: SparkSession, job: JobGraph) -> None:
    """Check that the job can run on the session. Raises EnvironmentFault, ProgramError.

    Blocks some seconds at most, and while the executors of a young session are still starting.
    """
    facts = observe(spark)
    preflight.check_session(facts)
    if not keeps_in_memory(job):
        preflight.check_storage(facts, storage_location(job))
    preflight.check_folders([query.folder for query in micro_batches_of(job)])
    beside = cores_beside(job)
    first_s = job.settings.get(options.SLOT_REQUEST_TIMEOUT) / 1000
    slots = as_programmed(job).slots
    if slots_wait_ms(job.settings) is not None:  # else the job itself waits for them
        facts = await_slots(spark, facts, slots + beside, first_s)
        preflight.check_slots(facts, 1 if options.is_adaptive(job.settings) else slots, beside)
    for warning in preflight.warnings(facts):
        _log.warning(warning)
