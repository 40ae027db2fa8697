"""A slot in the Python worker of a Spark task: the function that Spark runs, and the slot's loop with its connections.

The closure of the task is the only way in which the job's secret and the key of its certificate travel: no conf,
argument, environment variable or log contains them.

The process ends its slot when the job master orders it, refuses the slot or is lost. User code may block the loop: if
the slot has not ended some seconds after the loss of the master, the process exits.
"""

from __future__ import annotations

import logging
import os
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, final

from pyspark import TaskContext

from headgate import options
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.storage_probe import answer_probe
from headgate.checkpoint.store import CheckpointStore, MemoryStore
from headgate.clock import SystemClock
from headgate.config import Settings
from headgate.deploy.code.package import unpack
from headgate.deploy.spark.logs import slot_logging
from headgate.deploy.spark.network import address_towards, slot_network
from headgate.deploy.spark.terminal import output_of_driver
from headgate.errors import StorageError
from headgate.ids import JobId, Launch, SlotIndex
from headgate.runtime.control.client import ControlClient, HeartbeatConfig, HeartbeatThread, Hello
from headgate.runtime.control.messages import RegisterSlot, process_facts
from headgate.runtime.exchange.credit import CreditWindow
from headgate.runtime.exchange.network import NetworkExchange
from headgate.runtime.io import ThreadIo
from headgate.runtime.slot.garbage import survivors_set_aside
from headgate.runtime.slot.log_tail import LogTail
from headgate.runtime.slot.services import SlotServices
from headgate.runtime.slot.slot import Slot
from headgate.runtime.slot_storage.scratch import Scratch
from headgate.runtime.wire import Address, JobSecret, Poller, ThrowAwayCertificate, Wire

_log = logging.getLogger(__name__)

IDLE_S_MAX: Final = 1.0
STUCK_S_MAX: Final = 5.0
"""Seconds in which a slot must end after the loss of its master."""
IO_THREADS: Final = 2
UNFIT: Final = "unfit"
"""Key in the environment of a registration: the reason why the slot cannot run the job. Missing if it can."""

