"""Chain: operators that run fused, and the outputs behind them; batches, watermarks and ticks run through them.

A batch goes through the operators at once. A watermark stops at each operator until its timers have been fired, a piece
at a time: what is left meanwhile waits here, and the subtask takes no records before it is done. An operator may have
inputs pending: it says how much room it has, and emits by itself when it is woken. Without room nothing that could come
to it begins: no batch, and no timer.

What waits in a chain is part of every snapshot, as list state of the operators that it is to reach. At the parallelism
of the snapshot each subtask restores its own waiting elements, in the same order. At another parallelism a waiting
record goes to any subtask. Waiting watermarks and statuses, which hold for the records of one subtask only, are then
dropped: the next ones replace them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Final, Protocol, final

from headgate.clock import Clock
from headgate.dataflow.channel import NO_LIMIT, ChannelAddress
from headgate.dataflow.output import Output
from headgate.dataflow.pace import EXPANSION_MAX, Pace
from headgate.elements import MAX_TIMESTAMP, Barrier, Batch, Control, Flow, Payload, Watermark, WatermarkStatus
from headgate.operators.base import Operator
from headgate.operators.outputs import OutputType
from headgate.state.formats.unpickle import loader
from headgate.state.operator.list_elements import ListElements

WAITING_STATE: Final = "headgate:waiting"
"""For each that waits before the operator, in order: the parallelism, and a control element or an encoded batch."""

Waiting = list[tuple[int, Flow]]
"""The index of an operator, and what it takes next; the last comes first."""


def waiting_lists(waiting: Waiting, parallelism: int) -> dict[int, ListElements]:
    """Return the list state of the operators before which something waits, by index. Raises what pickling raises."""
    elements: dict[int, list[bytes]] = {}
    for index, flow in reversed(waiting):
        parts = flow.encode() if isinstance(flow, Batch) else flow
        elements.setdefault(index, []).append(pickle.dumps((parallelism, parts), 5))
    return {index: ListElements(elements=own) for index, own in elements.items()}


def restored_waiting(operators: Sequence[Operator]) -> Waiting:
    """Return what waits in a chain whose operators were opened. Raises RestoreError for a class that is not found."""
    waiting: Waiting = []
    for index, operator in enumerate(operators):
        context = operator.context
        stored = context.restored.lists.get(WAITING_STATE, ListElements())
        unpickle = loader(context.restored.moved_classes, f"records that wait before operator {context.uid!r}")
        for parallelism, parts in map(unpickle, reversed(stored.elements)):
            if isinstance(parts, bytes):
                waiting.append((index, Batch.decode(parts, unpickle)))
            elif parallelism == context.parallelism:
                assert isinstance(parts, Watermark | WatermarkStatus)
                waiting.append((index, parts))
    return waiting


class Conversion(Protocol):
    """Looks at what an operator has emitted, before anything else does: makes it of a type, or shows it to somebody."""

    def converted(self, batch: Batch) -> Batch:
        """Return the batch to go on with."""
        ...


@final
class Tapped:
    """Shows each batch that leaves an operator, once it is as it is to leave."""

    def __init__(self, conversion: Conversion | None, see: Callable[[Batch], None]) -> None:
        self._conversion = conversion
        self._see = see

    def converted(self, batch: Batch) -> Batch:
        """Return the batch, which was shown unless it is empty."""
        if self._conversion is not None:
            batch = self._conversion.converted(batch)
        if len(batch):
            self._see(batch)
        return batch


@final
class Chain:
    """The operators and outputs of one subtask. Owned by the slot's loop; no method blocks."""

    def __init__(self, operators: list[Operator], outputs: list[Output], clock: Clock, batch_records: int) -> None:
        self.operators = operators
        self.outputs = outputs
        self.current = operators[0]
        """The operator at work, for error reports."""
        self.pace = Pace(batch_records)
        self.watermark_ms: int | None = None
        """The newest watermark that has left."""
        self.waiting: Waiting = []
        """What is still to run through operators."""
        self._clock = clock
        self._each_copied = operators[-1].context.passing.each_copied
        self._pending = [(at, operator) for at, operator in enumerate(operators) if operator.room is not None]
        self._main = [output for output in outputs if output.tag is None]
        self._sides = [output for output in outputs if output.tag is not None]
        makers = [at for at, operator in enumerate(operators) if operator.makes_watermarks]
        self._types: list[Conversion | None] = [OutputType.of(operator.context.output_type) for operator in operators]
        self._until = [next((at for at in makers if at >= first), None) for first in range(len(operators) + 1)]

    def tap(self, at: int, see: Callable[[Batch], None] | None) -> None:
        """Have `see` called with each batch that leaves an operator, which it must not change; None: no more.

        What an operator emits for side outputs is not among it.
        """
        own = OutputType.of(self.operators[at].context.output_type)
        self._types[at] = own if see is None else Tapped(own, see)

    # --- what runs through

    def process(self, batch: Batch, first: int = 0) -> None:
        """Run a batch through the operators from `first` on, and learn how long that took."""
        began_ms = self._clock.monotonic_ms()
        emitted = self._through(batch, first, began_ms)
        if self.waiting:
            emitted += self._work_off(began_ms) or 0
        self._learn(self._clock.monotonic_ms() - began_ms, emitted)

    def process_second(self, batch: Batch) -> None:
        """Run a batch of the second input through all operators, and learn how long that took."""
        began_ms = self._clock.monotonic_ms()
        self.current = self.operators[0]
        emitted = self._through(self.current.process_second(batch), 1, began_ms)
        if self.waiting:
            emitted += self._work_off(began_ms) or 0
        self._learn(self._clock.monotonic_ms() - began_ms, emitted)

    def advance(self, progress: Watermark | WatermarkStatus) -> None:
        """Have event time progress, behind everything that waits; call `run` while something waits."""
        self.waiting.insert(0, (0, progress))

    def run(self) -> None:
        """Do a piece of what waits. To be called only while `can_go_on`."""
        began_ms = self._clock.monotonic_ms()
        emitted = self._work_off(began_ms)
        if emitted is not None:
            self._learn(self._clock.monotonic_ms() - began_ms, emitted)

    @property
    def woken(self) -> bool:
        """Whether an operator with pending inputs has something to emit."""
        for _, operator in self._pending:  # noqa: SIM110  # asked at each piece of work: a generator costs more
            if operator.woken:
                return True
        return False

    def resume(self) -> bool:
        """Have the operators that were woken emit, downstream first; return whether any could.

        An operator waits for those behind it to have room, and for what waits there.
        """
        resumed = False
        for index, operator in reversed(self._pending):
            if not operator.woken or not self._has_room(index + 1) or (self.waiting and self.waiting[-1][0] > index):
                continue
            began_ms = self._clock.monotonic_ms()
            self.current = operator
            self._queue(index + 1, operator.resume(self._records_max(index + 1)))
            emitted = self._emit_sides(began_ms) if self._sides else 0
            emitted += self._work_off(began_ms) or 0
            self.pace.learn(self._clock.monotonic_ms() - began_ms, emitted)
            resumed = True
        return resumed

    def tick(self, now_ms: float) -> None:
        """Do a piece of the periodic work that is due, downstream first. Nothing may wait."""
        for index in reversed(range(len(self.operators))):
            operator = self.operators[index]
            if operator.wake_ms is not None and operator.wake_ms <= now_ms and not self.waiting:
                self.current = operator
                self._queue(index + 1, operator.tick(now_ms))
                self._emit_sides(now_ms)
                self._work_off(now_ms)

    def wake_ms(self) -> float | None:
        """Return when `tick` has something to do, None when never."""
        return min((operator.wake_ms for operator in self.operators if operator.wake_ms is not None), default=None)

    # --- how it runs

    def end_input(self) -> None:
        """Tell every operator that no record is to follow. To be called once nothing waits and nothing is pending."""
        for operator in self.operators:
            self.current = operator
            operator.end_input()

    def _queue(self, first: int, elements: list[Flow]) -> None:
        """Have `elements` run, in order, from operator `first` on, before anything else that waits."""
        self.waiting += [(first, element) for element in reversed(elements)]

    def _work_off(self, now_ms: float) -> int | None:
        """Work off what waits: all of it, or until a piece of timers was fired and what that emitted has left.

        Return how many records were emitted, None when there were no records at work.
        """
        emitted: int | None = None
        left = 0
        while len(self.waiting) > left:
            first, element = self.waiting.pop()
            if not isinstance(element, Batch) and self._pending and not self._has_room(first):
                self.waiting.append((first, element))
                break
            match element:
                case Batch():
                    emitted = (emitted or 0) + self._through(element, first, now_ms)
                case WatermarkStatus():
                    self._pass(element, first)
                case Watermark():
                    before = len(self.waiting)
                    fired = self._advance(element, first, now_ms)
                    if fired is not None:
                        emitted = (emitted or 0) + fired
                        if left:
                            break
                        left = before + 1  # the watermark itself, whose other timers are another piece of work
        return emitted

    def _through(self, batch: Batch, first: int, now_ms: float) -> int:
        """Run the batch through the operators from `first` on; return how many records were emitted.

        An operator that makes watermarks ends that: what it makes of the batch waits for the rest of the way.
        """
        until = self._until[first]
        if first:
            batch = self._typed(batch, first - 1)
        for index in range(first, len(self.operators) if until is None else until):
            if not len(batch):
                break
            self.current = operator = self.operators[index]
            batch = operator.process(batch)
            if self._types[index] is not None:
                batch = self._typed(batch, index)
        if until is not None:
            return self._mark(batch, until, now_ms)
        emitted = self._emit_sides(now_ms) if self._sides else 0
        self._emit(batch, now_ms)
        return emitted + len(batch)

    def _typed(self, batch: Batch, index: int) -> Batch:
        """Return what the operator has emitted as records of its output type."""
        output_type = self._types[index]
        if output_type is None:
            return batch
        self.current = self.operators[index]
        return output_type.converted(batch)

    def _mark(self, batch: Batch, at: int, now_ms: float) -> int:
        self.current = self.operators[at]
        self._queue(at + 1, self.current.mark(batch))
        return self._emit_sides(now_ms) if self._sides else 0

    def _advance(self, watermark: Watermark, first: int, now_ms: float) -> int | None:
        """Take the watermark from operator to operator until one fires timers; return how many records they emitted.

        None: it fired none, and the watermark has left.
        """
        ends = watermark.timestamp_ms == MAX_TIMESTAMP
        for index in range(first, len(self.operators)):
            self.current = operator = self.operators[index]
            if operator.makes_watermarks and not ends:
                return None
            if operator.room is not None and operator.hold(watermark):
                return None
            fired = operator.advance(watermark.timestamp_ms, self._records_max(index + 1))
            if fired is not None:
                self.waiting.append((index, watermark))
                return self._through(fired, index + 1, now_ms)
        self.broadcast(watermark)
        return None

    def _pass(self, status: WatermarkStatus, first: int) -> None:
        """Send the status on, unless an operator behind makes watermarks, and so decides on the status itself."""
        if self._until[first] is None and not any(at >= first and each.hold(status) for at, each in self._pending):
            self.broadcast(status)

    # --- pending inputs

    @property
    def records_max(self) -> int:
        """How many records a piece of work may have."""
        return self._records_max(0)

    @property
    def accepts(self) -> bool:
        """Whether the chain may take records: every output has room, and every operator."""
        return self.writable and self._has_room(0)

    @property
    def can_go_on(self) -> bool:
        """Whether what waits may go on: the outputs have room, and the operators that it may come to."""
        return self.writable and self._has_room(self.waiting[-1][0])

    @property
    def has_pending(self) -> bool:
        """Whether inputs are pending in an operator."""
        return any(operator.has_pending for _, operator in self._pending)

    def _rooms(self, first: int) -> list[int]:
        return [operator.room for at, operator in self._pending if at >= first and operator.room is not None]

    def _has_room(self, first: int) -> bool:
        return not self._pending or min(self._rooms(first), default=1) > 0

    def _records_max(self, first: int) -> int:
        """Return how many records, or timers, may be the cause of what comes to the operators from `first` on."""
        records = min(self.pace.records, self._emitted_max)
        return max(1, min([records, *self._rooms(first)])) if self._pending else records

    @property
    def _emitted_max(self) -> int:
        """How many records a piece of work should emit: what slow receivers take in a short time."""
        most = NO_LIMIT
        for output in self.outputs:
            if output.records_max < most:
                most = output.records_max
        return most

    @property
    def pending_room(self) -> int:
        """The room of all operators with pending inputs: it rises by one when an input is done."""
        return sum(self._rooms(0)) if self._pending else 0

    def _learn(self, took_ms: float, emitted: int) -> None:
        """Adapt the size of pieces; one that has overdrawn the room of an operator, or of outputs, was too large."""
        self.pace.learn(took_ms, emitted)
        if (self._pending and min(self._rooms(0)) < 0) or emitted > EXPANSION_MAX * self._emitted_max:
            self.pace.shrink()

    # --- what leaves

    def _emit(self, batch: Batch, now_ms: float) -> None:
        if not len(batch) or not self._main:
            return
        self.current = self.operators[-1]
        for output in self._main[1:]:
            output.emit(batch.copy(self._each_copied), now_ms)
        self._main[0].emit(batch, now_ms)

    def _emit_sides(self, now_ms: float) -> int:
        """Send what the last operator has emitted beside its result to those who read it; the rest is dropped.

        Return how many records were sent.
        """
        tail = self.current = self.operators[-1]
        sides, tail.sides = tail.sides, ()
        emitted = 0
        for tag, batch in sides:
            for output in self._sides:
                if output.tag == tag:
                    emitted += len(batch)
                    own = batch.copy(self._each_copied)
                    output.emit(own if output.tag_type is None else output.tag_type.converted(own), now_ms)
        return emitted

    def broadcast(self, element: Control) -> None:
        """Send a control element on every output, behind everything that was emitted so far."""
        self.current = self.operators[-1]
        if isinstance(element, Watermark):
            self.watermark_ms = element.timestamp_ms
        for output in self.outputs:
            output.broadcast(element)

    def overtake(self, barrier: Barrier) -> list[tuple[ChannelAddress, list[Payload]]]:
        """Send a barrier on every output, ahead of what has not left yet where that is allowed; return what that is."""
        self.current = self.operators[-1]
        return [part for output in self.outputs for part in output.overtake(barrier)]

    def flush(self) -> bool:
        """Send what the outputs have gathered; return whether there was anything."""
        self.current = self.operators[-1]
        return max([output.flush() for output in self.outputs], default=False)

    def flush_due(self, now_ms: float) -> bool:
        """Flush the outputs whose buffer timeout has passed; return whether there was one."""
        self.current = self.operators[-1]
        due = [output for output in self.outputs if output.is_due(now_ms)]
        return max([output.flush() for output in due], default=False)

    @property
    def writable(self) -> bool:
        """Whether every output has room."""
        for output in self.outputs:  # noqa: SIM110  # asked around each piece of work: a generator costs more
            if not output.writable:
                return False
        return True
