"""MiniCluster: a whole job in this process, without Spark or a JVM. For tests and first experiments.

One thread steps the job master and all slots in turn. Batches and messages are pickled as on a cluster, so that objects
that cannot be pickled fail here, too. Loop, barriers, snapshots and commits are the same code as on Spark.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar, final

from headgate.checkpoint.file_store import FileSystemStore
from headgate.clock import Clock, SystemClock
from headgate.deploy.code.local_code import LocalCode
from headgate.deploy.code.package import pack, unpack
from headgate.deploy.code.program_code import program_code
from headgate.deploy.handles.batch_job import BatchJob
from headgate.deploy.handles.handle import JobHandle
from headgate.deploy.handles.job_endpoint import endpoint_of
from headgate.deploy.handles.running_job import Order, Results, RunningJob
from headgate.deploy.job_folder import JobFolder
from headgate.deploy.local.batch import LocalBatch
from headgate.graph.job_graph import JobGraph
from headgate.ids import Launch, SlotIndex
from headgate.runtime.control.messages import FromSlot, RegisterSlot, ToSlot, process_facts
from headgate.runtime.exchange.credit import CreditWindow
from headgate.runtime.exchange.memory import MemoryExchange, Switchboard
from headgate.runtime.io import ThreadIo
from headgate.runtime.job_storage.job_storage import JobStorage
from headgate.runtime.master.job_master import JobMaster
from headgate.runtime.master.services import MasterServices
from headgate.runtime.slot.services import SlotServices
from headgate.runtime.slot.slot import Slot
from headgate.runtime.slot_storage.scratch import Scratch
from headgate.runtime.wire import Poller

IDLE_MS_MAX: Final = 1000.0


M = TypeVar("M")


def _travelled(message: M) -> M:
    """Return the copy of a message that another process would receive."""
    arrived: M = pickle.loads(pickle.dumps(message, 5))  # noqa: S301  # pickled just now
    return arrived


@final
class LocalLink:
    """The job master's connection to a slot in this process."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    def send(self, message: ToSlot) -> None:
        self._slot.receive(_travelled(message))

    def close(self) -> None:
        """Do nothing: the slot ends with its launch."""


@final
class LocalHost:
    """Runs the job master and the slots of one job on one thread. Implements `Host` and `Launcher`."""

    def __init__(self, plan: JobGraph, clock: Clock) -> None:
        self._plan = plan
        self._clock = clock
        self._package = pack(plan)
        self._code = LocalCode(program_code(plan.settings))
        self._poller = Poller(clock)
        self._io = ThreadIo(2, "headgate-io", self.wake)
        self._folder: JobFolder | None = None
        self._slots: list[Slot] = []
        self._scratch: list[Scratch] = []
        self._launch = Launch(0)
        self._ended: deque[Launch] = deque()
        self._messages: deque[tuple[Launch, FromSlot]] = deque()
        self._master: JobMaster | None = None

    def start(self, results: Results, give: Callable[[Order], None]) -> JobMaster:
        self._folder = JobFolder.of(self._plan)
        services = MasterServices(
            clock=self._clock,
            io=self._io,
            storage=JobStorage(self._folder.store, self._io, self._clock, FileSystemStore.open_folder),
            launcher=self,
            collected=results.collected,
        )
        self._master = JobMaster(self._plan, services)
        return self._master

    def folder(self) -> JobFolder:
        assert self._folder is not None
        return self._folder

    def facts(self) -> dict[str, str]:
        return {}

    def turn(self) -> None:
        assert self._master is not None
        now_ms = self._clock.monotonic_ms()
        delivered = self._io.deliver()
        wakes = [self._master.step(now_ms), *[slot.step(now_ms) for slot in self._slots]]
        while self._messages:
            self._master.receive(*self._messages.popleft())
            delivered = True
        if self._slots and all(slot.closed for slot in self._slots):
            self._ended.append(self._launch)
        while self._ended:
            self._slots = []
            self._master.launch_ended(self._ended.popleft(), None)
            delivered = True
        wait_ms = min([wake for wake in wakes if wake is not None], default=now_ms + IDLE_MS_MAX) - now_ms
        if wait_ms > 0 and not delivered:
            self._poller.poll(min(wait_ms, IDLE_MS_MAX) / 1000.0)

    def wake(self) -> None:
        self._poller.wake()

    def close(self) -> None:
        self.kill(self._launch)
        self._io.close()
        self._clear_scratch()
        self._code.close()
        self._poller.close()
        if self._folder is not None:
            self._folder.close()

    def _clear_scratch(self) -> None:
        for scratch in self._scratch:
            scratch.remove()
        self._scratch = []

    # --- launcher

    def launch(self, launch: Launch, slots: int) -> None:
        assert self._master is not None
        self._launch = launch
        self._clear_scratch()
        facts = process_facts()
        switchboard: Switchboard = {}
        window = CreditWindow.of(self._plan.settings)
        for index in range(slots):
            number = SlotIndex(index)
            services = SlotServices(
                clock=self._clock,
                io=self._io,
                store=self.folder().store,
                open_store=FileSystemStore.open_folder,
                exchange=MemoryExchange(number, switchboard, window),
                send=lambda message: self._messages.append((launch, _travelled(message))),
                scratch=Scratch.by(self._plan.settings, number),
                watch=self._poller.watch,
            )
            self._scratch.append(services.scratch)
            slot = Slot(lambda: unpack(self._package), number, services)
            self._slots.append(slot)
            registration = RegisterSlot(launch=launch, slot=number, host="", port=0, environment=facts)
            self._master.register(registration, LocalLink(slot))

    def kill(self, launch: Launch) -> None:
        for slot in self._slots:
            slot.abandon()
        if self._slots:
            self._slots = []
            self._ended.append(launch)

    def count_slots(self, held: int) -> None:
        return None


@final
class MiniCluster:
    """Runs jobs in this process.

    Select it with the key `headgate.deploy.target`:

    >>> from headgate.common import Configuration
    >>> from headgate.datastream import StreamExecutionEnvironment
    >>> conf = Configuration().set_string("headgate.deploy.target", "minicluster")
    >>> env = StreamExecutionEnvironment.get_execution_environment(conf)
    >>> with env.from_collection([1, 2, 3]).map(lambda n: n * n).execute_and_collect() as squares:
    ...     sorted(squares)
    [1, 4, 9]
    """

    def submit(self, job: JobGraph) -> JobHandle:
        """Start the job on a thread of this process. It has a REST interface if `headgate.rest.enabled` is set."""
        host = LocalHost(job, SystemClock())
        return RunningJob(job, host, endpoint_of(job.settings, default=False)).start()

    def submit_batch(self, job: JobGraph) -> JobHandle:
        """Start a batch job on a thread of this process. It has no REST interface."""
        return BatchJob(job, LocalBatch(job)).start()
