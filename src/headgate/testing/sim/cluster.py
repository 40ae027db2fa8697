"""The simulated cluster: processes that host slots, the driver process with the job master, and how they come and go.

As on Spark, the loss of one slot ends its launch, but the other processes of the launch live on for a while: zombies,
which go on to process, write, acknowledge and commit what they can. A slot that has lost its master ends itself, later.
"""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import Final, final

from headgate import options
from headgate.checkpoint import paths
from headgate.checkpoint.messages import SubtaskAcked, SubtaskCommitted, SubtaskDeclined
from headgate.deploy.code.package import pack, unpack
from headgate.deploy.handles.running_job import Results
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import PlacementPolicy
from headgate.ids import Launch, SlotIndex
from headgate.operators.sink import SinkOperator
from headgate.runtime.control import messages
from headgate.runtime.control.messages import FromSlot, ToSlot
from headgate.runtime.job_storage.job_storage import JobStorage
from headgate.runtime.master.job_master import JobMaster
from headgate.runtime.master.requests import SavepointRequest
from headgate.runtime.master.rescales import Bounds
from headgate.runtime.master.services import MasterServices
from headgate.runtime.master.supervision import SupervisorState
from headgate.runtime.slot.slot import Slot, SlotServices
from headgate.runtime.slot_storage.scratch import Scratch
from headgate.testing.sim.exchange import SimExchange
from headgate.testing.sim.link import Pipe
from headgate.testing.sim.process import Process
from headgate.testing.sim.storage import SimStorage, is_simulated
from headgate.testing.sim.troubles import Crawl, Troubles
from headgate.testing.sim.world import Action

CHECKPOINTS: Final = "/sim/checkpoints"
ZOMBIE_MS_MAX = 600.0
HEARTBEAT_TIMEOUT_MS = 150.0
RETURN_MS = 500.0
"""After this time the user looks whether a driver is in charge, where one has ended because another took over."""


