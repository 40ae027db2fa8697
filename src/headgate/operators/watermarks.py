"""Timestamps and watermarks: assigns timestamps to records, and inserts watermarks into the stream.

A `WatermarkMaker` applies a strategy, inside a source or in an `AssignOperator`. The built-in strategies cost one pass
over the timestamps of a batch. A user's generator is called for each record, and a watermark that it emits splits the
batch.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from operator import index
from types import ModuleType
from typing import Any, Final, NoReturn, Protocol, final

from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Batch, Flow, Watermark, WatermarkStatus
from headgate.errors import ProgramError
from headgate.functions.watermarks import (
    BoundedOutOfOrderness,
    ColumnTime,
    OwnGenerator,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from headgate.operators.base import USER_ERRORS, Operator, OperatorContext, UserCodeError, expect, failed_at
from headgate.operators.input_clock import InputClock, InputOfChannels
from headgate.options import WATERMARK_INTERVAL

STALLS_PER_TIMEOUT: Final = 4
"""A tick that is late by more than this fraction (1/4) of the idle timeout counts as a stall, not as idleness."""


@final
class MarkedFlow(WatermarkOutput):
    """Gathers records, watermarks and statuses in order, and drops watermarks that do not rise."""

    def __init__(self) -> None:
        self.out: list[Flow] = []
        self._watermark_ms = MIN_TIMESTAMP
        self._idle = False

    def emit_watermark(self, timestamp_ms: int) -> None:
        try:
            whole_ms = index(timestamp_ms)
        except TypeError as error:
            raise ProgramError(f"a watermark must be a whole number of milliseconds, not {timestamp_ms!r}") from error
        timestamp_ms = min(whole_ms, MAX_TIMESTAMP - 1)  # MAX_TIMESTAMP would end event time
        if timestamp_ms > self._watermark_ms:
            self.mark_active()
            self._watermark_ms = timestamp_ms
            self.out.append(Watermark(timestamp_ms))

    def mark_idle(self) -> None:
        if not self._idle:
            self._idle = True
            self.out.append(WatermarkStatus(idle=True))

    def mark_active(self) -> None:
        if self._idle:
            self._idle = False
            self.out.append(WatermarkStatus(idle=False))

    def take(self) -> list[Flow]:
        """Return the gathered elements, and remove them."""
        out, self.out = self.out, []
        return out


class _Progress(Protocol):
    """Derives watermarks from records."""

    def on_batch(self, batch: Batch, marks: MarkedFlow) -> None:
        """Add the batch to `marks`, with the watermarks between and after its records."""
        ...

    def on_period(self, marks: MarkedFlow) -> None:
        """Add the periodic watermark to `marks`, if it has risen."""
        ...


@final
class _NoProgress:
    """Emits no watermarks."""

    def on_batch(self, batch: Batch, marks: MarkedFlow) -> None:
        marks.out.append(batch)

    def on_period(self, marks: MarkedFlow) -> None:
        """There are no periodic watermarks."""


@final
class _Bounded:
    """Emits watermarks at a fixed distance below the highest timestamp."""

    def __init__(self, bound_ms: int, native: ModuleType | None) -> None:
        self._bound_ms = bound_ms
        self._greatest: Callable[[list[int]], int] = max if native is None else native.greatest
        self._greatest_ms: int | None = None

    def on_batch(self, batch: Batch, marks: MarkedFlow) -> None:
        if batch.timestamps:
            greatest_ms = self._greatest(batch.timestamps)
            if self._greatest_ms is None or greatest_ms > self._greatest_ms:
                self._greatest_ms = greatest_ms
        marks.out.append(batch)

    def on_period(self, marks: MarkedFlow) -> None:
        if self._greatest_ms is not None:
            marks.emit_watermark(self._greatest_ms - self._bound_ms - 1)


@final
class _Own:
    """Emits the watermarks of a user's generator."""

    def __init__(self, supplier: Callable[[], WatermarkGenerator]) -> None:
        try:
            self._generator: WatermarkGenerator = expect(WatermarkGenerator, supplier(), supplier, "the supplier")
        except USER_ERRORS as error:
            raise UserCodeError(during="making the WatermarkGenerator") from error

    def on_batch(self, batch: Batch, marks: MarkedFlow) -> None:
        on_event, out = self._generator.on_event, marks.out
        times = repeat(MIN_TIMESTAMP) if batch.timestamps is None else batch.timestamps
        position = iter(batch.records)
        start, before = 0, len(out)
        try:
            for stop, (value, time) in enumerate(zip(position, times, strict=False), 1):
                on_event(value, time, marks)
                if len(out) > before:
                    out.insert(before, batch.piece(start, stop))
                    start, before = stop, len(out)
        except USER_ERRORS as error:
            raise failed_at(batch.records, position) from error
        if start < len(batch):
            out.append(batch.piece(start, len(batch)) if start else batch)

    def on_period(self, marks: MarkedFlow) -> None:
        try:
            self._generator.on_periodic_emit(marks)
        except USER_ERRORS as error:
            raise UserCodeError(during="on_periodic_emit()") from error


