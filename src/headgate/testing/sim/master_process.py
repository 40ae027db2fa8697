"""The simulated driver process: it hosts the job master, and launches slots for it.

As on Spark, the loss of one slot ends its launch.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, final

from headgate import native, options
from headgate.ids import Launch, SlotIndex, new_lineage
from headgate.runtime.control import messages
from headgate.runtime.control.messages import FromSlot
from headgate.runtime.job_storage.job_storage import JobStorage
from headgate.runtime.master.job_master import JobMaster
from headgate.runtime.master.services import MasterServices, SlotCount
from headgate.runtime.master.supervisor_vocabulary import SupervisorState
from headgate.testing.sim.process import Process
from headgate.testing.sim.slot_process import ZOMBIE_MS_MAX, SimSlotProcess
from headgate.testing.sim.storage import is_simulated

if TYPE_CHECKING:
    from headgate.testing.sim.cluster import SimCluster

RETURN_MS: Final = 500.0
"""Milliseconds after the end of a superseded driver at which the user checks whether a driver is in charge."""


@final
class MasterProcess(Process):
    """The driver process: hosts the job master, and is its `Launcher`."""

    def __init__(self, cluster: SimCluster) -> None:
        super().__init__(cluster.world, cluster.new_name("master"))
        self.io.crash_delay_ms = 250.0
        self._cluster = cluster
        self.slots: dict[Launch, list[SimSlotProcess]] = {}
        self._ended: set[Launch] = set()
        self._storage = JobStorage(cluster.store, self.io, self.world.clock, cluster.storage.open, self._nonce)
        services = MasterServices(
            clock=self.world.clock,
            io=self.io,
            storage=self._storage,
            launcher=self,
            collected=cluster.results.collected,
            placed=cluster.placed,
        )
        lineage = new_lineage(random.Random(f"{cluster.store.location} {self.name}"), int(self.world.now_ms))
        self.master = JobMaster(replace(cluster.plan, lineage=lineage), services)

    def _nonce(self) -> str:
        return f"{self.world.rng.getrandbits(16):04x}"

    def step(self) -> float | None:
        wake_ms = self.master.step(self.world.now_ms)
        if self.is_superseded:
            self.die("another driver has taken over the job")
            self.world.at(self.world.now_ms + RETURN_MS, self._cluster.start_again)
            return None
        self.master._supervisor.check_invariants()
        coordinator = self.master._checkpoints._coordinator
        coordinator.check_invariants()
        if coordinator.gate.in_doubt is not None and self._cluster.on_doubt is not None:
            self._cluster.on_doubt()
        return wake_ms

    @property
    def is_superseded(self) -> bool:
        """Whether this driver has ended because another driver owns the job."""
        outcome = self.master.outcome
        return outcome is not None and "taken over by a later driver" in (outcome.cause or "")

    @property
    def owner(self) -> str:
        """The text that identifies this driver among the drivers of the job."""
        return self._storage.owner

    @property
    def could_not_begin(self) -> bool:
        """Whether this driver has ended before it had slots, because of a simulated fault."""
        outcome = self.master.outcome
        return outcome is not None and not self.slots and is_simulated(outcome.cause or "")

    @property
    def state(self) -> SupervisorState:
        """The state of the job, as this master sees it."""
        return self.master._supervisor.state

    def from_slot(self, launch: Launch, message: FromSlot) -> None:
        """Take a message of a slot."""
        self.master.receive(launch, message)
        self.wake()

    def lost(self, slot: SimSlotProcess) -> None:
        """A slot's connection has ended."""
        self.master.slot_lost(slot.launch, slot.index, f"simulated end of {slot.name}")
        self.wake()

    # --- launcher

    def launch(self, launch: Launch, slots: int) -> None:
        self.world.note(self.name, f"launch {launch}")
        self.slots[launch] = []
        most = None if launch == Launch(1) else self._cluster.slots_max  # the first gets all slots, or the job fails
        if most is not None and most < slots:
            self.world.note(self.name, f"there are {most} slots only")
            if not options.is_adaptive(self._cluster.plan.settings) or not most:
                self._end_launch(launch, "there are too few slots")
                return
            self.on_loop(self.world.now_ms, partial(self.master.launch_sized, launch, most))
            slots = most
        for index in range(slots):
            when_ms = self.world.now_ms + self.world.rng.uniform(1.0, 25.0)
            self.on_loop(when_ms, partial(self._start, launch, SlotIndex(index)))

    def _start(self, launch: Launch, index: SlotIndex) -> None:
        if launch in self._ended:
            return
        process = SimSlotProcess(self._cluster, self, launch, index)
        self._cluster.processes.append(process)
        self.slots[launch].append(process)
        facts = {"native": native.describe()}
        message = messages.RegisterSlot(launch=launch, slot=index, host=process.name, port=0, environment=facts)

        def register() -> None:
            if process.up.is_open:
                self.world.note(self.name, f"{process.name} registers as slot {index} of launch {launch}")
                self.master.register(message, process)
                self.wake()

        self.on_loop(self.world.now_ms + self.world.rng.uniform(0.5, 10.0), register)

    def kill(self, launch: Launch) -> None:
        self.world.note(self.name, f"kills launch {launch}")
        self._end_launch(launch, "killed")

    def count_slots(self, held: int) -> SlotCount | None:
        most = self._cluster.slots_max
        if most is None:
            return None
        busy = len([process for process in self._cluster.processes if process.alive])
        return SlotCount(now=most - max(0, busy - held), in_all=most, more="have more slots")

    def process_gone(self, process: SimSlotProcess) -> None:
        """End the launch of an ended process. The cluster notices later, and kills the other processes even later."""
        others = [other for other in self.slots[process.launch] if other.alive]
        was_told = process.slot.closed
        if self.alive and not (others and was_told):
            self._end_launch(process.launch, None if was_told else f"simulated loss of {process.name}")

    def _end_launch(self, launch: Launch, error: str | None) -> None:
        for process in self.slots[launch]:
            if process.alive:
                self.world.after(1.0, ZOMBIE_MS_MAX, partial(process.die, "its launch is over"))
        if launch in self._ended:
            return
        self._ended.add(launch)

        def ended() -> None:
            self.master.launch_ended(launch, error)
            self.wake()

        self.on_loop(self.world.now_ms + self.world.rng.uniform(0.5, 120.0), ended)

    def on_death(self, why: str) -> None:
        for processes in self.slots.values():
            for process in processes:
                process.close()
