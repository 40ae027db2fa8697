"""Subtask: one parallel instance of a chain of operators, with its input and output channels.

A subtask does one bounded piece of work at a time, when the slot's loop tells it to: some records of a batch, one
control element, or one poll of its source. It begins a piece only when all its outputs have room.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, final

from headgate.checkpoint.alignment import (
    AbortAlignment,
    AlignmentEffect,
    AlignmentEvent,
    BarrierAligner,
    BarrierReceived,
    BlockChannel,
    CancelReceived,
    CheckpointAborted,
    DeclineCheckpoint,
    ForwardCancel,
    TakeSnapshot,
    UnblockChannels,
)
from headgate.clock import Clock
from headgate.elements import Barrier, Batch, CancelBarrier, Control, EndOfData
from headgate.errors import InternalError
from headgate.functions.source import EndOfInput, NotReady
from headgate.ids import CheckpointId, SubtaskId
from headgate.operators.base import Operator, OperatorSnapshot
from headgate.operators.source import SourceOperator
from headgate.runtime.channel import InputChannel
from headgate.runtime.output import Output
from headgate.runtime.pace import Pace


@final
@dataclass(slots=True, kw_only=True)
class TakenSnapshot:
    """The synchronous part of a subtask's snapshot is done; what remains is to walk keyed state and to write."""

    subtask: SubtaskId
    barrier: Barrier
    parts: list[tuple[Operator, OperatorSnapshot]]
    sync_ms: float
    alignment_ms: float
    async_since_ms: float = field(default=0.0)


@final
@dataclass(frozen=True, slots=True)
class Wiring:
    """The channels and outputs that begin or end at a subtask."""

    inputs: list[InputChannel]
    outputs: list[Output]


class SubtaskHost(Protocol):
    """What a subtask asks of the slot and tells it."""

    @property
    def clock(self) -> Clock:
        """The injected clock."""
        ...

    def snapshot_taken(self, snapshot: TakenSnapshot) -> None:
        """The synchronous part of a snapshot is done."""
        ...

    def declined(self, subtask: SubtaskId, checkpoint_id: CheckpointId, reason: str) -> None:
        """The subtask takes no part in the checkpoint."""
        ...

    def ended(self, subtask: SubtaskId) -> None:
        """All bounded input is processed."""
        ...


