"""Operators whose results come later: until then an input is pending, and part of every snapshot.

    class Asked(PendingOperator):
        def begin(self, pending):
            self.context.services.submit_waiting(partial(ask, pending.record), partial(self.done, pending))

Watermarks and statuses keep their place between records, in whatever order the results arrive.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Final, final

from headgate.elements import MIN_TIMESTAMP, Barrier, Batch, Flow, Watermark, WatermarkStatus
from headgate.operators.base import Operator, OperatorContext, OperatorSnapshot, UserCodeError
from headgate.state.operator.list_elements import ListElements
from headgate.types.typed_key import key_hash_code

PENDING_STATE: Final = "headgate:pending"
"""One element for each pending input, in order of arrival: (record, timestamp, key, the last watermark before it)."""


@final
@dataclass(slots=True, eq=False)
class PendingInput:
    """A record whose results have not arrived, with its timestamp and key, if any."""

    record: Any
    timestamp: int | None
    key: Any


@final
@dataclass(frozen=True, slots=True)
class TimersDue:
    """Replaces a watermark that was waiting in a restored snapshot: it fires due timers, but is not emitted."""

    timestamp_ms: int


Progress = Watermark | WatermarkStatus | TimersDue


@final
@dataclass(slots=True)
class _Segment:
    """The inputs between two watermarks or statuses, in order of arrival, with results, None until they arrive.

    `done` holds the inputs with results in the order in which the results arrived, if results leave in that order.
    `end` is the watermark or status after the inputs; None while inputs are added.
    """

    inputs: dict[PendingInput, list[Any] | None] = field(default_factory=dict)
    done: deque[PendingInput] = field(default_factory=deque)
    end: Progress | None = None


class PendingOperator(Operator, ABC):
    """Begins work for each input, for at most `capacity` inputs at a time. Only the slot's loop calls it.

    With `ordered`, results leave in the order of the inputs, else in the order in which they arrive. With `keyed`, a
    restore at another parallelism gives a pending input to the subtask that owns its key.
    """

    def __init__(self, capacity: int, *, ordered: bool, keyed: bool = False) -> None:
        self._capacity = capacity
        self._ordered = ordered
        self._keyed = keyed
        self._segments: deque[_Segment] = deque([_Segment()])
        self._segment_of: dict[PendingInput, _Segment] = {}
        self._to_begin: deque[PendingInput] = deque()
        self._under_way = 0

    @abstractmethod
    def begin(self, pending: PendingInput) -> None:
        """Begin the work for an input. When its results arrive, the loop must call `done`."""

    @property
    def room(self) -> int:
        return self._capacity - len(self._segment_of)

    @property
    def has_pending(self) -> bool:
        return bool(self._segment_of) or len(self._segments) > 1

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._restore(context)

    def _restore(self, context: OperatorContext) -> None:
        for record, timestamp, key, _ in context.restored.values(PENDING_STATE):
            self._add(PendingInput(record, timestamp, key))

    def start(self) -> None:
        self._begin()

    def process(self, batch: Batch) -> Batch:
        times, keys = batch.timestamps or repeat(None), batch.keys or repeat(None)
        for record, timestamp, key in zip(batch.records, times, keys):  # noqa: B905  # lengths agree
            self._add(PendingInput(record, timestamp, key))
        self._begin()
        return Batch([])

    def _add(self, pending: PendingInput) -> None:
        segment = self._segments[-1]
        segment.inputs[pending] = None
        self._segment_of[pending] = segment
        self._to_begin.append(pending)

    def _begin(self) -> None:
        while self._to_begin and self._under_way < self._capacity:
            self._under_way += 1
            self.begin(self._to_begin.popleft())

    def done(self, pending: PendingInput, results: list[Any]) -> None:
        """Set the results of an input, which `resume` emits when it is their turn. The loop calls it once per input."""
        segment = self._segment_of[pending]
        segment.inputs[pending] = results
        if not self._ordered:
            segment.done.append(pending)
        self._under_way -= 1
        self.woken = True

    def hold(self, progress: Watermark | WatermarkStatus) -> bool:
        if not self.has_pending:
            return False
        self.put_behind(progress)
        return True

    def put_behind(self, progress: Progress) -> None:
        """Put a watermark or status after all inputs so far."""
        self._segments[-1].end = progress
        self._segments.append(_Segment())

    def resume(self, records_max: int) -> list[Flow]:
        self.woken = False
        self._begin()
        flows: list[Flow] = []
        count = 0
        while count < records_max:
            segment = self._segments[0]
            pending = self._first_done(segment)
            if pending is not None:
                results = self._take(segment, pending)
                count += len(results)
                _append(flows, results, pending.timestamp)
            elif segment.inputs or segment.end is None:
                return flows
            elif self.reach(segment.end):
                if not isinstance(segment.end, TimersDue):
                    flows.append(segment.end)
                self._segments.popleft()
        self.woken = True
        return flows

    def reach(self, progress: Progress) -> bool:
        """Act on a watermark or status before which all inputs are done.

        Return True to emit it now. Return False if the action added inputs, which must end first.
        """
        return True

    def _first_done(self, segment: _Segment) -> PendingInput | None:
        """Return the input whose results leave next; None if no results may leave yet."""
        if not self._ordered:
            return segment.done[0] if segment.done else None
        first = next(iter(segment.inputs), None)
        return None if first is None or segment.inputs[first] is None else first

    def _take(self, segment: _Segment, pending: PendingInput) -> list[Any]:
        """Remove the input and return its results."""
        if not self._ordered:
            segment.done.popleft()
        del self._segment_of[pending]
        return segment.inputs.pop(pending) or []

    def in_order(self) -> Iterator[tuple[PendingInput, int]]:
        """Yield the inputs in the order in which a restore begins them, each with the last watermark before it."""
        after_ms = MIN_TIMESTAMP
        for segment in self._segments:
            yield from zip(segment.inputs, repeat(after_ms))  # ends with the inputs
            after_ms = time_of(segment.end, after_ms)

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        inputs = list(self.in_order())
        values = [(pending.record, pending.timestamp, pending.key, after_ms) for pending, after_ms in inputs]
        if self._keyed:
            elements = ListElements.by_key(values, [key_hash_code(pending.key) for pending, _ in inputs])
        else:
            elements = ListElements.of(values)
        return OperatorSnapshot(uid=self.context.uid, lists={PENDING_STATE: elements})


def time_of(progress: Progress | None, before_ms: int) -> int:
    """Return the event time of a watermark or `TimersDue`; for a status, which has no time, return `before_ms`."""
    return progress.timestamp_ms if isinstance(progress, Watermark | TimersDue) else before_ms


def _append(flows: list[Flow], results: list[Any], timestamp: int | None) -> None:
    """Append results to the last batch, or to a new batch."""
    last = flows[-1] if flows else None
    if not isinstance(last, Batch) or (last.timestamps is None) != (timestamp is None):
        last = Batch([], None if timestamp is None else [])
        flows.append(last)
    last.records += results
    if last.timestamps is not None and timestamp is not None:
        last.timestamps += [timestamp] * len(results)


class CallingOperator(PendingOperator, ABC):
    """An operator that makes calls as coroutines on the slot's asyncio loop, `_loop`, which `open` sets.

    An error of a call fails the subtask.
    """

    _failure: UserCodeError | None = None

    def open(self, context: OperatorContext) -> None:
        self._loop = context.services.event_loop()
        super().open(context)

    def _fail(self, failure: UserCodeError, cause: BaseException) -> None:
        """Let `resume` raise the first failure."""
        if self._failure is None:
            self._failure = failure
            failure.__cause__ = cause
            self.woken = True

    def resume(self, records_max: int) -> list[Flow]:
        if self._failure is not None:
            raise self._failure
        return super().resume(records_max)

    def _cancel(self, calls: Iterable[asyncio.Task[Any]]) -> None:
        """Cancel calls and step the loop, so that their coroutines can end."""
        for task in calls:
            task.cancel()
        self._loop.last_step()
