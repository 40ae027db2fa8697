"""Submits jobs to Spark: checks the session, then starts the job master in this process and the slots on Spark."""

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
from headgate.deploy.spark.preflight import cores_of_queries, micro_batches_of
from headgate.deploy.spark.shipping import ship
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import as_programmed
from headgate.runtime.job_storage.location import keeps_in_memory, storage_location
from headgate.runtime.master.assembly import slots_wait_ms

_log = logging.getLogger(__name__)

_EXIT_S_MAX: Final = 10.0
_running: Final[weakref.WeakSet[JobHandle]] = weakref.WeakSet()


def _end_jobs() -> None:
    """Cancel all running jobs. Called when the program exits."""
    for job in list(_running):
        job.cancel()
    for job in list(_running):
        with contextlib.suppress(Exception):  # exit must not fail
            job.wait(_EXIT_S_MAX)


@final
class SparkDeployment:
    """Runs jobs on a session: the given session, else the active session, else the embedded session."""

    def __init__(self, spark: SparkSession | None) -> None:
        self._spark = spark

    def submit(self, job: JobGraph) -> JobHandle:
        """Start the job. Blocks while a session is made and checked. Raises EnvironmentFault, ProgramError."""
        quieten_py4j()
        spark = session.obtain(self._spark, as_programmed(job).slots)
        quieten_accumulators(spark)
        check(spark, job)
        host = SparkHost(job, spark, ship(spark.sparkContext, job.settings))
        return _ended_at_exit(RunningJob(job, host, endpoint_of(job.settings, default=True)).start())

    def submit_batch(self, job: JobGraph) -> JobHandle:
        """Start a batch job. It waits for free task slots like any Spark job. Raises EnvironmentFault."""
        spark = session.obtain(self._spark, 1)  # tasks may run one after the other
        preflight.check_batch_session(observe(spark))
        return _ended_at_exit(BatchJob(job, SparkBatch(job, spark, ship(spark.sparkContext, job.settings))).start())


def _ended_at_exit(job: JobHandle) -> JobHandle:
    _running.add(job)
    # atexit runs the last function first: jobs end before their session stops.
    atexit.unregister(_end_jobs)
    atexit.register(_end_jobs)
    return job


def check(spark: SparkSession, job: JobGraph) -> None:
    """Check that the job can run on the session. Raises EnvironmentFault, ProgramError.

    Blocks for a few seconds, or while the executors of a new session start.
    """
    facts = observe(spark)
    preflight.check_session(facts)
    if not keeps_in_memory(job):
        preflight.check_storage(facts, storage_location(job))
    preflight.check_folders([query.folder for query in micro_batches_of(job)])
    query_cores = cores_of_queries(job)
    first_s = job.settings.get(options.SLOT_REQUEST_TIMEOUT) / 1000
    slots = as_programmed(job).slots
    if slots_wait_ms(job.settings) is not None:  # otherwise the job waits for slots
        facts = await_slots(spark, facts, slots + query_cores, first_s)
        preflight.check_slots(facts, 1 if options.is_adaptive(job.settings) else slots, query_cores)
    for warning in preflight.warnings(facts):
        _log.warning(warning)
