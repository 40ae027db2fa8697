"""The launcher of a job's slots on Spark: it makes a stage for each launch, and a thread waits for the stage's end.

The stage is a barrier stage of an RDD. `DataFrame.mapInArrow` would also work, but it loads Spark SQL into the driver
and pandas into each worker before the first slot registers. That doubles the time from a session to the first record.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, final

from pyspark import Broadcast, InheritableThread
from pyspark.sql import SparkSession

from headgate import options
from headgate.checkpoint.store import CheckpointStore
from headgate.deploy.code.package import pack
from headgate.deploy.handles.running_job import Order
from headgate.deploy.job_folder import JobFolder
from headgate.deploy.spark.jvm_loss import GONE, JVM_ERRORS, is_gone, report_of
from headgate.deploy.spark.observe import slots_taken, slots_total
from headgate.deploy.spark.preflight import cores_of_queries, is_local, slot_count, unfit
from headgate.deploy.spark.session import embedded_max
from headgate.deploy.spark.shared_storage import StorageProof
from headgate.deploy.spark.shipping import JobContext, ShippedCode, task_entry
from headgate.deploy.spark.slot_process import UNFIT, SlotSpec, SlotTask, slot_task
from headgate.deploy.spark.spark_error import explain, is_refusal
from headgate.errors import EnvironmentFault, StorageError
from headgate.graph.job_graph import JobGraph
from headgate.ids import Launch
from headgate.runtime.control.messages import RegisterSlot, process_facts
from headgate.runtime.job_storage.location import keeps_in_memory
from headgate.runtime.master.assembly import slots_wait_ms
from headgate.runtime.master.job_master import JobMaster
from headgate.runtime.master.services import SlotCount
from headgate.runtime.wire import Address, JobSecret, ThrowAwayCertificate

CANCEL_AGAIN_S: Final = 0.5
"""Seconds between cancellations: a cancellation misses a stage that is just being submitted."""
SLOTS_LOOK_S: Final = 0.05
END_S_MAX: Final = 10.0
"""Seconds that the end of a job waits for the end of its stage."""
CLOSURE_BYTES_MAX: Final = 512 * 1024
"""A larger package is broadcast. Spark broadcasts closures above 1 MB, and the closure contains the secret."""
_POOL: Final = "spark.scheduler.pool"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StageOrder:
    """A stage to submit: the number of tasks, and the texts for Spark's UI. `group` is unique to the launch.

    The stage waits up to `wait_s` seconds for `slots` free task slots. `least` slots are enough if the number of free
    slots did not grow for `stable_s` seconds. `query_cores` task slots are left for the job's streaming queries.
    """

    slots: int
    least: int
    query_cores: int
    wait_s: float
    stable_s: float
    group: str
    description: str
    pool: str | None
    code: ShippedCode


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StageEnd:
    """The end of a stage, without an error if `error` is None.

    `for_good`: Spark is gone, so that no further stage can run. `refused`: a further stage would end in the same way.
    """

    error: str | None = None
    for_good: bool = False
    refused: bool = False


@final
class SlotStage:
    """One submission of a stage.

    The stage's thread calls `on_sized` with the number of slots before it submits the stage, and `on_ended` once at the
    end.
    """

    def __init__(
        self,
        spark: SparkSession,
        order: StageOrder,
        make_task: Callable[[], SlotTask],
        on_sized: Callable[[int], None],
        on_ended: Callable[[StageEnd], None],
    ) -> None:
        """The stage's thread calls `make_task`, which may block."""
        self._spark = spark
        self._order = order
        self._make_task = make_task
        self._on_sized = on_sized
        self._on_ended = on_ended
        self._killed = False
        self._thread = InheritableThread(target=self._run, name=f"headgate-stage-{order.group}")
        self._thread.daemon = True

    def start(self) -> None:
        """Submit the stage. Does not block."""
        try:
            self._thread.start()
        except Exception as raised:  # noqa: BLE001  # it reads inherited properties from the JVM, which may be gone
            self._on_ended(self._how_ended(raised))

    def kill(self) -> None:
        """Cancel the stage, now or as soon as it is submitted. Does not block."""
        self._killed = True
        # Not an InheritableThread: that reads properties from the JVM first, and the JVM may be gone.
        threading.Thread(target=self._cancel, name="headgate-cancel", daemon=True).start()

    def join(self, timeout_s: float) -> bool:
        """Wait up to `timeout_s` seconds for the end of the stage. Return whether it has ended."""
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        raised: Exception | None = None
        try:
            self._submit(self._make_task())
        except Exception as error:  # noqa: BLE001  # the supervisor decides what follows
            raised = error
        self._on_ended(self._how_ended(raised))

    def _how_ended(self, raised: Exception | None) -> StageEnd:
        if raised is None:
            return StageEnd()
        if is_gone(self._spark):
            return StageEnd(error=GONE, for_good=True)
        if isinstance(raised, StorageError):  # from the storage proof before the submission: a retry may succeed
            return StageEnd(error=str(raised))
        report = report_of(raised)
        return StageEnd(error=explain(report), refused=is_refusal(report))

    def _submit(self, task: SlotTask) -> None:
        context = self._spark.sparkContext
        context.setJobGroup(self._order.group, self._order.description, interruptOnCancel=True)
        context.setLocalProperty(_POOL, self._order.pool)  # type: ignore[arg-type]  # None: the default pool
        slots = self._await_slots()
        if self._killed:
            return
        self._on_sized(slots)
        # A result stage: Spark would retry a stage whose output another stage reads.
        stage = context.parallelize([], slots).barrier().mapPartitions(task)
        stage.ctx = JobContext(context, self._order.code)  # type: ignore[assignment]  # replaces the SparkContext
        stage.collect()

    def _await_slots(self) -> int:
        """Wait for free task slots. Return the number of slots of the stage, 0 after `kill`.

        Spark itself would check every 15 s, for minutes. Raises EnvironmentFault if too few become free in time.
        """
        order, began_s = self._order, time.monotonic()
        known, since_s = 0, began_s
        while not self._killed:
            context = self._spark.sparkContext
            free = slots_total(context) - slots_taken(context, 0, order.query_cores)
            now_s = time.monotonic()
            since_s = now_s if free > known else since_s
            known = free
            is_late = now_s - began_s >= order.wait_s
            if free >= order.slots or (free >= order.least and (is_late or now_s - since_s >= order.stable_s)):
                return min(free, order.slots)
            if is_late:
                fewer = "" if order.least == 1 else "; with jobmanager.scheduler: adaptive it goes on with fewer"
                raise EnvironmentFault(
                    f"the job needs {order.least} task slots, but Spark has {max(0, free)} free ones for it: add "
                    f"executors or cores, or wait for other work{fewer}"
                )
            time.sleep(SLOTS_LOOK_S)
        return 0

    def _cancel(self) -> None:
        try:
            while self._thread.is_alive():
                self._spark.sparkContext.cancelJobGroup(self._order.group)
                self._thread.join(CANCEL_AGAIN_S)
        except JVM_ERRORS:
            return  # without a session there is no stage


