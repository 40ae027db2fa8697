"""The Spark stage that hosts the slots of one launch, and the thread that waits for its end.

The stage is a barrier stage of an RDD. `DataFrame.mapInArrow` would also work, but it loads Spark SQL into the driver
and pandas into each worker before the first slot registers. That doubles the time from a session to the first record.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from headgate.deploy.spark.jvm_loss import GONE, JVM_ERRORS, is_gone, report_of
from headgate.deploy.spark.observe import slots_taken, slots_total
from headgate.deploy.spark.shipping import JobContext, ShippedCode
from headgate.deploy.spark.slot_process import SlotTask
from headgate.deploy.spark.spark_error import explain, is_refusal
from headgate.errors import EnvironmentFault, StorageError

CANCEL_AGAIN_S: Final = 0.5
"""Seconds between cancellations: a cancellation misses a stage that is just being submitted."""
SLOTS_LOOK_S: Final = 0.05
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
