"""A simulated process that hosts one slot, and its connection to the driver.

The loss of one slot ends its launch, but the other processes of the launch live on for a while: zombies, which still
process, write, acknowledge and commit what they can. A slot that has lost its master ends itself, later.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, TypeVar, final

from headgate.checkpoint.messages import SubtaskAcked, SubtaskCommitted, SubtaskDeclined
from headgate.deploy.code.package import unpack
from headgate.ids import Launch, SlotIndex
from headgate.operators.sink import SinkOperator
from headgate.runtime.control import messages
from headgate.runtime.control.messages import FromSlot, ToSlot
from headgate.runtime.slot.services import SlotServices
from headgate.runtime.slot.slot import Slot
from headgate.runtime.slot_storage.scratch import Scratch
from headgate.testing.sim.exchange import SimExchange
from headgate.testing.sim.process import Process
from headgate.testing.sim.storage import is_simulated
from headgate.testing.sim.world import World

if TYPE_CHECKING:
    from headgate.testing.sim.cluster import SimCluster
    from headgate.testing.sim.master_process import MasterProcess


M = TypeVar("M")

HOP_MS: Final = (0.05, 4.0)
SLOW_HOP_MS: Final = (10.0, 150.0)


@final
class Pipe(Generic[M]):
    """One direction of a connection."""

    def __init__(self, world: World, receiver: Process, deliver: Callable[[M], None]) -> None:
        self.is_open = True
        self._world = world
        self._receiver = receiver
        self._deliver = deliver
        self._arrival_ms = 0.0

    def send(self, message: M) -> float:
        """Have the message arrive, some time after all messages sent before; it is lost if the pipe breaks first.

        Return its time of arrival.
        """
        rng = self._world.rng
        hop_ms = rng.uniform(*(SLOW_HOP_MS if rng.random() < self._world.slow_hops else HOP_MS))
        self._arrival_ms = max(self._arrival_ms, self._world.now_ms + hop_ms)
        data = pickle.dumps(message, 5)
        self._receiver.on_loop(self._arrival_ms, lambda: self._arrive(data))
        return self._arrival_ms

    def stall(self, duration_ms: float) -> None:
        """Delay all messages sent from now on."""
        self._arrival_ms = max(self._arrival_ms, self._world.now_ms + duration_ms)

    def _arrive(self, data: bytes) -> None:
        if self.is_open:
            self._deliver(pickle.loads(data))  # noqa: S301  # pickled when it was sent
            self._receiver.wake()


ZOMBIE_MS_MAX: Final = 600.0
HEARTBEAT_TIMEOUT_MS: Final = 150.0


@final
class SimSlotProcess(Process):
    """A process that hosts one slot."""

    def __init__(self, cluster: SimCluster, master: MasterProcess, launch: Launch, index: SlotIndex) -> None:
        super().__init__(cluster.world, cluster.new_name("slot"))
        self.io.crash_delay_ms = 80.0
        self.index = index
        self.launch = launch
        self.master = master
        self._cluster = cluster
        self.up: Pipe[FromSlot] = Pipe(self.world, master, lambda message: master.from_slot(launch, message))
        self.down = Pipe(self.world, self, self._receive)
        self.exchange = SimExchange(self, lambda: self.slot, cluster.find_exchange, cluster.credit)
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
        """Send a message of the master to the slot (`SlotLink`)."""
        self._check_told(message)
        is_lost = self._is_lost(message)
        self.world.note(self.master.name, f"to {self.name}{' (lost)' if is_lost else ''}: {_brief(message)}")
        if not is_lost:
            self.down.send(message)

    def _check_told(self, message: ToSlot) -> None:
        """Check that slots are notified only of checkpoints that are complete, whichever driver sends this."""
        ledger = self._cluster.store.ledger
        if not isinstance(message, messages.CheckpointCompleted) or ledger.counts(message.checkpoint_id):
            return
        if ledger.stopped is None:
            self.world.violated(f"{self.master.name} says that checkpoint {message.checkpoint_id} is complete")

    def _is_lost(self, message: ToSlot) -> bool:
        """Return whether a message is lost. Jobs survive lost triggers and notifications, but for the last one."""
        troubles = self._cluster.troubles
        match message:
            case messages.CheckpointCompleted(checkpoint_id=checkpoint_id):
                is_last = checkpoint_id in self._cluster.store.ledger.final_ids
                return not is_last and self.world.chance(troubles.lost_notification)
            case messages.CheckpointAborted():
                return self.world.chance(troubles.lost_notification)
            case messages.InjectBarrier():
                return self.world.chance(troubles.lost_trigger)
            case _:
                return False

    def close(self) -> None:
        """Close the connection from the master's side (`SlotLink`): messages in transit may still arrive, too late."""
        self._lose_master()

    def break_link(self) -> None:
        """Lose the connection and all messages on it. Both ends notice, one after the other."""
        self.world.note(self.name, "loses its connection to the master")
        self.up.is_open = self.down.is_open = False
        self._lose_master()
        self.report_lost(1.0, HEARTBEAT_TIMEOUT_MS)

    def report_lost(self, least_ms: float, most_ms: float) -> None:
        """Have the master notice that the slot is gone."""
        when_ms = self.world.now_ms + self.world.rng.uniform(least_ms, most_ms)
        self.master.on_loop(when_ms, lambda: self.master.lost(self))

    def _lose_master(self) -> None:
        """End the process once the slot's heartbeat thread notices that the master is gone."""
        when_ms = self.world.now_ms + self.world.rng.uniform(0.5, ZOMBIE_MS_MAX)
        self.on_io_thread(when_ms, lambda: self.die("it has lost its master"))

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
        """Check that the slot fails, or declines a checkpoint, only because of a simulated fault."""
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
        """Return whether the slot serves a superseded driver: a later driver may delete files that the slot needs."""
        return "is missing" in failure and not self._cluster.store.ledger.owns(self.master.owner)

    def on_death(self, why: str) -> None:
        self.forget_coroutines()
        self.up.is_open = self.up.is_open and self.world.chance(0.5)  # messages that it has sent may arrive or not
        self.report_lost(0.5, 20.0)
        for flow in [*self.exchange._flows.values(), *self.exchange._senders]:
            flow.close()
        self.master.process_gone(self)

    def forget_coroutines(self) -> None:
        """Cancel the coroutines of the process, which has ended."""
        self.slot._event_loop.end()


def _brief(message: object) -> str:
    """Return a message as one short line: its type and its numbers."""
    parts = [type(message).__name__]
    for name in ("attempt", "checkpoint_id", "subtask", "slot", "reason"):
        value = getattr(message, name, None)
        if value is not None:
            parts.append(f"{name}={value}")
    return " ".join(parts)
