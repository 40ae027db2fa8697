"""A job on Spark in its driver: the job master, its control server, and the stages that host the slots."""

from __future__ import annotations

import contextlib
import math
import queue
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from pyspark import Broadcast
from pyspark.sql import SparkSession

from headgate import options
from headgate.checkpoint.file_store import FileSystemStore
from headgate.clock import SystemClock
from headgate.deploy.code.package import pack
from headgate.deploy.handles.running_job import Results
from headgate.deploy.job_folder import JobFolder
from headgate.deploy.spark import progress_bar
from headgate.deploy.spark.jvm_loss import JVM_ERRORS
from headgate.deploy.spark.network import LOOPBACK, driver_network
from headgate.deploy.spark.observe import slots_taken, slots_total
from headgate.deploy.spark.preflight import cores_of_queries, is_local, slot_count, unfit
from headgate.deploy.spark.session import embedded_max
from headgate.deploy.spark.shared_storage import StorageProof
from headgate.deploy.spark.shipping import ShippedCode, task_entry
from headgate.deploy.spark.slot_process import UNFIT, SlotSpec, SlotTask, slot_task
from headgate.deploy.spark.stage import SlotStage, StageEnd, StageOrder
from headgate.errors import StorageError
from headgate.graph.job_graph import JobGraph
from headgate.ids import Launch
from headgate.runtime.control.messages import RegisterSlot, process_facts
from headgate.runtime.io import ThreadIo
from headgate.runtime.job_storage.job_storage import JobStorage
from headgate.runtime.job_storage.location import keeps_in_memory
from headgate.runtime.master.assembly import slots_wait_ms
from headgate.runtime.master.control_server import ControlServer
from headgate.runtime.master.job_master import JobMaster
from headgate.runtime.master.services import MasterServices, SlotCount
from headgate.runtime.wire import JobSecret, Poller, ThrowAwayCertificate, Wire

IDLE_S_MAX: Final = 1.0
END_S_MAX: Final = 10.0
"""Seconds that the end of a job waits for the end of its stage."""
CLOSURE_BYTES_MAX: Final = 512 * 1024
"""A larger package is broadcast. Spark broadcasts closures above 1 MB, and the closure contains the secret."""
_IO_THREADS: Final = 4


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Services:
    """Objects that exist from the start of the job."""

    master: JobMaster
    server: ControlServer
    storage_of_slots: str | None
    certificate: ThrowAwayCertificate | None


