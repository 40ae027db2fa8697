"""Subtask: one parallel instance of a chain of operators, with its input and output channels.

A subtask does one bounded piece of work at a time, when the slot's loop tells it to: some records of a batch, some
timers, one control element, or one poll of its source. It takes records and does periodic work only when all its
outputs have room; control elements need none, and a watermark may fire its first piece of timers without. While a
watermark is on its way through the operators, because many timers are due, it takes no record and no barrier.
"""

from __future__ import annotations

from collections.abc import Callable
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
from headgate.elements import (
    MAX_TIMESTAMP,
    Barrier,
    Batch,
    CancelBarrier,
    Control,
    EndOfData,
    Watermark,
    WatermarkStatus,
)
from headgate.errors import InternalError
from headgate.functions.source import EndOfInput, NotReady
from headgate.ids import CheckpointId, SubtaskId
from headgate.operators.base import Operator, OperatorSnapshot
from headgate.operators.source import SourceOperator
from headgate.runtime.exchange.channel import InputChannel
from headgate.runtime.slot.chain import Chain
from headgate.runtime.slot.output import Output
from headgate.time.valve import InputsValve, Progress


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
    input_of: list[int]
    """For each channel in `inputs`, which input of the first operator it belongs to: 0 or 1."""


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
        self.records_in = 0
        self._inputs = wiring.inputs
        self._host = host
        self._clock = host.clock
        self._chain = chain = Chain(operators, wiring.outputs, host.clock, batch_records)
        self._processes = [chain.process_second if index else chain.process for index in wiring.input_of]
        self._valve = InputsValve(wiring.input_of)
        self._aligner = BarrierAligner(frozenset(range(max(1, len(wiring.inputs)))))
        self._aligning_since_ms: float | None = None
        self._held: list[Barrier] = []
        self._rest: tuple[int, Batch, Callable[[Batch], None]] | None = None
        self._next_input = 0
        self._poll_at_ms: float | None = None
        self._ended = False
        self._end_told = False

    @property
    def is_source(self) -> bool:
        """Whether the subtask has no input but a source's reader."""
        return not self._inputs

    @property
    def current(self) -> Operator:
        """The operator at work, for error reports."""
        return self._chain.current

    # --- work

    def run(self) -> bool:
        """Do one piece of work; return whether there was any to do."""
        if self._chain.waiting:
            return self._chain.writable and self._go_on()
        if self.is_source:
            return self._poll()
        if self._rest is not None:
            return self._chain.writable and self._work_on_rest(*self._rest)
        index = self._ready_input()
        if index is None:
            return False
        channel = self._inputs[index]
        if type(channel.queue[0]) is Batch and not self._chain.writable:
            return False
        element = channel.pop()
        if isinstance(element, Batch):
            return self._work_on_rest(0, element, self._processes[index])
        self._control(index, element)
        return True

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

    def _work_on_rest(self, start: int, batch: Batch, process: Callable[[Batch], None]) -> bool:
        """Process a piece of the batch from record `start` on; what is left stays for the next time."""
        size = self._chain.pace.records
        left = len(batch) - start
        if left <= size:
            self._rest = None
            piece = batch if start == 0 else batch.piece(start, len(batch))
        else:
            self._rest = (start + size, batch, process)
            piece = batch.piece(start, start + size)
        self.records_in += len(piece)
        process(piece)
        return True

    def _poll(self) -> bool:
        source = self.operators[0]
        assert isinstance(source, SourceOperator)
        if self._ended or not self._chain.writable:
            return False
        if self._poll_at_ms is not None and self._clock.monotonic_ms() < self._poll_at_ms:
            return False
        self._poll_at_ms = None
        self._chain.current = source
        polled = source.poll(self._chain.pace.records)
        match polled:
            case NotReady():
                self._poll_at_ms = polled.wake_ms
                return False
            case EndOfInput():
                self._ended = True
                self._progress([Watermark(MAX_TIMESTAMP)])
            case Batch():
                self.records_in += len(polled)
                self._chain.process(polled, 0 if source.makes_watermarks else 1)
        return True

    def _go_on(self) -> bool:
        """Do a piece of what waits in the chain; when nothing is left, do what waited for that."""
        self._chain.run()
        if not self._chain.waiting:
            self._settle()
        return True

    def _settle(self) -> None:
        """Do what had to wait until nothing waits in the chain."""
        if self._ended and not self._end_told:
            self._end_told = True
            self._chain.broadcast(EndOfData())
            self._host.ended(self.id)
        held, self._held = self._held, []
        for barrier in held:
            self._align(BarrierReceived(channel=0, barrier=barrier))

    # --- time

    def next_ms(self) -> float | None:
        """Return when there is something to do even if nothing comes in; None when never, or not without room."""
        if self._ended or not self._chain.writable:
            return None
        times = (self._poll_at_ms, self._chain.wake_ms())
        return min((time_ms for time_ms in times if time_ms is not None), default=None)

    def tick(self, now_ms: float) -> bool:
        """Do a piece of the periodic work that is due; return whether there was any that could be done.

        After the end of the data there is none: timers of processing time that have not fired by then never do.
        """
        chain = self._chain
        wake_ms = chain.wake_ms()
        if wake_ms is None or wake_ms > now_ms or self._ended or chain.waiting or not chain.writable:
            return False
        chain.tick(now_ms)
        return True

    # --- control elements

    def _control(self, index: int, element: Control) -> None:
        match element:
            case Barrier():
                self._align(BarrierReceived(channel=index, barrier=element))
            case CancelBarrier():
                self._align(CancelReceived(channel=index, checkpoint_id=element.checkpoint_id))
            case Watermark() | WatermarkStatus():
                self._progress(self._valve.take(index, element))
            case EndOfData():
                self._inputs[index].ended = True
                self._ended = all(channel.ended for channel in self._inputs)
                self._progress(self._valve.take(index, Watermark(MAX_TIMESTAMP)))

    def _progress(self, steps: list[Progress]) -> None:
        """Have event time progress in the chain; then, if all input has ended, tell that no more records follow."""
        for step in steps:
            self._chain.advance(step)
        self._go_on()

    def trigger(self, barrier: Barrier) -> None:
        """Inject a barrier at a source: the next record polled is the first after it."""
        if not self.is_source:
            raise InternalError(f"subtask {self.id} is no source but was told to inject {barrier}")
        if self._chain.waiting:
            self._held.append(barrier)
        else:
            self._align(BarrierReceived(channel=0, barrier=barrier))

    def abort(self, checkpoint_id: CheckpointId) -> None:
        """Give up a checkpoint that the job master has given up, and tell every operator."""
        self._align(CheckpointAborted(checkpoint_id=checkpoint_id))
        for operator in self.operators:
            self._chain.current = operator
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
                self._chain.broadcast(CancelBarrier(effect.checkpoint_id))
            case DeclineCheckpoint():
                self._host.declined(self.id, effect.checkpoint_id, effect.reason)
            case AbortAlignment():
                self._aligning_since_ms = None

    def _take_snapshot(self, barrier: Barrier) -> None:
        """Forward the barrier, then let every operator say what is to be saved. The loop stops for this only."""
        began_ms = self._clock.monotonic_ms()
        self._chain.broadcast(barrier)
        parts: list[tuple[Operator, OperatorSnapshot]] = []
        for operator in reversed(self.operators):
            self._chain.current = operator
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
            self._chain.current = operator
            operator.notify_completed(checkpoint_id)

    def flush(self) -> bool:
        """Send what the outputs have gathered; return whether there was anything."""
        return self._chain.flush()

    def flush_due(self, now_ms: float) -> bool:
        """Flush the outputs whose buffer timeout has passed; return whether there was one."""
        return self._chain.flush_due(now_ms)