def _progress(strategy: WatermarkStrategy, native: ModuleType | None) -> _Progress:
    match strategy.progress:
        case None:
            return _NoProgress()
        case BoundedOutOfOrderness(bound_ms):
            return _Bounded(bound_ms, native)
        case OwnGenerator(supplier):
            return _Own(supplier)
        case ColumnTime():
            from headgate.operators.columns.event_time import LatestTime  # noqa: PLC0415  # Arrow takes long to load

            return LatestTime(strategy.progress)


@final
class WatermarkMaker:
    """Makes timestamps and watermarks in one subtask by a strategy. `wake_ms` and `tick` are as in `Operator`."""

    def __init__(self, strategy: WatermarkStrategy, context: OperatorContext, inputs: InputClock) -> None:
        """Make the maker for the subtask of `context`; `inputs` is the clock that measures the idle timeout.

        Raises `UserCodeError`.
        """
        clock = context.services.clock
        interval_ms = context.settings.get(WATERMARK_INTERVAL)  # 0 for no periodic watermarks
        now_ms = clock.monotonic_ms()
        self._clock = clock
        self._inputs = inputs
        self._assign = strategy.extract_timestamp
        self._progress = _progress(strategy, context.native)
        self._marks = MarkedFlow()
        self._interval_ms = interval_ms
        self._period_ms = now_ms + interval_ms if strategy.progress is not None and interval_ms > 0 else None
        self._timeout_ms = strategy.idle_timeout_ms
        self._record_ms = inputs.read()
        """When the last record arrived, by the clock `inputs`."""
        self._paused_ms: float | None = None
        self._timed_out = False
        self._idle_due_ms = None if self._timeout_ms is None else now_ms + self._timeout_ms
        self.wake_ms = self._next_ms()

    def mark(self, batch: Batch) -> list[Flow]:
        """Return the records with timestamps, and the watermarks and statuses among them. Raises `UserCodeError`."""
        if not len(batch):
            return []
        if self._timeout_ms is not None:
            self._note_records()
        if self._assign is not None:
            batch.timestamps = _timestamps(batch, self._assign)
        self._progress.on_batch(batch, self._marks)
        return self._marks.take()

    def _note_records(self) -> None:
        self._record_ms = self._inputs.read()
        if self._timed_out:
            self._timed_out = False
            self._marks.mark_active()
            self._idle_due_ms = self._clock.monotonic_ms() + (self._timeout_ms or 0)
            self.wake_ms = self._next_ms()

    def pause(self) -> None:
        """Stop measuring idleness until `resume`: records may be available but are not read."""
        if self._paused_ms is None:
            self._paused_ms = self._inputs.read()

    def resume(self) -> None:
        """Measure idleness again."""
        if self._paused_ms is not None:
            self._record_ms += self._inputs.read() - self._paused_ms
            self._paused_ms = None

    def tick(self, now_ms: float) -> list[Flow]:
        """Return the periodic watermark, and the idle status if the timeout has passed. Raises `UserCodeError`.

        Time in which the subtask could not take records does not count as idle.
        """
        if self._stalled(now_ms):
            self._record_ms = self._inputs.read()
        if self._period_ms is not None and now_ms >= self._period_ms:
            self._period_ms = now_ms + self._interval_ms
            if not self._timed_out:
                self._progress.on_period(self._marks)
        if self._timeout_ms is not None and self._idle_due_ms is not None and now_ms >= self._idle_due_ms:
            self._look_for_idleness(self._timeout_ms, now_ms)
        self.wake_ms = self._next_ms()
        return self._marks.take()

    def _look_for_idleness(self, timeout_ms: int, now_ms: float) -> None:
        """Mark the stream idle if the timeout has passed, else schedule the next check."""
        left_ms = timeout_ms - (self._inputs.read() - self._record_ms)
        if self._paused_ms is None and left_ms <= 0:
            self._timed_out, self._idle_due_ms = True, None
            self._marks.mark_idle()
        else:
            stands = self._inputs.stands or self._paused_ms is not None
            self._idle_due_ms = now_ms + (max(left_ms, timeout_ms / STALLS_PER_TIMEOUT) if stands else left_ms)

    def _stalled(self, now_ms: float) -> bool:
        if self._timeout_ms is None or self.wake_ms is None:
            return False
        return now_ms - self.wake_ms > self._timeout_ms / STALLS_PER_TIMEOUT

    def end(self) -> None:
        """End the input: no periodic watermark and no idle status follows."""
        self._period_ms = self._timeout_ms = self._idle_due_ms = self.wake_ms = None

    def _next_ms(self) -> float | None:
        return min((time_ms for time_ms in (self._period_ms, self._idle_due_ms) if time_ms is not None), default=None)