SlotTask = Callable[[Iterable[Any]], Iterator[Any]]
"""The function that Spark runs in each task. Its input and output are empty: records go from slot to slot directly."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSpec:
    """Everything that the slots of one launch need, except the job's package.

    `storage` is None if the slots use no storage. `proof` is the nonce by which each slot proves that it sees the
    driver's storage; None on one machine, and without storage. `certificate` is the certificate for connections of
    slots, None if they use the user's certificate or no TLS.
    """

    job_id: JobId
    job_name: str
    launch: Launch
    host: str
    port: int
    secret: bytes
    certificate: ThrowAwayCertificate | None
    storage: str | None
    proof: str | None
    settings: Settings

    def __repr__(self) -> str:
        return f"SlotSpec({self.job_name!r}, launch {self.launch})"


def slot_task(spec: SlotSpec, package: Any, entry: Callable[[], AbstractContextManager[None]]) -> SlotTask:
    """Return the function that Spark runs in each task of a launch. Called in the driver.

    It is pickled by value and imports headgate only inside `entry`, so that a worker without headgate can report the
    missing module. `package` is the packed job, as bytes or as a broadcast of bytes.
    """
    data = pickle.dumps(spec, 5)

    def headgate_slot(rows: Iterable[Any]) -> Iterator[Any]:
        with entry():
            from headgate.deploy.spark.slot_process import run_slot  # noqa: PLC0415  # in the worker, by `entry`

            for _ in rows:
                pass
            run_slot(data, package if isinstance(package, bytes) else package.value)
        return iter(())

    return headgate_slot


def run_slot(data: bytes, package: bytes) -> None:
    """Run the slot of this Spark task until the job master ends it or is lost."""
    context = TaskContext.get()
    assert context is not None
    spec: SlotSpec = pickle.loads(data)  # noqa: S301  # from the closure of the job's own driver
    index = SlotIndex(context.partitionId())
    level = spec.settings.get(options.LOG_LEVEL)
    tail = LogTail() if spec.settings.get(options.WEB_LOGS) else None
    with survivors_set_aside(), output_of_driver(), slot_logging(spec.job_name, index, level, tail) as story:
        process = SlotProcess(spec, package, index, tail)
        story.attempt_of(process.slot)
        try:
            process.run()
        finally:
            process.close()


@final
class SlotProcess:
    """One slot with its connections and threads. Owned by the task's thread."""

    def __init__(self, spec: SlotSpec, package: bytes, index: SlotIndex, tail: LogTail | None) -> None:
        self._clock = SystemClock()
        self._poller = Poller()
        self._io = ThreadIo(IO_THREADS, "headgate-io", self._poller.wake)
        self._lost: str | None = None
        self._last_resort = threading.Timer(STUCK_S_MAX, os._exit, (1,))
        self._last_resort.daemon = True
        master = Address(spec.host, spec.port)
        network = slot_network(spec.settings, address_towards(*master), spec.certificate)
        wire = Wire(network, JobSecret(spec.secret))
        window = CreditWindow.of(spec.settings)
        self._exchange = NetworkExchange(index, wire, self._poller, window, lambda why: self.slot.exchange_broken(why))
        store = MemoryStore() if spec.storage is None else FileSystemStore.open(spec.storage, spec.job_id)
        # In Spark's folders: Spark removes them when the executor ends, also after a worker was killed.
        self._scratch = Scratch.by(spec.settings, index, os.environ.get("SPARK_LOCAL_DIRS", ""))
        hello = Hello("control", spec.launch, index)
        self._control = ControlClient(wire, self._poller, master, hello, lambda message: self.slot.receive(message))
        services = SlotServices(
            clock=self._clock,
            io=self._io,
            store=store,
            open_store=FileSystemStore.open_folder,
            exchange=self._exchange,
            send=self._control.send,
            scratch=self._scratch,
            watch=self._poller.watch,
            log=tail,
        )
        self.slot = Slot(lambda: unpack(package), index, services)
        self._heartbeat = HeartbeatThread(
            wire, master, Hello("heartbeat", spec.launch, index).encode(), _heartbeat_config(spec), self._on_lost
        )
        self._control.send(_registration(spec, index, self._exchange.address, store))

    def run(self) -> None:
        """Step the slot until the master ends it. A slot that has lost its master ends itself."""
        self._heartbeat.start()
        while True:
            wake_ms = self.slot.step(self._clock.monotonic_ms())
            if self.slot.closed:
                return
            delivered = self._io.deliver()
            self._poller.poll(0.0 if delivered else self._idle_s(wake_ms))
            lost = self._lost or self._control.lost
            if lost is not None:
                self.slot.abandon()
                _log.warning("slot %d ends, as its driver is gone or no longer needs it: %s", self.slot.index, lost)
                return

    def _idle_s(self, wake_ms: float | None) -> float:
        if wake_ms is None:
            return IDLE_S_MAX
        return min(max((wake_ms - self._clock.monotonic_ms()) / 1000.0, 0.0), IDLE_S_MAX)

    def close(self) -> None:
        """Close all connections and end all threads."""
        self._heartbeat.stop()
        self._exchange.close()
        self._control.close()
        self._io.close()
        self._scratch.remove()
        self._poller.close()
        self._last_resort.cancel()  # last: a call of storage may hang, like user code

    def _on_lost(self, reason: str) -> None:
        """Called on the heartbeat's thread."""
        self._lost = reason
        self._last_resort.start()
        self._poller.wake()


def _heartbeat_config(spec: SlotSpec) -> HeartbeatConfig:
    return HeartbeatConfig(
        interval_s=spec.settings.get(options.HEARTBEAT_INTERVAL) / 1000.0,
        silence_s_max=spec.settings.get(options.HEARTBEAT_TIMEOUT) / 1000.0,
    )


def _registration(spec: SlotSpec, index: SlotIndex, address: Address, store: CheckpointStore) -> RegisterSlot:
    facts = process_facts()
    if spec.proof is not None:
        try:
            answer_probe(store, spec.proof, index, facts["host"])
        except StorageError as error:
            facts[UNFIT] = str(error)
    return RegisterSlot(launch=spec.launch, slot=index, host=address.host, port=address.port, environment=facts)
