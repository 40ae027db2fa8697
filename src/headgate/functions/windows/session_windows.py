"""Session windows: records of a key with no more than a gap between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, final

from headgate.errors import ProgramError
from headgate.functions.windows.assigner import (
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
    WindowAssigner,
    is_whole,
    millis_of,
)
from headgate.functions.windows.time_windows import OfEventTime, OfProcessingTime, check_timestamp
from headgate.functions.windows.window import TimeWindow
from headgate.types.instant import Duration, Time


class _Sessions(MergingWindowAssigner[Any, TimeWindow]):
    """Each record opens a window as long as its gap; windows that overlap or touch merge."""

    @abstractmethod
    def gap_ms(self, element: Any) -> int:
        """Return how many milliseconds a session lasts after this record."""

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        TimeWindow.merge_windows(windows, callback)


class _FixedGap(_Sessions):
    def __init__(self, session_gap: int) -> None:
        if not is_whole(session_gap) or session_gap <= 0:
            raise ProgramError(
                f"{type(self).__name__} needs a gap of more than 0 ms, as a whole number, not {session_gap!r}"
            )
        self.session_gap = session_gap

    def gap_ms(self, element: Any) -> int:
        return self.session_gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_gap})"


class _DynamicGap(_Sessions):
    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        if not isinstance(session_window_time_gap_extractor, SessionWindowTimeGapExtractor):
            raise ProgramError(
                "a gap that depends on the record is given by a SessionWindowTimeGapExtractor, not "
                f"{session_window_time_gap_extractor!r}"
            )
        self._extractor = session_window_time_gap_extractor

    def gap_ms(self, element: Any) -> int:
        gap_ms = self._extractor.extract(element)
        if not is_whole(gap_ms) or gap_ms <= 0:
            raise ProgramError(
                f"{type(self._extractor).__name__}.extract() returned {gap_ms!r}, but the gap of a session must be "
                "more than 0 ms, as a whole number"
            )
        return gap_ms

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self._extractor).__name__})"


class _EventTimeSessions(OfEventTime, _Sessions):
    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        check_timestamp(timestamp)
        return [TimeWindow(timestamp, timestamp + self.gap_ms(element))]


class _ProcessingTimeSessions(OfProcessingTime, _Sessions):
    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        now_ms = context.get_current_processing_time()
        return [TimeWindow(now_ms, now_ms + self.gap_ms(element))]


@final
class DynamicEventTimeSessionWindows(_DynamicGap, _EventTimeSessions):
    """Sessions of event time whose gap depends on the record."""

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows:
        """Return the assigner. Raises ProgramError."""
        return DynamicEventTimeSessionWindows(extractor)


@final
class DynamicProcessingTimeSessionWindows(_DynamicGap, _ProcessingTimeSessions):
    """Sessions of processing time whose gap depends on the record."""

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicProcessingTimeSessionWindows:
        """Return the assigner. Raises ProgramError."""
        return DynamicProcessingTimeSessionWindows(extractor)


@final
class EventTimeSessionWindows(_FixedGap, _EventTimeSessions):
    """Sessions of event time: a session ends when the watermark is a gap past its last record."""

    @staticmethod
    def with_gap(size: Time | Duration) -> EventTimeSessionWindows:
        """Return the assigner. Raises ProgramError."""
        return EventTimeSessionWindows(millis_of("the gap", size))

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows:
        """Return an assigner whose gap depends on the record."""
        return DynamicEventTimeSessionWindows(extractor)


@final
class ProcessingTimeSessionWindows(_FixedGap, _ProcessingTimeSessions):
    """Sessions of processing time: a session ends when no record has come for a gap."""

    @staticmethod
    def with_gap(size: Time | Duration) -> ProcessingTimeSessionWindows:
        """Return the assigner. Raises ProgramError."""
        return ProcessingTimeSessionWindows(millis_of("the gap", size))

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicProcessingTimeSessionWindows:
        """Return an assigner whose gap depends on the record."""
        return DynamicProcessingTimeSessionWindows(extractor)
