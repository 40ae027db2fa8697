"""Subtask: one parallel instance of a chain of operators, with its input and output channels.

A subtask does one bounded piece of work when the slot's loop calls it: some records of a batch, some timers, one
control element, or one poll of its source. It takes records and does periodic work only when all its outputs have room.
Control elements need no room, and a watermark may fire its first piece of timers without room. If many
timers are due, a watermark takes several pieces of work. Meanwhile the subtask takes no record, and no barrier except
barriers that overtake.

A subtask that is restored with data in flight processes this data before it reads a channel or fires a timer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol, final

from headgate.checkpoint.alignment.aligner import BarrierAligner
from headgate.dataflow.chain import Chain, Waiting
from headgate.dataflow.pace import Debloater
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
from headgate.functions.metrics import MetricReport
from headgate.functions.source import EndOfInput, NotReady, SplitAssignment
from headgate.ids import CheckpointId, SubtaskId
from headgate.operators.base import Operator
from headgate.runtime.control.subtask_metrics import BarrierWait, SubtaskMetrics, Traffic
from headgate.runtime.slot.barriers import Barriers, BarriersHost, Inputs, PartialBatch, Process
from headgate.runtime.slot.metrics import SubtaskMeter
from headgate.runtime.slot.wiring import Wiring
from headgate.time.valve import InputsValve, Progress


@final
@dataclass(frozen=True, slots=True)
class RestoredBatch:
    """A batch that was in flight to input `input_index` of the operator with the index `first` in the chain."""

    first: int
    input_index: int
    batch: Batch


class SubtaskHost(BarriersHost, Protocol):
    """The slot, as a subtask sees it."""

    def ended(self, subtask: SubtaskId) -> None:
        """Report that the subtask has processed all its bounded input."""
        ...

    def recovered(self, subtask: SubtaskId) -> None:
        """Report that the subtask has processed all data in flight with which it was restored."""
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
        self.is_source = not wiring.inputs
        """Whether the subtask is a source: it has no input channels."""
        self.records_in = 0
        self.watermark_ms: int | None = None
        """The newest watermark of all inputs together, None before the first."""
        self.meter = SubtaskMeter(host.clock.monotonic_ms())
        self._inputs = wiring.inputs
        self._host = host
        self._clock = host.clock
        self._chain = chain = Chain(operators, wiring.outputs, host.clock, batch_records)
        self._debloater = Debloater(wiring.inputs, wiring.debloating, chain.pending_room)
        self._processes = [chain.process_second if index else chain.process for index in wiring.input_of]
        self._valve = InputsValve(wiring.input_of)
        strategy = wiring.strategy or BarrierAligner(frozenset(range(max(1, len(wiring.inputs)))))
        inputs = Inputs(wiring.inputs, wiring.overtakable, wiring.in_flight_bytes_max)
        self._barriers = Barriers(subtask, inputs, chain, strategy, host)
        self._barriers.listen()
        self._rest: PartialBatch | None = None
        self._recovering: Iterator[RestoredBatch] | None = None
        self._next_input = 0
        self._poll_at_ms: float | None = None
        self._ended = False
        self._end_told = False

    @property
    def current(self) -> Operator:
        """The operator that runs now or ran last, for error reports."""
        return self._chain.current

    def recover(self, restored: Iterator[RestoredBatch]) -> None:
        """Process this data in flight before anything else. Call this before the first piece of work."""
        self._recovering = restored

    def restore(self, waiting: Waiting) -> None:
        """Restore the work that waited in the chain at the snapshot. Call this before the first piece of work."""
        self._chain.waiting = waiting

    def stop(self) -> None:
        """Emit nothing unprompted from now on: read no source, and fire no timers."""
        self._barriers.stopped = True

    # --- taps and metrics

    def has(self, uid: str) -> bool:
        """Return whether the chain has an operator of this uid."""
        return any(operator.context.uid == uid for operator in self.operators)

    def tap(self, uid: str, see: Callable[[Batch], None] | None) -> None:
        """Call `see` with each batch that leaves an operator; None ends the calls. See `Chain.tap`."""
        self._chain.tap([operator.context.uid for operator in self.operators].index(uid), see)

    @property
    def has_more(self) -> bool:
        """Whether there may be more to do. A source has more until its data has ended."""
        if self._chain.waiting or self._rest is not None or self._recovering is not None:
            return True
        if self.is_source:
            return not (self._ended or self._barriers.stopped)
        for channel in self._inputs:  # noqa: SIM110  # any() of a generator takes longer, and this is asked often
            if channel.batches and not channel.blocked:
                return True
        return False

    @property
    def is_held_back(self) -> bool:
        """Whether work waits for room in the outputs."""
        return self.has_more and not self._chain.accepts

    def metrics(self, now_ms: float, user: tuple[tuple[str, MetricReport], ...]) -> SubtaskMetrics:
        """Return the subtask's metrics; `user` are the metrics of its functions."""
        traffic = Traffic(
            records_in=self.records_in,
            records_out=sum(output.records_out for output in self.outputs),
            bytes_in=sum(channel.read_bytes for channel in self._inputs),
            bytes_out=sum(output.sent_bytes for output in self.outputs),
        )
        head = self.operators[0]
        return SubtaskMetrics(
            traffic=traffic,
            time=self.meter.shares(now_ms),
            rates=self.meter.rates(traffic, now_ms),
            watermark_in=self.watermark_ms,
            watermark_out=self._chain.watermark_ms,
            user=user,
            inputs=self._valve.marks,
            watermark_lag_ms=self._watermark_lag_ms(),
            emit_lag_ms=head.emit_lag_ms,
            alignment_drift_ms=head.alignment_drift_ms,
            barrier=self._barrier_wait(),
            failed=tuple(sample for operator in self.operators for sample in operator.context.failed.take()),
        )

    def _barrier_wait(self) -> BarrierWait | None:
        """Return the number of records before the newest barrier that has arrived, None if its snapshot is taken."""
        waits = [(index, wait) for index, each in enumerate(self._inputs) if (wait := each.before_barrier) is not None]
        newest = max((barrier.checkpoint_id for _, (barrier, _) in waits), default=None)
        if newest is None or newest <= self._barriers.newest_taken:
            return None
        waiting = 0
        for index, (barrier, records) in waits:
            if barrier.checkpoint_id == newest:
                waiting += records
                if self._rest is not None and self._rest[0] == index:
                    _, start, batch, _ = self._rest
                    waiting += len(batch) - start
        per_second = self._debloater.window.per_second
        return BarrierWait(checkpoint_id=newest, waiting=waiting, per_second=per_second) if waiting else None

    def _watermark_lag_ms(self) -> int | None:
        """Return how far the watermark is behind the wall clock, None before the first watermark and at the end."""
        watermark_ms = self._chain.watermark_ms if self.is_source else self.watermark_ms
        if watermark_ms is None or watermark_ms == MAX_TIMESTAMP:
            return None
        return self._clock.wall_ms() - watermark_ms

    # --- work

    def run(self) -> bool:
        """Do one piece of work; return whether there was work."""
        barriers = self._barriers
        if (barriers.announced or barriers.due_ms is not None) and self._attend():
            return True
        chain = self._chain
        if chain.woken and not barriers.stopped and chain.writable and self._resume():
            return True
        if chain.waiting:
            return self._go_on() if chain.can_go_on else self._take_barrier()
        if self._rest is not None:
            return chain.accepts and self._work_on_rest(*self._rest)
        if self._recovering is not None:
            return chain.accepts and self._recover(self._recovering)
        if self.is_source:
            return self._poll()
        index = self._ready_input()
        if index is None:
            return False
        channel = self._inputs[index]
        if channel.has_batch_next and not chain.accepts:
            return False
        element = channel.pop()
        if isinstance(element, Batch):
            return self._work_on_rest(index, 0, element, self._processes[index])
        self._control(index, element)
        return True

    def worked(self, began_ms: float, ended_ms: float) -> None:
        """Measure a piece of work: the debloater limits waiting records by the subtask's speed."""
        self.meter.worked(began_ms, ended_ms)
        if self._inputs:
            self._debloater.worked(began_ms, ended_ms, self.records_in + self._chain.pending_room)

    def rested(self, now_ms: float) -> None:
        """Note that there was no work: this time does not count for the speed, unless work waits or is pending."""
        if self._debloater.window.runs and not self.has_more and not self._chain.has_pending:
            self._debloater.window.rested(now_ms)

    def _resume(self) -> bool:
        """Emit the results of asynchronous calls that have ended."""
        resumed = self._chain.resume()
        if resumed:
            self._settle()
        return resumed

    def _take_barrier(self) -> bool:
        """Take a barrier that is next on a channel, while no records may be taken; return whether there was one."""
        if self._recovering is not None:
            return False
        for index, channel in enumerate(self._inputs):
            is_at_work = self._rest is not None and self._rest[0] == index
            if channel.queue and not channel.blocked and not is_at_work:
                element = channel.queue[0]
                if isinstance(element, Barrier | CancelBarrier):
                    channel.pop()
                    self._control(index, element)
                    return True
        return False

    def _attend(self) -> bool:
        """Handle barriers that overtake, but only after all restored data in flight: it is on no channel."""
        return self._recovering is None and self._barriers.attend(self._rest)

    def _recover(self, restored: Iterator[RestoredBatch]) -> bool:
        """Process the next restored batch."""
        one = next(restored, None)
        if one is None:
            self._recovering = None
            self._host.recovered(self.id)
            return True
        process = self._chain.process_second if one.input_index else partial(self._chain.process, first=one.first)
        return self._work_on_rest(0, 0, one.batch, process)

    def _ready_input(self) -> int | None:
        """Return the next input, round-robin, that has an element and is not blocked."""
        inputs = self._inputs
        count = len(inputs)
        for step in range(count):
            index = (self._next_input + step) % count
            if inputs[index].queue and not inputs[index].blocked:
                self._next_input = (index + 1) % count
                return index
        return None

    def _work_on_rest(self, index: int, start: int, batch: Batch, process: Process) -> bool:
        """Process a piece of the batch of channel `index` from record `start` on, and keep the rest."""
        size = self._chain.records_max
        left = len(batch) - start
        if left <= size:
            self._rest = None
            piece = batch if start == 0 else batch.piece(start, len(batch))
        else:
            self._rest = (index, start + size, batch, process)
            piece = batch.piece(start, start + size)
        self.records_in += len(piece)
        process(piece)
        return True

    def _poll(self) -> bool:
        source = self.operators[0]
        if self._ended or self._barriers.stopped or not self._chain.accepts:
            return False
        if self._poll_at_ms is not None and not source.woken and self._clock.monotonic_ms() < self._poll_at_ms:
            return False
        self._poll_at_ms = None
        self._chain.current = source
        polled = source.poll(self._chain.records_max)
        match polled:
            case NotReady():
                self._poll_at_ms = polled.wake_ms
                return source.woken
            case EndOfInput():
                self.end()
            case Batch():
                self.records_in += len(polled)
                self._chain.process(polled, 0 if source.makes_watermarks else 1)
        return True

    def _go_on(self) -> bool:
        """Do a piece of the work that waits in the chain, then announce the end of the data if it is due."""
        self._chain.run()
        self._settle()
        return True

    def _settle(self) -> None:
        """Announce the end of the data downstream, once no work waits or is pending in the chain.

        After a savepoint that stops the job, operators do not hear of the end: the savepoint has saved their remaining
        work.
        """
        if not self._ended or self._end_told or self._chain.waiting:
            return
        if self._barriers.stopped or not self._chain.has_pending:
            self._end_told = True
            if not self._barriers.stopped:
                self._chain.end_input()
            self._chain.broadcast(EndOfData())
            self._host.ended(self.id)

    # --- time

    def next_ms(self) -> float | None:
        """Return when there is work without further input; None when never, or when the outputs have no room."""
        times = [self._barriers.due_ms]
        if self._may_begin:
            times += [self._poll_at_ms, self._chain.wake_ms()]
        return min((time_ms for time_ms in times if time_ms is not None), default=None)

    @property
    def _may_begin(self) -> bool:
        """Whether the subtask may begin work of its own: poll its source, or fire timers."""
        return not self._ended and not self._barriers.stopped and self._chain.accepts

    def tick(self, now_ms: float) -> bool:
        """Do a piece of the periodic work that is due; return whether any was done.

        After the end of the data no periodic work is due: processing-time timers that have not fired never fire.
        """
        chain = self._chain
        wake_ms = chain.wake_ms()
        if wake_ms is None or wake_ms > now_ms or chain.waiting or self._recovering is not None or not self._may_begin:
            return False
        chain.tick(now_ms)
        return True

    # --- control elements

    def _control(self, index: int, element: Control) -> None:
        match element:
            case Barrier():
                self._barriers.received(index, element)
            case CancelBarrier():
                self._barriers.cancelled(index, element.checkpoint_id)
            case Watermark() | WatermarkStatus():
                self._progress(self._valve.take(index, element))
            case EndOfData():
                self._inputs[index].ended = True
                self._ended = all(channel.ended for channel in self._inputs)
                self._progress(self._valve.take(index, Watermark(MAX_TIMESTAMP)))

    def _progress(self, steps: list[Progress]) -> None:
        """Advance event time in the chain. If all input has ended, announce the end of the data."""
        for step in steps:
            if isinstance(step, Watermark) and self._inputs:
                self.watermark_ms = step.timestamp_ms
            self._chain.advance(step)
        self._go_on()

    def trigger(self, barrier: Barrier) -> None:
        """Inject a barrier at a source: it comes before the next record that is polled."""
        if not self.is_source:
            raise InternalError(f"subtask {self.id} is no source but was told to inject {barrier}")
        self._barriers.received(0, barrier)

    def add_splits(self, splits: SplitAssignment) -> None:
        """Give splits to a source."""
        self._chain.current = source = self.operators[0]
        source.add_splits(splits)

    def allow_watermark(self, allowed_ms: int) -> None:
        """Pause an aligned source at this watermark, or let it continue."""
        self._chain.current = source = self.operators[0]
        source.allow_watermark(allowed_ms)

    def end(self) -> None:
        """End the data of a source now, whatever is unread."""
        if not self._ended:
            self._ended = True
            self._progress([Watermark(MAX_TIMESTAMP)])

    def abort(self, checkpoint_id: CheckpointId) -> None:
        """Abort a checkpoint that the job master has given up, and tell every operator."""
        self.give_up(checkpoint_id)
        for operator in self.operators:
            self._chain.current = operator
            operator.notify_aborted(checkpoint_id)

    def give_up(self, checkpoint_id: CheckpointId) -> None:
        """Stop waiting for barriers of this checkpoint, which is over."""
        self._barriers.aborted(checkpoint_id)

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        """Tell every operator that the checkpoint is complete."""
        for operator in self.operators:
            self._chain.current = operator
            operator.notify_completed(checkpoint_id)

    def flush(self) -> bool:
        """Send the records that the outputs have buffered; return whether there were any."""
        return self._chain.flush()

    def flush_due(self, now_ms: float) -> bool:
        """Flush the outputs whose buffer timeout has passed; return whether there was one."""
        return self._chain.flush_due(now_ms)