@final
class SimSlotProcess(Process):
    """A process that hosts one slot."""

    def __init__(self, cluster: Cluster, master: MasterProcess, launch: Launch, index: SlotIndex) -> None:
        super().__init__(cluster.world, cluster.new_name("slot"))
        self.io.crash_delay_ms = 80.0
        self.index = index
        self.launch = launch
        self.master = master
        self._cluster = cluster
        self.up: Pipe[FromSlot] = Pipe(self.world, master, lambda message: master.from_slot(launch, message))
        self.down = Pipe(self.world, self, self._receive)
        self.exchange = SimExchange(self, lambda: self.slot, cluster.find_exchange)
        self.exchange.credit_batches = cluster.credit_batches
        services = SlotServices(
            clock=self.world.clock,
            io=self.io,
            store=cluster.store,
            open_store=cluster.storage.open,
            exchange=self.exchange,
            send=self._send,
            scratch=Scratch(index),
            watch=lambda file, events, handler: None,
        )
        self.slot = Slot(lambda: unpack(cluster.package), index, services)

    def step(self) -> float | None:
        now_ms = self.world.now_ms
        wake_ms = self.slot.step(now_ms)
        self._check()
        if wake_ms == now_ms and self._cluster.crawl.is_slow(self.index, now_ms):
            self.work_until(now_ms + self.world.rng.uniform(0.5, 1.5) * self._cluster.crawl.piece_ms)
        if self.slot.closed:
            self.die("it was told to end")
        return wake_ms

    def _check(self) -> None:
        execution = self.slot._execution
        if execution is None:
            return
        for subtask in execution.subtasks.values():
            subtask._barriers._strategy.check_invariants()
            for operator in subtask.operators:
                if isinstance(operator, SinkOperator):
                    operator._tracker.check_invariants()

    # --- the connection to the master

    def send(self, message: ToSlot) -> None:
        """The master's way to the slot (`SlotLink`)."""
        self._check_told(message)
        is_lost = self._is_lost(message)
        self.world.note(self.master.name, f"to {self.name}{' (lost)' if is_lost else ''}: {_brief(message)}")
        if not is_lost:
            self.down.send(message)

    def _check_told(self, message: ToSlot) -> None:
        """Slots may be told only of what is complete, whoever drives the job."""
        ledger = self._cluster.store.ledger
        if not isinstance(message, messages.CheckpointCompleted) or ledger.counts(message.checkpoint_id):
            return
        if ledger.stopped is None:
            self.world.violated(f"{self.master.name} says that checkpoint {message.checkpoint_id} is complete")

    def _is_lost(self, message: ToSlot) -> bool:
        """Checkpoints bear the loss of triggers and notifications, except that the last one must be heard of."""
        troubles = self._cluster.troubles
        match message:
            case messages.CheckpointCompleted(checkpoint_id=checkpoint_id):
                is_last = checkpoint_id in self._cluster.store.ledger.final_ids
                return not is_last and self.world.chance(troubles.lost_notification)
            case messages.CheckpointAborted():
                return self.world.chance(troubles.lost_notification)
            case messages.Trigger():
                return self.world.chance(troubles.lost_trigger)
            case _:
                return False

    def close(self) -> None:
        """The master closes the connection (`SlotLink`): what is under way may still arrive, and be too late."""
        self._lose_master()

    def break_link(self) -> None:
        """Lose the connection and everything on it. Both ends find out, one after the other."""
        self.world.note(self.name, "loses its connection to the master")
        self.up.is_open = self.down.is_open = False
        self._lose_master()
        self.report_lost(1.0, HEARTBEAT_TIMEOUT_MS)

    def report_lost(self, least_ms: float, most_ms: float) -> None:
        """Have the master find out that the slot is gone."""
        when_ms = self.world.now_ms + self.world.rng.uniform(least_ms, most_ms)
        self.master.on_loop(when_ms, lambda: self.master.lost(self))

    def _lose_master(self) -> None:
        """End, once the slot's heartbeat thread has found out that there is no master."""
        when_ms = self.world.now_ms + self.world.rng.uniform(0.5, ZOMBIE_MS_MAX)
        self.beside_loop(when_ms, lambda: self.die("it has lost its master"))

    def _receive(self, message: ToSlot) -> None:
        self.slot.receive(message)

    def _send(self, message: FromSlot) -> None:
        self._watch(message)
        arrival_ms = self.up.send(message)
        may_repeat = isinstance(message, SubtaskAcked | SubtaskCommitted | SubtaskDeclined | messages.SlotTornDown)
        if may_repeat and self.world.chance(self._cluster.troubles.repeated_message):
            again_ms = arrival_ms + self.world.rng.uniform(1.0, 600.0)
            self.master.on_loop(again_ms, lambda: self.master.from_slot(self.launch, message))

    def _watch(self, message: FromSlot) -> None:
        """Slots may only fail, or refuse a checkpoint, because of what the simulation does to them."""
        if not isinstance(message, messages.Progress):
            self.world.note(self.name, _brief(message))
        if isinstance(message, messages.TaskFailed):
            failure = message.failure
            text = failure if isinstance(failure, str) else failure.describe()
            is_ours = is_simulated(text) or self._cluster.storage.is_damage(text)
            if not (is_ours or self._misses_what_others_deleted(text)):
                self.world.violated(f"{self.name} failed without being made to: {text}")
        elif isinstance(message, SubtaskDeclined) and message.fault and not is_simulated(message.reason):
            self.world.violated(f"{self.name} declined without being made to: {message.reason}")

    def _misses_what_others_deleted(self, failure: str) -> bool:
        """Return whether the slot serves a driver that was taken over: a later one may delete what it starts from."""
        return "is missing" in failure and not self._cluster.store.ledger.owns(self.master.owner)

    def on_death(self, why: str) -> None:
        self.forget_coroutines()
        self.up.is_open = self.up.is_open and self.world.chance(0.5)  # what it has sent may arrive, or not
        self.report_lost(0.5, 20.0)
        for flow in [*self.exchange._flows.values(), *self.exchange._senders]:
            flow.close()
        self.master.process_gone(self)

    def forget_coroutines(self) -> None:
        """Cancel the coroutines of the process, which has ended."""
        self.slot._event_loop.end()


