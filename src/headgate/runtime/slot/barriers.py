"""Barriers: performs what a subtask's alignment strategy decides, and measures the alignment.

Announced barriers and timeouts are handled between two pieces of work, also when the outputs have no room. Work that
waits in the chain at that time, such as a watermark with timers left to fire, is part of the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, final

from headgate.checkpoint.alignment.strategy import (
    AbortAlignment,
    AlignmentEffect,
    AlignmentEvent,
    AlignmentStrategy,
    BarrierAnnounced,
    BarrierReceived,
    BlockChannel,
    CancelReceived,
    CheckpointGivenUp,
    CompleteInFlight,
    DeclineCheckpoint,
    ForwardCancel,
    RecordChannel,
    StopRecording,
    TakeSnapshot,
    TimePassed,
    UnblockChannels,
)
from headgate.clock import Clock
from headgate.dataflow.chain import WAITING_STATE, Chain, waiting_lists
from headgate.dataflow.channel import ChannelAddress, InputChannel
from headgate.elements import Barrier, Batch, CancelBarrier
from headgate.errors import InternalError
from headgate.ids import CheckpointId, SubtaskId
from headgate.operators.base import Operator, OperatorSnapshot
from headgate.operators.pending import PENDING_STATE
from headgate.runtime.slot_storage.in_flight import SENDER, Gathering, Side, adder
from headgate.runtime.slot_storage.upload import TakenSnapshot

Process = Callable[[Batch], None]
PartialBatch = tuple[int, int, Batch, Process]
"""A batch that is partly processed: its channel's index, its first unprocessed record, and the function for it."""


