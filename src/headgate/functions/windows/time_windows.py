"""Tumbling and sliding windows of event time and of processing time."""

from __future__ import annotations

from typing import Any, final

from headgate.elements import MIN_TIMESTAMP
from headgate.errors import ProgramError
from headgate.functions.windows.assigner import WindowAssigner, is_whole, millis_of
from headgate.functions.windows.trigger import Trigger
from headgate.functions.windows.triggers import EventTimeTrigger, ProcessingTimeTrigger
from headgate.functions.windows.window import TimeWindow
from headgate.types.instant import Duration, Time


class TimeWindows(WindowAssigner[Any, TimeWindow]):
    """Windows of one size, each beginning `slide` after the previous one; tumbling windows slide by their size.

    The windows begin `offset` after multiples of the slide since 1970 UTC: with an offset of -8 hours, windows of a day
    begin at midnight in China.
    """

    def __init__(self, size: int, slide: int, offset: int) -> None:
        name = type(self).__name__
        if not is_whole(size, slide) or size <= 0 or slide <= 0:
            raise ProgramError(
                f"{name} needs a size and a slide of more than 0 ms, as whole numbers, not {size!r} and {slide!r}"
            )
        if not is_whole(offset) or abs(offset) >= slide:
            raise ProgramError(f"{name} needs an offset of whole ms that is shorter than {slide} ms, not {offset!r}")
        self.size = size
        self.slide = slide
        self.offset = offset

    def _windows(self, timestamp: int) -> list[TimeWindow]:
        size, slide = self.size, self.slide
        last = timestamp - (timestamp - self.offset) % slide
        return [TimeWindow(start, start + size) for start in range(last, timestamp - size, -slide)]

    def __repr__(self) -> str:
        slide = "" if self.slide == self.size else f"{self.slide}, "
        return f"{type(self).__name__}({self.size}, {slide}{self.offset})"


class OfEventTime(WindowAssigner[Any, TimeWindow]):
    """Windows of event time."""

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class OfProcessingTime(WindowAssigner[Any, TimeWindow]):
    """Windows of processing time."""

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False


class _EventTimeWindows(OfEventTime, TimeWindows):
    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        check_timestamp(timestamp)
        return self._windows(timestamp)


class _ProcessingTimeWindows(OfProcessingTime, TimeWindows):
    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        return self._windows(context.get_current_processing_time())


@final
class TumblingEventTimeWindows(_EventTimeWindows):
    """Windows of event time that follow each other.

    >>> TumblingEventTimeWindows.of(Time.minutes(1)).assign_windows("record", 61_000, None)
    [TimeWindow(start=60000, end=120000)]
    """

    def __init__(self, size: int, offset: int) -> None:
        super().__init__(size, size, offset)

    @staticmethod
    def of(size: Time | Duration, offset: Time | Duration | None = None) -> TumblingEventTimeWindows:
        """Return the assigner. Raises ProgramError."""
        return TumblingEventTimeWindows(*_millis(size, offset))


@final
class TumblingProcessingTimeWindows(_ProcessingTimeWindows):
    """Windows of processing time that follow each other."""

    def __init__(self, size: int, offset: int) -> None:
        super().__init__(size, size, offset)

    @staticmethod
    def of(size: Time | Duration, offset: Time | Duration | None = None) -> TumblingProcessingTimeWindows:
        """Return the assigner. Raises ProgramError."""
        return TumblingProcessingTimeWindows(*_millis(size, offset))


@final
class SlidingEventTimeWindows(_EventTimeWindows):
    """Windows of event time that overlap: one begins every `slide`.

    >>> SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)).assign_windows("record", 7_000, None)
    [TimeWindow(start=5000, end=15000), TimeWindow(start=0, end=10000)]
    """

    @staticmethod
    def of(
        size: Time | Duration, slide: Time | Duration, offset: Time | Duration | None = None
    ) -> SlidingEventTimeWindows:
        """Return the assigner. Raises ProgramError."""
        size_ms, offset_ms = _millis(size, offset)
        return SlidingEventTimeWindows(size_ms, millis_of("the slide", slide), offset_ms)


@final
class SlidingProcessingTimeWindows(_ProcessingTimeWindows):
    """Windows of processing time that overlap: one begins every `slide`."""

    @staticmethod
    def of(
        size: Time | Duration, slide: Time | Duration, offset: Time | Duration | None = None
    ) -> SlidingProcessingTimeWindows:
        """Return the assigner. Raises ProgramError."""
        size_ms, offset_ms = _millis(size, offset)
        return SlidingProcessingTimeWindows(size_ms, millis_of("the slide", slide), offset_ms)


def check_timestamp(timestamp: int) -> None:
    """Raise ProgramError for a record without a timestamp."""
    if timestamp == MIN_TIMESTAMP:
        raise ProgramError(
            "a window of event time was given a record without a timestamp: call assign_timestamps_and_watermarks("
            "WatermarkStrategy...with_timestamp_assigner(...)) before it, or use windows of processing time"
        )


def _millis(size: Time | Duration, offset: Time | Duration | None) -> tuple[int, int]:
    return millis_of("the size", size), 0 if offset is None else millis_of("the offset", offset)