@final
class MasterProcess(Process):
    """The driver process: hosts the job master, and is its `Launcher`."""

    def __init__(self, cluster: Cluster) -> None:
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
        self.master = JobMaster(cluster.plan, services)

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
        if coordinator.in_doubt() is not None and self._cluster.on_doubt is not None:
            self._cluster.on_doubt()
        return wake_ms

    @property
    def is_superseded(self) -> bool:
        """Whether it has ended because another driver owns the job."""
        outcome = self.master.outcome
        return outcome is not None and "taken over by a later driver" in (outcome.cause or "")

    @property
    def owner(self) -> str:
        """What tells it from the other drivers of the job."""
        return self._storage.owner

    @property
    def could_not_begin(self) -> bool:
        """Whether it has ended before it had slots, because of what the simulation does to it."""
        outcome = self.master.outcome
        return outcome is not None and not self.slots and is_simulated(outcome.cause or "")

    @property
    def state(self) -> SupervisorState:
        """What the job is doing, as far as this master knows."""
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
        most = None if launch == Launch(1) else self._cluster.slots_max  # the first one gets all, or the job fails
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
        message = messages.RegisterSlot(launch=launch, slot=index, host=process.name, port=0)

        def register() -> None:
            if process.up.is_open:
                self.world.note(self.name, f"{process.name} registers as slot {index} of launch {launch}")
                self.master.register(message, process)
                self.wake()

        self.on_loop(self.world.now_ms + self.world.rng.uniform(0.5, 10.0), register)

    def kill(self, launch: Launch) -> None:
        self.world.note(self.name, f"kills launch {launch}")
        self._end_launch(launch, "killed")

    def slots_max(self, held: int) -> int | None:
        return self._cluster.slots_max

    def process_gone(self, process: SimSlotProcess) -> None:
        """The end of one process ends its launch; the cluster needs a while to notice, and longer to kill the rest."""
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