class BarriersHost(Protocol):
    """The slot, as the barriers of a subtask see it."""

    @property
    def clock(self) -> Clock:
        """The injected clock."""
        ...

    def snapshot_taken(self, snapshot: TakenSnapshot) -> None:
        """Continue with the asynchronous part of a snapshot: its synchronous part is done."""
        ...

    def declined(self, subtask: SubtaskId, checkpoint_id: CheckpointId, reason: str, *, fault: bool = True) -> None:
        """Decline the checkpoint for the subtask."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Inputs:
    """The input channels of a subtask. Barriers may overtake batches on the `overtakable` channels, by index.

    `in_flight_bytes_max` limits the data in flight of one snapshot.
    """

    channels: list[InputChannel]
    overtakable: dict[int, ChannelAddress]
    in_flight_bytes_max: int


@final
@dataclass(frozen=True, slots=True)
class _First:
    """The arrival of a checkpoint's first barrier.

    `delay_ms` is the time since the trigger, `at_ms` the arrival on the monotonic clock, `read_bytes` the bytes read
    from all channels until then.
    """

    delay_ms: float
    at_ms: float
    read_bytes: int


@final
class Barriers:
    """The barriers of one subtask. Owned by the slot's loop; no method blocks."""

    def __init__(
        self, subtask: SubtaskId, inputs: Inputs, chain: Chain, strategy: AlignmentStrategy, host: BarriersHost
    ) -> None:
        self.announced: list[tuple[int, Barrier]] = []
        """Unhandled barriers that have arrived behind unread elements, each with its channel's index."""
        self.due_ms: float | None = None
        """When to call `attend` at the latest, on the monotonic clock; None for no need."""
        self.stopped = False
        """Whether a barrier has passed after which the subtask emits nothing."""
        self.newest_taken = CheckpointId(0)
        """The newest checkpoint for which this subtask has taken its snapshot."""
        self._subtask = subtask
        self._channels = inputs.channels
        self._overtakable = inputs.overtakable
        self._bytes_max = inputs.in_flight_bytes_max
        self._chain = chain
        self._strategy = strategy
        self._host = host
        self._clock = host.clock
        self._firsts: dict[CheckpointId, _First] = {}
        self._gathered: TakenSnapshot | None = None
        self._rest: PartialBatch | None = None

    def listen(self) -> None:
        """Have the overtakable channels announce their barriers."""
        for index in self._overtakable:
            self._channels[index].on_barrier(partial(self._announce, index))

    def _announce(self, index: int, barrier: Barrier) -> None:
        self.announced.append((index, barrier))

    # --- events

    def attend(self, rest: PartialBatch | None) -> bool:
        """Handle announced barriers and a timeout that is due; return whether there was anything to handle.

        `rest` is the batch that is partly processed. Called before each piece of work while `due_ms` is set.
        """
        self._rest = rest
        announced, self.announced = self.announced, []
        for index, barrier in announced:
            self._note_first(barrier)
            self._handle(BarrierAnnounced(channel=index, barrier=barrier))
        is_due = self.due_ms is not None and self._clock.monotonic_ms() >= self.due_ms
        if is_due and self._strategy.due_ms is not None:
            self._handle(TimePassed(now_ms=self._strategy.due_ms))
        self._rest = None
        return bool(announced) or is_due

    def received(self, index: int, barrier: Barrier) -> None:
        """Handle a barrier that was read from a channel, or, at a source, the trigger of a checkpoint."""
        self._note_first(barrier)
        self._handle(BarrierReceived(channel=index, barrier=barrier))

    def cancelled(self, index: int, checkpoint_id: CheckpointId) -> None:
        """Handle a cancel barrier that was read from a channel."""
        self._handle(CancelReceived(channel=index, checkpoint_id=checkpoint_id))

    def aborted(self, checkpoint_id: CheckpointId) -> None:
        """Handle the order of the job master that gives a checkpoint up."""
        self._handle(CheckpointGivenUp(checkpoint_id=checkpoint_id))

    def _note_first(self, barrier: Barrier) -> None:
        if barrier.checkpoint_id not in self._firsts:
            delay_ms = max(0.0, self._clock.wall_ms() - barrier.trigger_ms)
            self._firsts[barrier.checkpoint_id] = _First(delay_ms, self._clock.monotonic_ms(), self._read_bytes())

    def _read_bytes(self) -> int:
        return sum(channel.read_bytes for channel in self._channels)

    # --- effects

    def _handle(self, event: AlignmentEvent) -> None:
        for effect in self._strategy.handle(event):
            self._perform(effect)
        due_ms = self._strategy.due_ms
        self.due_ms = None if due_ms is None else self._clock.monotonic_ms() + due_ms - self._clock.wall_ms()

    def _perform(self, effect: AlignmentEffect) -> None:
        match effect:
            case BlockChannel():
                if self._channels:
                    self._channels[effect.channel].blocked = True
            case UnblockChannels():
                for channel in self._channels:
                    channel.blocked = False
            case TakeSnapshot():
                self._take_snapshot(effect)
            case RecordChannel():
                self._record(effect.channel)
            case StopRecording():
                self._channels[effect.channel].stop_recording()
            case CompleteInFlight():
                self._complete()
            case ForwardCancel():
                self._chain.broadcast(CancelBarrier(effect.checkpoint_id))
            case DeclineCheckpoint():
                self._host.declined(self._subtask, effect.checkpoint_id, effect.reason, fault=False)
            case AbortAlignment():
                self._forget(effect.checkpoint_id)

    def _take_snapshot(self, effect: TakeSnapshot) -> None:
        """Forward the barrier, then take the snapshots of all operators. Only this part stops the loop."""
        barrier = effect.barrier
        self.newest_taken = barrier.checkpoint_id
        began_ms = self._clock.monotonic_ms()
        in_flight = self._overtake(barrier) if effect.unaligned else None
        if in_flight is None:
            self._chain.broadcast(barrier)
        parts: list[tuple[Operator, OperatorSnapshot]] = []
        waiting = waiting_lists(self._chain.waiting, self._chain.operators[0].context.parallelism)
        for index, operator in reversed(list(enumerate(self._chain.operators))):
            self._chain.current = operator
            part = operator.snapshot(barrier)
            if index in waiting:
                part = replace(part, lists={**part.lists, WAITING_STATE: waiting[index]})
            parts.append((operator, part))
        now_ms = self._clock.monotonic_ms()
        first = self._firsts[barrier.checkpoint_id]
        snapshot = TakenSnapshot(
            subtask=self._subtask,
            barrier=barrier,
            parts=parts,
            sync_ms=now_ms - began_ms,
            alignment_ms=began_ms - first.at_ms,
            start_delay_ms=first.delay_ms,
            processed_bytes=self._read_bytes() - first.read_bytes,
            pending=sum(len(part.lists[PENDING_STATE].elements) for _, part in parts if PENDING_STATE in part.lists),
            in_flight=in_flight,
            async_since_ms=now_ms,
        )
        if in_flight is None:
            self._forget_firsts(barrier.checkpoint_id)
        else:
            self._gathered = snapshot
        if barrier.savepoint is not None and barrier.savepoint.stops:
            self.stopped = True
            self._chain.waiting.clear()  # the savepoint contains this work
        self._host.snapshot_taken(snapshot)

    def _overtake(self, barrier: Barrier) -> Gathering:
        gathering = Gathering(barrier.checkpoint_id, self._bytes_max)
        for address, payloads in self._chain.overtake(barrier):
            for payload in payloads:
                gathering.add(Side(address, SENDER), payload)
        return gathering

    def _record(self, index: int) -> None:
        snapshot = self._gathered
        if snapshot is None or snapshot.in_flight is None:
            raise InternalError(f"subtask {self._subtask} is to record channel {index} without an unaligned snapshot")
        began_ms = self._clock.monotonic_ms()
        take = adder(snapshot.in_flight, self._overtakable[index])
        if self._rest is not None and self._rest[0] == index:
            _, start, batch, _ = self._rest
            take(batch.piece(start, len(batch)))
        self._channels[index].record(snapshot.barrier.checkpoint_id, take)
        snapshot.async_since_ms = self._clock.monotonic_ms()
        snapshot.sync_ms += snapshot.async_since_ms - began_ms  # waiting batches are pickled at once: the loop stops

    def _complete(self) -> None:
        snapshot, self._gathered = self._gathered, None
        if snapshot is None or snapshot.in_flight is None:
            raise InternalError(f"subtask {self._subtask} has gathered data in flight without an unaligned snapshot")
        first = self._firsts[snapshot.barrier.checkpoint_id]
        snapshot.alignment_ms = self._clock.monotonic_ms() - first.at_ms
        snapshot.processed_bytes = self._read_bytes() - first.read_bytes
        self._forget_firsts(snapshot.barrier.checkpoint_id)
        snapshot.in_flight.complete()

    def _forget(self, checkpoint_id: CheckpointId) -> None:
        self._firsts.pop(checkpoint_id, None)
        snapshot = self._gathered
        if snapshot is not None and snapshot.in_flight is not None and snapshot.barrier.checkpoint_id == checkpoint_id:
            self._gathered = None
            for channel in self._channels:
                channel.stop_recording()
            snapshot.in_flight.drop()

    def _forget_firsts(self, checkpoint_id: CheckpointId) -> None:
        """Drop the measurements of this checkpoint and of all earlier checkpoints, which are over."""
        self._firsts = {later: first for later, first in self._firsts.items() if later > checkpoint_id}