def _timestamps(batch: Batch, assign: Callable[[Any, int], int]) -> list[int]:
    before = repeat(MIN_TIMESTAMP) if batch.timestamps is None else batch.timestamps
    position = iter(batch.records)
    try:
        times = [assign(value, time) for value, time in zip(position, before, strict=False)]
    except USER_ERRORS as error:
        raise failed_at(batch.records, position) from error
    try:
        return array("q", times).tolist()  # plain ints, also of numpy's
    except (TypeError, OverflowError):
        _refuse(batch, times)


def _refuse(batch: Batch, times: list[int]) -> NoReturn:
    """Raise the error for the first record with an invalid timestamp."""
    at = next(place for place, time in enumerate(times) if not _is_timestamp(time))
    raise UserCodeError(record=batch.records[at]) from ProgramError(
        f"the timestamp assigner returned {times[at]!r}, but must return a whole number of milliseconds of 64 bits"
    )


def _is_timestamp(time: int) -> bool:
    try:
        array("q", [time])
    except (TypeError, OverflowError):
        return False
    return True


@final
class AssignOperator(Operator):
    """Assigns new timestamps and watermarks to a stream, in place of its own."""

    makes_watermarks = True

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._strategy = strategy

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._maker = WatermarkMaker(self._strategy, context, InputOfChannels(context.services))
        self.wake_ms = self._maker.wake_ms

    def mark(self, batch: Batch) -> list[Flow]:
        marked = self._maker.mark(batch)
        self.wake_ms = self._maker.wake_ms
        return marked

    def tick(self, now_ms: float) -> list[Flow]:
        ticked = self._maker.tick(now_ms)
        self.wake_ms = self._maker.wake_ms
        return ticked

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        """End the input: the only watermark that reaches this operator is the last one."""
        self._maker.end()
        self.wake_ms = None
        return None


@final
@dataclass(frozen=True, slots=True)
class AssignFactory:
    """Makes the operator of a `WatermarkStrategy`."""

    strategy: WatermarkStrategy

    def create(self) -> AssignOperator:
        return AssignOperator(self.strategy)
