"""Operators on streams without keys whose functions get a context: the record's timestamp, and the time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Self, TypeVar, final

from headgate.clock import Clock
from headgate.elements import MIN_TIMESTAMP, Batch
from headgate.errors import StateAccessError
from headgate.functions.api import ProcessFunction
from headgate.functions.context import Context, TimerService
from headgate.operators.base import USER_ERRORS, OperatorContext, failed_at
from headgate.operators.outputs import split_sides
from headgate.operators.user_function import UserOperator
from headgate.types.output_tag import OutputTag
from headgate.types.record_copies import Extend


class RecordContext(Context):
    """A context that an operator moves from record to record."""

    __slots__ = ()

    def at(self, timestamp_ms: int | None) -> Self:
        """Set the timestamp of the current record; return the context itself."""
        self._timestamp = timestamp_ms
        return self


@final
class PlainTimerService(TimerService):
    """The current times of an operator without keys. Setting or deleting a timer raises `StateAccessError`."""

    __slots__ = ("_clock", "watermark_ms")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.watermark_ms = MIN_TIMESTAMP

    def current_processing_time(self) -> int:
        return self._clock.wall_ms()

    def current_watermark(self) -> int:
        return self.watermark_ms

    def register_event_time_timer(self, timestamp: int) -> None:
        self._refuse("setting")

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._refuse("setting")

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._refuse("deleting")

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._refuse("deleting")

    def _refuse(self, doing: str) -> NoReturn:
        raise StateAccessError(
            f"{doing} timers is only supported on a keyed stream: call key_by(...) before it, and derive the function "
            "from its keyed variant"
        )


@final
class PlainContext(RecordContext, ProcessFunction.Context):
    """The context of the current record of a stream without keys."""

    __slots__ = ("_times",)

    def __init__(self, times: TimerService) -> None:
        super().__init__()
        self._times = times

    def timer_service(self) -> TimerService:
        return self._times


C = TypeVar("C", bound=RecordContext)
RecordCall = Callable[[Any, C], "Iterable[Any] | None"]
"""A call with a record and a context, which returns the results for the record."""


def process_each(batch: Batch, call: RecordCall[C], context: C, extend: Extend, during: str = "") -> Batch:
    """Call `call` for each record; return all results, including side output. Raises `UserCodeError`.

    `extend` appends the results of a call to a list. `during` names the method, for operators that call several.
    """
    records, timestamps = batch.records, batch.timestamps
    position = iter(records)
    out: list[Any] = []
    times: list[int] = []
    try:
        if timestamps is None:
            context.at(None)
            for value in position:
                results = call(value, context)
                if results is not None:
                    extend(out, results)
        else:
            for time, value in zip(timestamps, position, strict=True):
                results = call(value, context.at(time))
                if results is not None:
                    extend(out, results)
                    times += [time] * (len(out) - len(times))
    except USER_ERRORS as error:
        raise failed_at(records, position, during) from error
    return Batch(out, None if timestamps is None else times)


class PlainOperator(UserOperator):
    """Runs a user function for records without keys, and tracks the watermark."""

    def open(self, context: OperatorContext) -> None:
        self._times = PlainTimerService(context.services.clock)
        self._extend = context.passing.extend
        super().open(context)

    def _run(self, batch: Batch, call: RecordCall[C], context: C, during: str = "") -> Batch:
        out = process_each(batch, call, context, self._extend, during)
        if not OutputTag.in_use:
            return out
        main, self.sides = split_sides(out.records, out.timestamps)
        return main

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        self._times.watermark_ms = watermark_ms
        return None
