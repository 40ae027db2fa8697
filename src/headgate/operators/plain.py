"""Operators on streams without keys whose functions get a context: the record's timestamp, and the time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
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
FlatCall = Callable[[Any], "Iterable[Any] | None"]
"""A call with a record, which returns the results for the record."""


@final
class RecordLoop:
    """Calls functions for the records of a batch, and takes their results. `extend` appends results to a list.

    A list iterator of the records tells which record failed.
    """

    def __init__(self, extend: Extend) -> None:
        self._extend = extend

    def run(self, position: Iterator[Any], call: RecordCall[C], context: C) -> list[Any]:
        """Call `call` with each record and the context; return all results."""
        extend = self._extend
        out: list[Any] = []
        for value in position:
            results = call(value, context)
            if results is not None:
                extend(out, results)
        return out

    def run_timed(
        self, timestamps: list[int], position: Iterator[Any], call: RecordCall[C], context: C
    ) -> tuple[list[Any], list[int]]:
        """Do as `run`, with the timestamp of each record in the context; return all results, and their timestamps."""
        extend = self._extend
        out: list[Any] = []
        times: list[int] = []
        for time, value in zip(timestamps, position):  # noqa: B905  # lengths agree
            results = call(value, context.at(time))
            if results is not None:
                extend(out, results)
                times += [time] * (len(out) - len(times))
        return out, times

    def flat(self, position: Iterator[Any], call: FlatCall) -> list[Any]:
        """Call `call` with each record; return all results."""
        extend = self._extend
        out: list[Any] = []
        for value in position:
            results = call(value)
            if results is not None:
                extend(out, results)
        return out

    def flat_timed(self, timestamps: list[int], position: Iterator[Any], call: FlatCall) -> tuple[list[Any], list[int]]:
        """Do as `flat`; return all results, with the timestamps of their records."""
        extend = self._extend
        out: list[Any] = []
        times: list[int] = []
        for time, value in zip(timestamps, position):  # noqa: B905  # lengths agree
            results = call(value)
            if results is not None:
                extend(out, results)
                times += [time] * (len(out) - len(times))
        return out, times


def record_loop(native: ModuleType | None, extend: Extend) -> RecordLoop:
    """Return the loop of an operator. The loop is compiled if the job runs compiled."""
    made: RecordLoop = (RecordLoop if native is None else native.RecordLoop)(extend)
    return made


def process_each(batch: Batch, loop: RecordLoop, call: RecordCall[C], context: C, during: str = "") -> Batch:
    """Call `call` for each record; return all results, including side output. Raises `UserCodeError`.

    `during` names the method, for operators that call several.
    """
    records, timestamps = batch.records, batch.timestamps
    position = iter(records)
    try:
        if timestamps is None:
            return Batch(loop.run(position, call, context.at(None)))
        return Batch(*loop.run_timed(timestamps, position, call, context))
    except USER_ERRORS as error:
        raise failed_at(records, position, during) from error


class PlainOperator(UserOperator):
    """Runs a user function for records without keys, and tracks the watermark."""

    def open(self, context: OperatorContext) -> None:
        self._times = PlainTimerService(context.services.clock)
        self._loop = record_loop(context.native, context.passing.extend)
        super().open(context)

    def _run(self, batch: Batch, call: RecordCall[C], context: C, during: str = "") -> Batch:
        out = process_each(batch, self._loop, call, context, during)
        if not OutputTag.in_use:
            return out
        main, self.sides = split_sides(out.records, out.timestamps)
        return main

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        self._times.watermark_ms = watermark_ms
        return None
