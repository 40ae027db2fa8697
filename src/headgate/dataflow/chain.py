"""A chain: fused operators and their outputs, through which batches, watermarks and ticks run.

A batch passes through all operators at once. A watermark stops at each operator until the operator's due timers have
fired, one piece at a time. The rest waits in the chain meanwhile, and the subtask takes no records until it is done. An
operator with pending inputs says how much room it has, and emits results when it is woken. If it has no room, no work
begins whose results could reach it: neither a batch nor a timer.

Elements that wait in a chain are part of every snapshot, as list state of the operators that they have yet to reach. At
the parallelism of the snapshot each subtask restores its own waiting elements, in the same order. At another
parallelism any subtask may get a waiting record. Waiting watermarks and statuses, which hold for the records of one
subtask only, are then dropped: later watermarks and statuses replace them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Final, Protocol, final

from headgate.clock import Clock
from headgate.dataflow.channel import NO_LIMIT, ChannelAddress
from headgate.dataflow.output import Output
from headgate.dataflow.pace import EXPANSION_MAX, Pace
from headgate.elements import (
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    Barrier,
    Batch,
    Control,
    Flow,
    Payload,
    Watermark,
    WatermarkStatus,
)
from headgate.operators.base import Operator
from headgate.operators.outputs import OutputType
from headgate.state.formats.unpickle import loader
from headgate.state.operator.list_elements import ListElements

WAITING_STATE: Final = "headgate:waiting"
"""For each element that waits before the operator, in order: (parallelism, control element or encoded batch)."""

Waiting = list[tuple[int, Flow]]
"""Elements that wait, each with the index of the operator that takes it. The last entry is taken first."""


def waiting_lists(waiting: Waiting, parallelism: int) -> dict[int, ListElements]:
    """Return the list state of each operator before which elements wait, by the operator's index.

    Raises the error of a record's class when a record is pickled.
    """
    elements: dict[int, list[bytes]] = {}
    for index, flow in reversed(waiting):
        parts = flow.encode() if isinstance(flow, Batch) else flow
        elements.setdefault(index, []).append(pickle.dumps((parallelism, parts), 5))
    return {index: ListElements(elements=own) for index, own in elements.items()}


def restored_waiting(operators: Sequence[Operator]) -> Waiting:
    """Return the restored waiting elements of a chain of open operators. Raises RestoreError for a missing class."""
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


class OutputHook(Protocol):
    """A step that each emitted batch of an operator passes first: it converts the records, or passes them to a tap."""

    def converted(self, batch: Batch) -> Batch:
        """Return the batch for the next operator."""
        ...


@final
class OutputTap:
    """Calls `see` with each batch that an operator emits, after its conversion."""

    def __init__(self, conversion: OutputHook | None, see: Callable[[Batch], None]) -> None:
        self._conversion = conversion
        self._see = see

    def converted(self, batch: Batch) -> Batch:
        """Return the converted batch, after calling `see` with it unless it is empty."""
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
        """The operator that is running, for error reports."""
        self.pace = Pace(batch_records)
        self.watermark_ms: int | None = None
        """The newest watermark that the chain has emitted."""
        self.waiting: Waiting = []
        """Elements that wait to run through operators."""
        self._clock = clock
        self._each_copied = operators[-1].context.passing.each_copied
        self._pending = [(at, operator) for at, operator in enumerate(operators) if operator.room is not None]
        self._main = [output for output in outputs if output.tag is None]
        self._sides = [output for output in outputs if output.tag is not None]
        makers = [at for at, operator in enumerate(operators) if operator.makes_watermarks]
        self._types: list[OutputHook | None] = [OutputType.of(operator.context.output_type) for operator in operators]
        self._until = [next((at for at in makers if at >= first), None) for first in range(len(operators) + 1)]

    def tap(self, at: int, see: Callable[[Batch], None] | None) -> None:
        """Call `see` with each batch that the operator at index `at` emits; None stops the calls.

        `see` must not change the batch. It does not get records of side outputs.
        """
        own = OutputType.of(self.operators[at].context.output_type)
        self._types[at] = own if see is None else OutputTap(own, see)

    # --- what runs through

    def process(self, batch: Batch, first: int = 0) -> None:
        """Run a batch through the operators from `first` on, and adapt the pace to the time that it took."""
        began_ms = self._clock.monotonic_ms()
        emitted = self._through(batch, first, began_ms)
        if self.waiting:
            emitted += self._work_off(began_ms) or 0
        self._learn(self._clock.monotonic_ms() - began_ms, emitted)

    def process_second(self, batch: Batch) -> None:
        """Run a batch of the second input through all operators, and adapt the pace to the time that it took."""
        began_ms = self._clock.monotonic_ms()
        self.current = self.operators[0]
        emitted = self._through(self.current.process_second(batch), 1, began_ms)
        if self.waiting:
            emitted += self._work_off(began_ms) or 0
        self._learn(self._clock.monotonic_ms() - began_ms, emitted)

    def advance(self, progress: Watermark | WatermarkStatus) -> None:
        """Add a watermark or status after all waiting elements. Call `run` while elements wait."""
        self.waiting.insert(0, (0, progress))

    def run(self) -> None:
        """Do a piece of the waiting work. Call it only while `can_go_on`."""
        began_ms = self._clock.monotonic_ms()
        emitted = self._work_off(began_ms)
        if emitted is not None:
            self._learn(self._clock.monotonic_ms() - began_ms, emitted)

    @property
    def woken(self) -> bool:
        """Whether an operator with pending inputs has elements to emit."""
        for _, operator in self._pending:  # noqa: SIM110  # asked at each piece of work: a generator costs more
            if operator.woken:
                return True
        return False

    def resume(self) -> bool:
        """Emit the ready results of woken operators, downstream operators first; return whether any could emit.

        An operator cannot emit while a downstream operator has no room, or while elements wait downstream.
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
        """Do a piece of the due periodic work, downstream operators first. Call it only while no element waits."""
        for index in reversed(range(len(self.operators))):
            operator = self.operators[index]
            if operator.wake_ms is not None and operator.wake_ms <= now_ms and not self.waiting:
                self.current = operator
                self._queue(index + 1, operator.tick(now_ms))
                self._emit_sides(now_ms)
                self._work_off(now_ms)

    def wake_ms(self) -> float | None:
        """Return when `tick` has work next, on the monotonic clock; None if it has none."""
        return min((operator.wake_ms for operator in self.operators if operator.wake_ms is not None), default=None)

    # --- how it runs

    def end_input(self) -> None:
        """End the input of every operator. Call it when no element waits and no input is pending."""
        for operator in self.operators:
            self.current = operator
            operator.end_input()

    def _queue(self, first: int, elements: list[Flow]) -> None:
        """Let `elements` run in order from operator `first` on, before all other waiting elements."""
        self.waiting += [(first, element) for element in reversed(elements)]

    def _work_off(self, now_ms: float) -> int | None:
        """Process the waiting elements: all, or until a piece of timers has fired and its results were emitted.

        Return how many records were emitted; None if no records were processed.
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

        The run stops at an operator that makes watermarks: its records and watermarks wait for the next operator.
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
        """Return the operator's emitted batch, converted to its output type."""
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
        """Pass the watermark from operator to operator until one fires timers; return how many records they emitted.

        Return None if no timers fired; then the watermark was emitted, or an operator holds or drops it.
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
            if operator.output_lag_ms and not ends:
                watermark = Watermark(max(watermark.timestamp_ms - operator.output_lag_ms, MIN_TIMESTAMP))
        self.broadcast(watermark)
        return None

    def _pass(self, status: WatermarkStatus, first: int) -> None:
        """Emit the status, unless a later operator makes watermarks and decides on the status itself."""
        if self._until[first] is None and not any(at >= first and each.hold(status) for at, each in self._pending):
            self.broadcast(status)

    # --- pending inputs

    @property
    def records_max(self) -> int:
        """The most records that the next piece of work may take."""
        return self._records_max(0)

    @property
    def accepts(self) -> bool:
        """Whether the chain may take records: every output and every operator has room."""
        return self.writable and self._has_room(0)

    @property
    def can_go_on(self) -> bool:
        """Whether the waiting elements can run: the outputs have room, and so have the operators they may reach."""
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
        """Return how many records or timers one piece of work may process for the operators from `first` on."""
        records = min(self.pace.records, self._emitted_max)
        return max(1, min([records, *self._rooms(first)])) if self._pending else records

    @property
    def _emitted_max(self) -> int:
        """The most records that a piece of work should emit, so that slow receivers can take them in a short time."""
        most = NO_LIMIT
        for output in self.outputs:
            if output.records_max < most:
                most = output.records_max
        return most

    @property
    def pending_room(self) -> int:
        """The total room of all operators with pending inputs. It rises by one when an input is done."""
        return sum(self._rooms(0)) if self._pending else 0

    def _learn(self, took_ms: float, emitted: int) -> None:
        """Adapt the size of pieces. A piece that exceeded the room of an operator or an output was too large."""
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
        """Send the side output of the last operator; return how many records were sent.

        Records whose tag no output reads are dropped.
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
        """Send a control element on every output, after all emitted records."""
        self.current = self.operators[-1]
        if isinstance(element, Watermark):
            self.watermark_ms = element.timestamp_ms
        for output in self.outputs:
            output.broadcast(element)

    def overtake(self, barrier: Barrier) -> list[tuple[ChannelAddress, list[Payload]]]:
        """Send a barrier on every output, ahead of unsent batches if overtaking is allowed; return these batches."""
        self.current = self.operators[-1]
        return [part for output in self.outputs for part in output.overtake(barrier)]

    def flush(self) -> bool:
        """Send all records that the outputs have gathered; return whether there were any."""
        self.current = self.operators[-1]
        return max([output.flush() for output in self.outputs], default=False)

    def flush_due(self, now_ms: float) -> bool:
        """Flush the outputs whose buffer timeout has passed; return whether any records were sent."""
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