@final
class Subtask:
    """One instance of a chain. Owned by the slot's loop; no method blocks."""

    def __init__(
        self,
        subtask: SubtaskId,
        operators: list[Operator],
        wiring: Wiring,
        host: SubtaskHost,
        batch_records: int,
    ) -> None:
        self.id = subtask
        self.operators = operators
        self.outputs = wiring.outputs
        self.current = operators[0]
        """The operator at work, for error reports."""
        self.records_in = 0
        self.wake_ms: float | None = None
        self._inputs = wiring.inputs
        self._host = host
        self._clock = host.clock
        self._aligner = BarrierAligner(frozenset(range(max(1, len(wiring.inputs)))))
        self._aligning_since_ms: float | None = None
        self._pace = Pace(batch_records)
        self._rest: tuple[int, Batch] | None = None
        self._next_input = 0
        self._ended = False

    @property
    def is_source(self) -> bool:
        """Whether the subtask has no input but a source's reader."""
        return not self._inputs

    # --- work

    def run(self) -> bool:
        """Do one piece of work; return whether there was any to do."""
        if self.is_source:
            return self._poll()
        if self._rest is not None:
            return self._writable() and self._work_on_rest()
        index = self._ready_input()
        if index is None:
            return False
        channel = self._inputs[index]
        if type(channel.queue[0]) is Batch and not self._writable():
            return False
        element = channel.pop()
        if isinstance(element, Batch):
            self._rest = (0, element)
            return self._work_on_rest()
        self._control(index, element)
        return True

    def _writable(self) -> bool:
        return all(output.writable for output in self.outputs)

    def _ready_input(self) -> int | None:
        """Return the next input, in turn, that has an element and is not blocked."""
        inputs = self._inputs
        count = len(inputs)
        for step in range(count):
            index = (self._next_input + step) % count
            if inputs[index].queue and not inputs[index].blocked:
                self._next_input = (index + 1) % count
                return index
        return None

    def _work_on_rest(self) -> bool:
        """Process a piece of the batch at hand; what is left stays for the next time."""
        assert self._rest is not None
        start, batch = self._rest
        size = self._pace.records
        left = len(batch) - start
        if left <= size:
            self._rest = None
            piece = batch if start == 0 else batch.piece(start, len(batch))
        else:
            self._rest = (start + size, batch)
            piece = batch.piece(start, start + size)
        self.records_in += len(piece)
        self._process(piece, 0)
        return True

    def _poll(self) -> bool:
        source = self.operators[0]
        assert isinstance(source, SourceOperator)
        if self._ended or not self._writable():
            return False
        now_ms = self._clock.monotonic_ms()
        if self.wake_ms is not None and now_ms < self.wake_ms:
            return False
        self.wake_ms = None
        self.current = source
        polled = source.poll(self._pace.records)
        match polled:
            case NotReady():
                self.wake_ms = polled.wake_ms
                return False
            case EndOfInput():
                self._end()
            case Batch():
                self.records_in += len(polled)
                self._process(polled, 1)
        return True

    def _process(self, batch: Batch, first: int) -> None:
        """Run the batch through the chain from operator `first` on, and learn how long that took."""
        began_ms = self._clock.monotonic_ms()
        for operator in self.operators[first:]:
            if not batch.records:
                break
            self.current = operator
            batch = operator.process(batch)
        put_out = len(batch)
        self._emit(batch, began_ms)
        self._pace.learn(self._clock.monotonic_ms() - began_ms, put_out)

    def _emit(self, batch: Batch, now_ms: float) -> None:
        if not batch.records or not self.outputs:
            return
        self.current = self.operators[-1]
        for output in self.outputs[1:]:
            output.emit(batch.copy(), now_ms)
        self.outputs[0].emit(batch, now_ms)

    # --- control elements

    def _control(self, index: int, element: Control) -> None:
        match element:
            case Barrier():
                self._align(BarrierReceived(channel=index, barrier=element))
            case CancelBarrier():
                self._align(CancelReceived(channel=index, checkpoint_id=element.checkpoint_id))
            case EndOfData():
                self._inputs[index].ended = True
                if all(channel.ended for channel in self._inputs):
                    self._end()

    def _end(self) -> None:
        self._ended = True
        self._broadcast(EndOfData())
        self._host.ended(self.id)

    def _broadcast(self, element: Control) -> None:
        self.current = self.operators[-1]
        for output in self.outputs:
            output.broadcast(element)

    def trigger(self, barrier: Barrier) -> None:
        """Inject a barrier at a source: the next record polled is the first after it."""
        if not self.is_source:
            raise InternalError(f"subtask {self.id} is no source but was told to inject {barrier}")
        self._align(BarrierReceived(channel=0, barrier=barrier))

    def abort(self, checkpoint_id: CheckpointId) -> None:
        """Give up a checkpoint that the job master has given up, and tell every operator."""
        self._align(CheckpointAborted(checkpoint_id=checkpoint_id))
        for operator in self.operators:
            self.current = operator
            operator.notify_aborted(checkpoint_id)

    def _align(self, event: AlignmentEvent) -> None:
        for effect in self._aligner.handle(event):
            self._perform(effect)

    def _perform(self, effect: AlignmentEffect) -> None:
        match effect:
            case BlockChannel():
                if self._aligning_since_ms is None:
                    self._aligning_since_ms = self._clock.monotonic_ms()
                if self._inputs:
                    self._inputs[effect.channel].blocked = True
            case UnblockChannels():
                for channel in self._inputs:
                    channel.blocked = False
            case TakeSnapshot():
                self._take_snapshot(effect.barrier)
            case ForwardCancel():
                self._broadcast(CancelBarrier(effect.checkpoint_id))
            case DeclineCheckpoint():
                self._host.declined(self.id, effect.checkpoint_id, effect.reason)
            case AbortAlignment():
                self._aligning_since_ms = None

    def _take_snapshot(self, barrier: Barrier) -> None:
        """Forward the barrier, then let every operator say what is to be saved. The loop stops for this only."""
        began_ms = self._clock.monotonic_ms()
        self._broadcast(barrier)
        parts: list[tuple[Operator, OperatorSnapshot]] = []
        for operator in reversed(self.operators):
            self.current = operator
            parts.append((operator, operator.snapshot(barrier)))
        now_ms = self._clock.monotonic_ms()
        aligning_ms = 0.0 if self._aligning_since_ms is None else began_ms - self._aligning_since_ms
        self._aligning_since_ms = None
        self._host.snapshot_taken(
            TakenSnapshot(
                subtask=self.id,
                barrier=barrier,
                parts=parts,
                sync_ms=now_ms - began_ms,
                alignment_ms=aligning_ms,
                async_since_ms=now_ms,
            )
        )

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        """Pass the completion of a checkpoint on to every operator."""
        for operator in self.operators:
            self.current = operator
            operator.notify_completed(checkpoint_id)

    def flush(self) -> bool:
        """Send what the outputs have gathered; return whether there was anything."""
        self.current = self.operators[-1]
        return max([output.flush() for output in self.outputs], default=False)

    def flush_due(self, now_ms: float) -> bool:
        """Flush the outputs whose buffer timeout has passed; return whether there was one."""
        self.current = self.operators[-1]
        due = [output for output in self.outputs if output.is_due(now_ms)]
        return max([output.flush() for output in due], default=False)
