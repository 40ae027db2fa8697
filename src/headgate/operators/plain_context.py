"""What a function on a stream without keys may ask: the timestamp of the record, and the time."""

from __future__ import annotations

from typing import NoReturn, Self, final

from headgate.clock import Clock
from headgate.elements import MIN_TIMESTAMP
from headgate.errors import StateAccessError
from headgate.functions.api import ProcessFunction
from headgate.functions.context import Context, TimerService


class RecordContext(Context):
    """A context that an operator moves from record to record."""

    __slots__ = ()

    def at(self, timestamp_ms: int | None) -> Self:
        """Set the timestamp of the current record; return the context itself."""
        self._timestamp = timestamp_ms
        return self


@final
class PlainTimerService(TimerService):
    """The times that an operator without keys goes by. It has no timers."""

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