@final
class SparkLauncher:
    """Makes the stages that host the slots of one job. Implements `Launcher`. Owned by the job's thread."""

    def __init__(self, plan: JobGraph, spark: SparkSession, code: ShippedCode) -> None:
        self._plan = plan
        self._spark = spark
        self._code = code
        self._local = is_local(spark.sparkContext.master or "")
        self._package: bytes | Broadcast[bytes] = self._packed()
        self._facts = process_facts()
        self._spec: SlotSpec | None = None
        """The configuration of slots, but for the launch and its proof."""
        self._store: CheckpointStore | None = None
        self._stage: SlotStage | None = None
        self._proof: StorageProof | None = None

    def _packed(self) -> bytes | Broadcast[bytes]:
        package = pack(self._plan)
        return package if len(package) <= CLOSURE_BYTES_MAX else self._spark.sparkContext.broadcast(package)

    def begin(
        self,
        master: Address,
        secret: JobSecret,
        certificate: ThrowAwayCertificate | None,
        folder: JobFolder,
        give: Callable[[Order], None],
    ) -> None:
        """Set where slots find the job master, and the job's folder. Called before the first launch.

        Stages call `give` on threads of their own.
        """
        self._give = give
        self._store = folder.store
        self._spec = SlotSpec(
            job_id=self._plan.job_id,
            job_name=self._plan.job_name,
            launch=Launch(0),
            host=master.host,
            port=master.port,
            secret=secret.reveal(),
            certificate=certificate,
            storage=None if keeps_in_memory(self._plan) else folder.root,
            proof=None,
            settings=self._plan.settings,
        )

    def launch(self, launch: Launch, slots: int) -> None:
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
            pool=get(options.SCHEDULER_POOL),
            code=self._code,
        )
        self._stage = SlotStage(
            self._spark,
            order,
            self._task(launch, slots),
            lambda sized: self._give(lambda master: self._sized(master, launch, sized)),
            lambda ended: self._give(lambda master: _ended(master, launch, ended)),
        )
        self._stage.start()

    def _task(self, launch: Launch, slots: int) -> Callable[[], SlotTask]:
        assert self._spec is not None
        assert self._store is not None
        needs_proof = not (self._local or keeps_in_memory(self._plan))
        self._proof = proof = StorageProof(self._store, secrets.token_hex(8), launch, slots) if needs_proof else None
        spec = replace(self._spec, launch=launch, proof=None if proof is None else proof.nonce)
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

    def unfit(self, message: RegisterSlot) -> str | None:
        """Return the reason why a slot cannot run the job, None if it can. May read a small file for each slot."""
        facts = message.environment
        found = facts.get(UNFIT) or unfit(self._facts, facts)
        if found is None and self._proof is not None:
            found = self._proof.answered(message.launch, message.slot, facts["host"])
        return found

    def close(self) -> None:
        """End the newest stage, then delete what its slots needed. Blocks, but not for long."""
        if self._stage is not None:
            self._stage.kill()
            self._stage.join(END_S_MAX)
        if self._proof is not None:
            with contextlib.suppress(StorageError):
                self._proof.remove()
        if isinstance(self._package, Broadcast):
            with contextlib.suppress(*JVM_ERRORS):  # without Spark there is no broadcast
                self._package.destroy()


def _ended(master: JobMaster, launch: Launch, end: StageEnd) -> None:
    master.launch_ended(launch, end.error, for_good=end.for_good, refused=end.refused)
