"""Jobs on Spark, in the driver: checks the session, then hosts the job master here and the slots on Spark."""

from __future__ import annotations

import atexit
import contextlib
import logging
import weakref
from collections.abc import Callable
from typing import Final, final

from pyspark.sql import SparkSession

from headgate import options
from headgate.checkpoint.file_store import FileSystemStore
from headgate.clock import SystemClock
from headgate.deploy.handles.batch_job import BatchJob
from headgate.deploy.handles.handle import JobHandle
from headgate.deploy.handles.job_endpoint import endpoint_of
from headgate.deploy.handles.running_job import Order, Results, RunningJob
from headgate.deploy.job_folder import JobFolder
from headgate.deploy.spark import preflight, progress_bar, session
from headgate.deploy.spark.batch.engine import SparkBatch
from headgate.deploy.spark.jvm_loss import quieten_accumulators, quieten_py4j
from headgate.deploy.spark.network import LOOPBACK, driver_network
from headgate.deploy.spark.observe import await_slots, observe
from headgate.deploy.spark.preflight import cores_of_queries, is_local, micro_batches_of
from headgate.deploy.spark.shipping import ShippedCode, ship
from headgate.deploy.spark.stage import SparkLauncher
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import as_programmed
from headgate.runtime.io import ThreadIo
from headgate.runtime.job_storage.job_storage import JobStorage
from headgate.runtime.job_storage.location import keeps_in_memory, storage_location
from headgate.runtime.master.assembly import slots_wait_ms
from headgate.runtime.master.control_server import ControlServer
from headgate.runtime.master.job_master import JobMaster
from headgate.runtime.master.services import MasterServices
from headgate.runtime.wire import JobSecret, Poller, ThrowAwayCertificate, Wire

_log = logging.getLogger(__name__)

IDLE_S_MAX: Final = 1.0
_IO_THREADS: Final = 4
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
class SparkHost:
    """Runs one job on a Spark session. Implements `Host`. Owned by the job's thread, except `wake`."""

    def __init__(self, plan: JobGraph, spark: SparkSession, code: ShippedCode) -> None:
        self._plan = plan
        self._spark = spark
        self._launcher = SparkLauncher(plan, spark, code)
        self._clock = SystemClock()
        self._secret = JobSecret.generate()
        self._poller = Poller()
        self._io = ThreadIo(_IO_THREADS, "headgate-io", self.wake)
        self._folder: JobFolder | None = None
        self._master: JobMaster | None = None
        self._server: ControlServer | None = None
        self._show_bar: Callable[[], None] = lambda: None

    def start(self, results: Results, give: Callable[[Order], None]) -> JobMaster:
        self._show_bar = progress_bar.hide(self._spark.sparkContext)
        self._folder = folder = JobFolder.of(self._plan)
        services = MasterServices(
            clock=self._clock,
            io=self._io,
            storage=JobStorage(folder.store, self._io, self._clock, FileSystemStore.open_folder),
            launcher=self._launcher,
            collected=results.collected,
        )
        self._master = master = JobMaster(self._plan, services)
        network = driver_network(self._plan.settings, self._own_address())
        wire = Wire(network, self._secret)
        self._server = server = ControlServer(wire, self._poller, self._clock, master, self._launcher.unfit)
        certificate = network.tls if isinstance(network.tls, ThrowAwayCertificate) else None
        self._launcher.begin(server.address, self._secret, certificate, folder, give)
        return master

    def _own_address(self) -> str:
        if is_local(self._spark.sparkContext.master or ""):
            return LOOPBACK
        return self._spark.sparkContext.getConf().get("spark.driver.host") or LOOPBACK

    def folder(self) -> JobFolder:
        assert self._folder is not None
        return self._folder

    def facts(self) -> dict[str, str]:
        context = self._spark.sparkContext
        found = {"spark": self._spark.version, "master": context.master, "application": context.applicationId}
        return {name: value for name, value in (found | {"page": context.uiWebUrl}).items() if value is not None}

    def turn(self) -> None:
        master, server = self._master, self._server
        assert master is not None
        assert server is not None
        delivered = self._io.deliver()
        wake_ms = master.step(self._clock.monotonic_ms())
        idle_s = IDLE_S_MAX if wake_ms is None else (wake_ms - self._clock.monotonic_ms()) / 1000.0
        self._poller.poll(0.0 if delivered else max(0.0, min(idle_s, IDLE_S_MAX)))
        # After the poll: if this thread was blocked for long, heartbeats have arrived and are read by the poll.
        server.lose_silent(self._plan.settings.get(options.HEARTBEAT_TIMEOUT))

    def wake(self) -> None:
        self._poller.wake()

    def close(self) -> None:
        self._launcher.close()
        self._show_bar()
        if self._server is not None:
            self._server.close()
        self._poller.close()
        self._io.close()
        if self._folder is not None:
            self._folder.close()


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
