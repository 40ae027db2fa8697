"""The simulated cluster: all processes of one simulation, their starts and ends, and the requests of users."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, final

from headgate.checkpoint import paths
from headgate.deploy.code.package import pack
from headgate.deploy.handles.running_job import Results
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import PlacementPolicy
from headgate.ids import SlotIndex
from headgate.operators.samples import Sample
from headgate.runtime.exchange.credit import CreditWindow
from headgate.runtime.master.requests import SavepointRequest
from headgate.runtime.master.rescales import Bounds
from headgate.testing.sim.exchange import SimExchange
from headgate.testing.sim.master_process import MasterProcess
from headgate.testing.sim.slot_process import SimSlotProcess
from headgate.testing.sim.storage import SimStorage
from headgate.testing.sim.world import Action

CHECKPOINTS: Final = "/sim/checkpoints"
ELSEWHERE: Final = "/sim/elsewhere"
"""Other storage, for a job id that has run before."""


@final
@dataclass(slots=True)
class Troubles:
    """The probabilities of small troubles, until the faults stop."""

    repeated_message: float = 0.0
    lost_notification: float = 0.0
    lost_trigger: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Crawl:
    """Slots that are slow for a while, so that batches queue up in front of them."""

    slots: frozenset[SlotIndex] = frozenset()
    piece_ms: float = 0.0
    until_ms: float = 0.0

    def is_slow(self, slot: SlotIndex, now_ms: float) -> bool:
        """Return whether the slot is slow now."""
        return now_ms < self.until_ms and slot in self.slots


@final
class SimCluster:
    """All processes of one simulation."""

    def __init__(
        self, storage: SimStorage, plan: JobGraph, placed: PlacementPolicy, checkpoints: str = CHECKPOINTS
    ) -> None:
        self.world = storage.world
        self.storage = storage
        self.store = storage.open(paths.job_folder(checkpoints, plan.job_id))
        self.plan = plan
        self.placed = placed
        self.package = pack(plan)
        self.credit = CreditWindow.of(plan.settings)
        self.processes: list[SimSlotProcess] = []
        self.masters: list[MasterProcess] = []
        self.troubles = Troubles()
        self.crawl = Crawl()
        self.was_cancelled = False
        self.rescales = 0
        """Number of rescales that have succeeded."""
        self.slots_max: int | None = None
        """Maximum number of slots of a launch; None: any number."""
        self.is_lost = False
        """Whether the driver is lost for good, so that the program is not started again."""
        self.over = False
        self.on_doubt: Action | None = None
        """Called when a driver begins to write a manifest."""
        self.results = Results()
        """The results that the running program has received."""
        self._names: dict[str, int] = {}

    @property
    def master(self) -> MasterProcess:
        """The newest driver process that is alive and in charge; without one, the newest of all."""
        return (self._in_charge() or self.masters)[-1]

    def _in_charge(self) -> list[MasterProcess]:
        return [each for each in self.masters if each.alive and not each.is_superseded]

    @property
    def has_begun_again(self) -> bool:
        """Whether the job has restarted: after a failure, for a rescale or a failed one, or under another driver."""
        return len(self.masters) > 1 or self.master.master.progress.attempt > 1

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
        """Start the program again if no driver is in charge, because the driver that took over has died."""
        if not self._in_charge():
            self.start_master()

    def cancel(self) -> None:
        """Cancel the job, if a driver is alive."""
        for master in self.masters:
            if master.alive:
                self.was_cancelled = True
                master.master.cancel()
                master.wake()

    def take_savepoint(self, request: SavepointRequest) -> Future[str] | None:
        """Ask the newest driver that has not ended for a savepoint; return the future answer, None without a driver."""
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
        """Limit the slots of launches from now on; None: no limit."""
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

    def look_at(self, uid: str, for_ms: float) -> None:
        """Watch the output of an operator for a time, as the newest driver shows it."""
        running = [each for each in self.masters if each.alive and each.master.outcome is None]
        if running:
            master = running[-1]

            def see(samples: list[Sample]) -> None:
                self.world.note("user", f"sees {len(samples)} records of {uid}")

            def look_away() -> None:
                if master.alive:
                    master.master.untap(uid, see)

            master.master.tap(uid, see)
            master.wake()
            self.world.at(self.world.now_ms + for_ms, look_away)

    def _note_rescaled(self, answer: Future[str]) -> None:
        self.rescales += answer.exception() is None
        self._note_answer(answer)

    def _note_answer(self, answer: Future[str]) -> None:
        self.world.note("user", f"is told: {answer.exception() or answer.result()}")

    def lose_power(self) -> None:
        """End all processes, as their machines and the storage lose power."""
        for process in (*self.masters, *self.processes):
            process.lose_power()
        self.storage.lose_power()

    def lose_driver(self) -> None:
        """End the driver for good."""
        self.is_lost = True
        for master in self.masters:
            master.die("it is lost for good")

    def is_over(self) -> bool:
        """Return whether the job has ended; start the program again if the job merely could not begin."""
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
        """Return whether the job failed on a damaged file and named the file."""
        outcome = master.master.outcome
        return outcome is not None and self.storage.is_damage(outcome.cause or "")

    def close(self) -> None:
        """End all processes: the simulation is over."""
        for process in (*self.masters, *self.processes):
            process.io.close()
        for slot in self.processes:
            slot.forget_coroutines()

    def new_name(self, kind: str) -> str:
        """Return a new, unique name for a process."""
        self._names[kind] = self._names.get(kind, 0) + 1
        return f"{kind}{self._names[kind]}"

    def find_exchange(self, address: str) -> SimExchange | None:
        """Return the exchange of the process of that name, None when the process is gone."""
        return next((each.exchange for each in self.processes if each.name == address and each.alive), None)

    def live_slots(self) -> list[SimSlotProcess]:
        """Return the processes of the newest master that run and host a slot of its newest launch."""
        launches = self.master.slots
        return [each for each in launches[max(launches)] if each.alive] if launches else []