@final
class Cluster:
    """All processes of one simulation."""

    def __init__(self, storage: SimStorage, plan: JobGraph, placed: PlacementPolicy) -> None:
        self.world = storage.world
        self.storage = storage
        self.store = storage.open(paths.job_folder(CHECKPOINTS, plan.job_id))
        self.plan = plan
        self.placed = placed
        self.package = pack(plan)
        self.credit_batches = plan.settings.get(options.CREDIT_BATCHES)
        self.processes: list[SimSlotProcess] = []
        self.masters: list[MasterProcess] = []
        self.troubles = Troubles()
        self.crawl = Crawl()
        self.was_cancelled = False
        self.rescales = 0
        """How many have come about."""
        self.slots_max: int | None = None
        """How many slots a launch can have; None: any number."""
        self.is_lost = False
        """Whether the program is not started again."""
        self.over = False
        self.on_doubt: Action | None = None
        """Called when the writing of a manifest has begun."""
        self.results = Results()
        """What has reached the program that runs now."""
        self._names: dict[str, int] = {}

    @property
    def master(self) -> MasterProcess:
        """The newest driver process that is alive and has not been taken over, if any is."""
        return (self._in_charge() or self.masters)[-1]

    def _in_charge(self) -> list[MasterProcess]:
        return [each for each in self.masters if each.alive and not each.is_superseded]

    def start_master(self) -> None:
        """Start the program: a driver process that submits the job."""
        if self.is_lost or self.over:
            return
        self.results = Results()
        process = MasterProcess(self)
        self.world.note(process.name, "starts")
        self.masters.append(process)
        process.master.submit()
        process.wake()

    def start_again(self) -> None:
        """Start the program if no driver is in charge: the one that took over has died."""
        if not self._in_charge():
            self.start_master()

    def cancel(self) -> None:
        """Cancel the job, if there is a driver to be told."""
        for master in self.masters:
            if master.alive:
                self.was_cancelled = True
                master.master.cancel()
                master.wake()

    def take_savepoint(self, request: SavepointRequest) -> Future[str] | None:
        """Ask the newest driver that has not ended for a savepoint, if any; return where its answer will be."""
        running = [each for each in self.masters if each.alive and each.master.outcome is None]
        if not running:
            return None
        master, answer = running[-1], Future[str]()
        self.world.note("user", f"asks {master.name} for {request}")
        master.master.take_savepoint(request, answer)
        master.wake()
        answer.add_done_callback(self._note_answer)
        return answer

    def have_slots(self, most: int | None) -> None:
        """Let launches have so many slots from now on."""
        if not self.over:
            self.world.note("cluster", f"has {'any number of' if most is None else most} slots")
            self.slots_max = most

    def rescale(self, bounds: Bounds) -> None:
        """Ask the newest driver that has not ended for another parallelism, if there is one."""
        running = [each for each in self.masters if each.alive and each.master.outcome is None]
        if running:
            master, answer = running[-1], Future[str]()
            self.world.note("user", f"asks {master.name} for parallelism {dict(bounds)}")
            answer.add_done_callback(self._note_rescaled)
            master.master.rescale(bounds, answer)
            master.wake()

    def _note_rescaled(self, answer: Future[str]) -> None:
        self.rescales += answer.exception() is None
        self._note_answer(answer)

    def _note_answer(self, answer: Future[str]) -> None:
        self.world.note("user", f"is told: {answer.exception() or answer.result()}")

    def lose_power(self) -> None:
        """End all processes, as their machines lose power, and storage with them."""
        for process in (*self.masters, *self.processes):
            process.lose_power()
        self.storage.lose_power()

    def lose_driver(self) -> None:
        """End the driver for good."""
        self.is_lost = True
        for master in self.masters:
            master.die("it is lost for good")

    def is_over(self) -> bool:
        """Return whether the job has ended; if it could only not begin, the program is started again."""
        self.over = self.is_lost or self._has_ended()
        return self.over

    def _has_ended(self) -> bool:
        alive = self._in_charge()
        if not alive or any(each.master.outcome is None for each in alive):
            return False
        refused = [master for master in alive if self._was_refused(master)]
        if refused:
            self.storage.mend()
        for master in alive:
            if master.could_not_begin or master in refused:
                master.die("the job could not begin")
                self.world.after(1.0, 300.0, self.start_master)
        return any(each.alive for each in alive)

    def _was_refused(self, master: MasterProcess) -> bool:
        """Return whether the job could not go on from a file that is damaged, and said which."""
        outcome = master.master.outcome
        return outcome is not None and self.storage.is_damage(outcome.cause or "")

    def close(self) -> None:
        """End whatever still runs: the simulation is over."""
        for process in (*self.masters, *self.processes):
            process.io.close()
        for slot in self.processes:
            slot.forget_coroutines()

    def new_name(self, kind: str) -> str:
        """Return a name that no other process has."""
        self._names[kind] = self._names.get(kind, 0) + 1
        return f"{kind}{self._names[kind]}"

    def find_exchange(self, address: str) -> SimExchange | None:
        """Return the exchange of the process of that name, None when it is gone."""
        return next((each.exchange for each in self.processes if each.name == address and each.alive), None)

    def live_slots(self) -> list[SimSlotProcess]:
        """Return the processes of the newest master that run and host a slot of its newest launch."""
        launches = self.master.slots
        return [each for each in launches[max(launches)] if each.alive] if launches else []


def _brief(message: object) -> str:
    """Return a message as one short line: its type and its numbers."""
    parts = [type(message).__name__]
    for name in ("attempt", "checkpoint_id", "subtask", "slot", "reason"):
        value = getattr(message, name, None)
        if value is not None:
            parts.append(f"{name}={value}")
    return " ".join(parts)
