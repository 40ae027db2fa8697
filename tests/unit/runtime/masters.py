"""A job master with real slots around it, all stepped by the test in virtual time."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from headgate.checkpoint.store import MemoryStore
from headgate.clock import VirtualClock
from headgate.deploy.code.package import pack, unpack
from headgate.deploy.handles.running_job import Results
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import PlacementPolicy, as_programmed
from headgate.ids import Launch, SlotIndex
from headgate.runtime.control.messages import FromSlot, RegisterSlot, ToSlot
from headgate.runtime.exchange.credit import CreditWindow
from headgate.runtime.exchange.memory import MemoryExchange, Switchboard
from headgate.runtime.job_storage.job_storage import JobStorage
from headgate.runtime.master.job_master import JobMaster
from headgate.runtime.master.services import MasterServices, SlotCount
from headgate.runtime.monitoring.outcome import JobOutcome
from headgate.runtime.slot.services import SlotServices
from headgate.runtime.slot.slot import Slot
from headgate.runtime.slot_storage.scratch import Scratch
from tests.unit.runtime.plans import HeldIo


class Link:
    """The way to one slot; what it carries is noted."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.told: list[ToSlot] = []
        self.closed = False

    def send(self, message: ToSlot) -> None:
        self.told.append(message)
        if not self.closed:
            self.slot.receive(message)

    def close(self) -> None:
        self.closed = True


class MasterRig:
    """A master, the launcher that it orders about, and the slots of the newest launch."""

    def __init__(
        self, plan: JobGraph, store: MemoryStore | None = None, placed: PlacementPolicy = as_programmed
    ) -> None:
        self.plan = plan
        self.store = store or MemoryStore()
        self.folders: defaultdict[str, MemoryStore] = defaultdict(MemoryStore)
        self.clock = VirtualClock(1000.0)
        self.io = HeldIo()
        self.launches: list[int] = []
        self.kills: list[int] = []
        self.slots: dict[int, Slot] = {}
        self.links: dict[int, Link] = {}
        self._results = Results()
        self.most: int | None = None
        """How many slots a launch can have; None: any number."""
        self.ending = 0
        """So many of them count as taken."""
        self.unknown: Exception | None = None
        """Why they cannot be counted."""
        self.withheld: set[int] = set()
        """Slots that a launch does not bring."""
        self.facts: dict[int, dict[str, str]] = {}
        """What slots tell about their processes, by index."""
        self.deaf: set[int] = set()
        """Slots that are not stepped."""
        self._package = pack(plan)
        self._messages: deque[tuple[Launch, FromSlot]] = deque()
        services = MasterServices(
            clock=self.clock,
            io=self.io,
            storage=JobStorage(self.store, self.io, self.clock, self.folders.__getitem__),
            launcher=self,
            collected=self._results.collected,
            placed=placed,
        )
        self.master = JobMaster(plan, services)

    def collected(self) -> list[Any]:
        """What the program has got, once the job has ended."""
        self._results.end()
        return list(self._results)

    # --- launcher

    def launch(self, launch: Launch, slots: int) -> None:
        self.launches.append(launch)
        switchboard: Switchboard = {}
        self.slots = {}
        if self.most is not None and self.most < slots:
            slots = self.most
            self.master.launch_sized(launch, slots)
        for index in range(slots):
            if index not in self.withheld:
                self._host(launch, SlotIndex(index), switchboard)

    def _host(self, launch: Launch, index: SlotIndex, switchboard: Switchboard) -> None:
        services = SlotServices(
            clock=self.clock,
            io=self.io,
            store=self.store,
            open_store=self.folders.__getitem__,
            exchange=MemoryExchange(index, switchboard, CreditWindow.of(self.plan.settings)),
            send=lambda message: self._messages.append((launch, message)),
            scratch=Scratch(index),
            watch=lambda file, events, handler: None,
        )
        self.slots[index] = Slot(lambda: unpack(self._package), index, services)
        self.links[index] = Link(self.slots[index])
        facts = self.facts.get(index, {})
        message = RegisterSlot(launch=launch, slot=index, host="", port=0, environment=facts)
        self.master.register(message, self.links[index])

    def kill(self, launch: Launch) -> None:
        self.kills.append(launch)
        self.end_launch(launch)

    def count_slots(self, held: int) -> SlotCount | None:
        if self.unknown is not None:
            raise self.unknown
        if self.most is None:
            return None
        return SlotCount(now=self.most - self.ending, in_all=self.most, more="add executors or cores")

    def end_launch(self, launch: int, error: str | None = None) -> None:
        """The stage ends, slots and all."""
        for slot in self.slots.values():
            slot.abandon()
        self.slots = {}
        self.master.launch_ended(Launch(launch), error)

    # --- time

    def turn(self, with_io: bool = True) -> bool:
        """Step everybody once; return whether anything happened."""
        now_ms = self.clock.monotonic_ms()
        busy = with_io and self.io.run()
        self.master.step(now_ms)
        for index, slot in list(self.slots.items()):
            if index not in self.deaf and slot.step(now_ms) == now_ms:
                busy = True
        while self._messages:
            self.master.receive(*self._messages.popleft())
            busy = True
        if self.slots and all(slot.closed for slot in self.slots.values()):
            self.end_launch(self.launches[-1])
            busy = True
        return busy

    def run_until(self, happened: Callable[[], Any], step_ms: float = 10.0, turns: int = 5000) -> None:
        """Let time pass until something has happened."""
        for _ in range(turns):
            if happened():
                return
            if not self.turn():
                self.clock.advance(step_ms)
        raise AssertionError(f"it never happened; the job is {self.master.status}, {self.master.progress.failures}")

    def run(self) -> JobOutcome:
        """Run the job to its end."""
        self.master.submit()
        return self.end()

    def end(self) -> JobOutcome:
        self.run_until(lambda: self.master.outcome is not None)
        assert self.master.outcome is not None
        return self.master.outcome
