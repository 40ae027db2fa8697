"""The Spark stage that hosts the slots of one launch, and the thread that waits for its end.

The stage is a barrier stage of an RDD. `DataFrame.mapInArrow` would do as well, but loads Spark SQL into the driver and
pandas into each worker before the first slot registers, which doubles the time from a session to the first record.
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
from headgate.deploy.spark.slot_task import SlotTask
from headgate.deploy.spark.spark_error import explain, is_refusal
from headgate.errors import EnvironmentFault, StorageError

CANCEL_AGAIN_S: Final = 0.5
"""A stage that is submitted just now is not seen by a cancellation: it is cancelled again."""
SLOTS_LOOK_S: Final = 0.05
_POOL: Final = "spark.scheduler.pool"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StageOrder:
    """What to submit: how many tasks, and how the stage shows in Spark's UI. `group` is unique to the launch.

    It waits for so many free task slots, `wait_s` at most; `least` will do once there have been no more for `stable_s`.
    Others need `beside` of them.
    """

    slots: int
    least: int
    beside: int
    wait_s: float
    stable_s: float
    group: str
    description: str
    pool: str | None
    code: ShippedCode


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StageEnd:
    """How a stage ended: without an error if `error` is None.

    `for_good`: Spark is gone with it, so that there can be no other. `refused`: another one would end in the same way.
    """

    error: str | None = None
    for_good: bool = False
    refused: bool = False


@final
class SlotStage:
    """One submission. `on_ended` is called once, on the stage's own thread.

    `on_sized` is called there before the stage is submitted, with the number of slots that it gets.
    """

    def __init__(
        self,
        spark: SparkSession,
        order: StageOrder,
        make_task: Callable[[], SlotTask],
        on_sized: Callable[[int], None],
        on_ended: Callable[[StageEnd], None],
    ) -> None:
        """`make_task` is called on the stage's thread too, and may block."""
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
        except Exception as raised:  # noqa: BLE001  # it asks the JVM for properties to inherit, and that may be gone
            self._on_ended(self._how_ended(raised))

    def kill(self) -> None:
        """Cancel the stage, now or as soon as it is submitted. Does not block."""
        self._killed = True
        # A plain thread: one that inherits properties asks the JVM for them, which may be gone, before it comes to us.
        threading.Thread(target=self._cancel, name="headgate-cancel", daemon=True).start()

    def join(self, timeout_s: float) -> bool:
        """Wait for the end of the stage; return whether it has ended."""
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        raised: Exception | None = None
        try:
            self._submit(self._make_task())
        except Exception as error:  # noqa: BLE001  # whatever ended the stage is for the supervisor to judge
            raised = error
        self._on_ended(self._how_ended(raised))

    def _how_ended(self, raised: Exception | None) -> StageEnd:
        if raised is None:
            return StageEnd()
        if is_gone(self._spark):
            return StageEnd(error=GONE, for_good=True)
        if isinstance(raised, StorageError):  # of what is proven before the stage is submitted: it may mend
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
        # A result stage: Spark would try again by itself if others had to read what the slots return.
        stage = context.parallelize([], slots).barrier().mapPartitions(task)
        stage.ctx = JobContext(context, self._order.code)  # type: ignore[assignment]  # stands in for it
        stage.collect()

    def _await_slots(self) -> int:
        """Wait for slots that are still held or still to come: Spark looks for them once in 15 s only, for minutes.

        Return how many the stage gets. Raises EnvironmentFault when they are too few.
        """
        order, began_s = self._order, time.monotonic()
        known, since_s = 0, began_s
        while not self._killed:
            context = self._spark.sparkContext
            free = slots_total(context) - slots_taken(context, 0, order.beside)
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
            return  # the session is gone, and with it the stage