@final
class SparkHost:
    """Runs one job on a Spark session. Implements `Host` and `Launcher`. Owned by the job's thread, except `wake`."""

    def __init__(self, plan: JobGraph, spark: SparkSession, code: ShippedCode) -> None:
        self._plan = plan
        self._code = code
        self._spark = spark
        self._local = is_local(spark.sparkContext.master or "")
        self._package: bytes | Broadcast[bytes] = self._packed()
        self._clock = SystemClock()
        self._secret = JobSecret.generate()
        self._poller = Poller()
        self._io = ThreadIo(_IO_THREADS, "headgate-io", self.wake)
        self._folder: JobFolder | None = None
        self._facts = process_facts()
        self._services: _Services | None = None
        self._stage: SlotStage | None = None
        self._show_bar: Callable[[], None] = lambda: None
        self._proof: StorageProof | None = None
        self._orders: queue.SimpleQueue[Callable[[JobMaster], None]] = queue.SimpleQueue()

    def _packed(self) -> bytes | Broadcast[bytes]:
        package = pack(self._plan)
        return package if len(package) <= CLOSURE_BYTES_MAX else self._spark.sparkContext.broadcast(package)

    def start(self, results: Results) -> JobMaster:
        self._show_bar = progress_bar.hide(self._spark.sparkContext)
        self._folder = folder = JobFolder.of(self._plan)
        services = MasterServices(
            clock=self._clock,
            io=self._io,
            storage=JobStorage(folder.store, self._io, self._clock, FileSystemStore.open_folder),
            launcher=self,
            collected=results.collected,
        )
        master = JobMaster(self._plan, services)
        network = driver_network(self._plan.settings, self._own_address())
        server = ControlServer(Wire(network, self._secret), self._poller, self._clock, master, self._unfit)
        self._services = _Services(
            master=master,
            server=server,
            storage_of_slots=None if keeps_in_memory(self._plan) else folder.root,
            certificate=network.tls if isinstance(network.tls, ThrowAwayCertificate) else None,
        )
        return master

    def _own_address(self) -> str:
        if self._local:
            return LOOPBACK
        return self._spark.sparkContext.getConf().get("spark.driver.host") or LOOPBACK

    def _started(self) -> _Services:
        assert self._services is not None
        return self._services

    def folder(self) -> JobFolder:
        assert self._folder is not None
        return self._folder

    def facts(self) -> dict[str, str]:
        context = self._spark.sparkContext
        found = {"spark": self._spark.version, "master": context.master, "application": context.applicationId}
        return {name: value for name, value in (found | {"page": context.uiWebUrl}).items() if value is not None}

    def turn(self) -> None:
        services = self._started()
        delivered = self._io.deliver()
        while not self._orders.empty():
            self._orders.get()(services.master)
            delivered = True
        wake_ms = services.master.step(self._clock.monotonic_ms())
        idle_s = IDLE_S_MAX if wake_ms is None else (wake_ms - self._clock.monotonic_ms()) / 1000.0
        self._poller.poll(0.0 if delivered else max(0.0, min(idle_s, IDLE_S_MAX)))
        # After the poll: if this thread was blocked for long, heartbeats have arrived and are read by the poll.
        services.server.lose_silent(self._plan.settings.get(options.HEARTBEAT_TIMEOUT))

    def wake(self) -> None:
        self._poller.wake()

    def close(self) -> None:
        if self._stage is not None:
            self._stage.kill()
            self._stage.join(END_S_MAX)
        self._show_bar()
        if self._services is not None:
            self._services.server.close()
            if self._proof is not None:
                with contextlib.suppress(StorageError):
                    self._proof.remove()
        self._poller.close()
        self._io.close()
        if isinstance(self._package, Broadcast):
            with contextlib.suppress(*JVM_ERRORS):  # without Spark there is no broadcast
                self._package.destroy()
        if self._folder is not None:
            self._folder.close()

    # --- launcher

    def launch(self, launch: Launch, slots: int) -> None:
        needs_proof = not (self._local or keeps_in_memory(self._plan))
        self._proof = StorageProof(self.folder().store, secrets.token_hex(8), launch, slots) if needs_proof else None
        get = self._plan.settings.get
        is_adaptive = options.is_adaptive(self._plan.settings)
        wait_ms = slots_wait_ms(self._plan.settings)
        order = StageOrder(
            slots=slots,
            least=1 if is_adaptive else slots,
            query_cores=cores_of_queries(self._plan),
            wait_s=math.inf if wait_ms is None else wait_ms / 1000.0,
            stable_s=get(options.SLOTS_STABILIZATION) / 1000.0,
            group=f"headgate-{self._plan.job_id}-{launch}",
            description=f"headgate: {self._plan.job_name}",
            pool=self._plan.settings.get(options.SCHEDULER_POOL),
            code=self._code,
        )
        task = self._task(launch, self._proof)
        self._stage = SlotStage(
            self._spark,
            order,
            task,
            lambda sized: self._order(lambda master: self._sized(master, launch, sized)),
            lambda ended: self._order(lambda master: _ended(master, launch, ended)),
        )
        self._stage.start()

    def _task(self, launch: Launch, proof: StorageProof | None) -> Callable[[], SlotTask]:
        services = self._started()
        spec = SlotSpec(
            job_id=self._plan.job_id,
            job_name=self._plan.job_name,
            launch=launch,
            host=services.server.address.host,
            port=services.server.address.port,
            secret=self._secret.reveal(),
            certificate=services.certificate,
            storage=services.storage_of_slots,
            proof=None if proof is None else proof.nonce,
            settings=self._plan.settings,
        )
        entry = task_entry(self._code, local=self._local)

        def make() -> SlotTask:
            if proof is not None:
                proof.begin()
            return slot_task(spec, self._package, entry)

        return make

    def kill(self, launch: Launch) -> None:
        if self._stage is not None:
            self._stage.kill()

    def count_slots(self, held: int) -> SlotCount:
        context, query_cores = self._spark.sparkContext, cores_of_queries(self._plan)
        taken = slots_taken(context, held, query_cores)
        return slot_count(slots_total(context), taken, context.master or "", embedded_max(self._spark))

    def _sized(self, master: JobMaster, launch: Launch, slots: int) -> None:
        if self._proof is not None:
            self._proof.sized(launch, slots)
        master.launch_sized(launch, slots)

    def _order(self, order: Callable[[JobMaster], None]) -> None:
        """Let the job's thread call `order` with the job master. Called on the stage's thread."""
        self._orders.put(order)
        self.wake()

    def _unfit(self, message: RegisterSlot) -> str | None:
        """Return the reason why a slot cannot run the job, None if it can. May read a small file for each slot."""
        facts = message.environment
        found = facts.get(UNFIT) or unfit(self._facts, facts)
        if found is None and self._proof is not None:
            found = self._proof.answered(message.launch, message.slot, facts["host"])
        return found


def _ended(master: JobMaster, launch: Launch, end: StageEnd) -> None:
    master.launch_ended(launch, end.error, for_good=end.for_good, refused=end.refused)
