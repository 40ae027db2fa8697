"""Window assigners: they say which windows a record belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from numbers import Integral
from typing import Any, Generic, TypeVar

from headgate.errors import ProgramError
from headgate.functions.context import RuntimeContext
from headgate.functions.windows.trigger import Trigger
from headgate.functions.windows.window import Window
from headgate.types.instant import Duration, Time

T = TypeVar("T")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2", bound=Window)


class WindowAssigner(ABC, Generic[T, W]):
    """Assigns windows to records. One object serves all keys of a subtask: keep data of a key in keyed state.

    >>> from headgate.functions.windows.triggers import EventTimeTrigger
    >>> from headgate.functions.windows.window import TimeWindow
    >>> class Months(WindowAssigner):
    ...     def assign_windows(self, element, timestamp, context):
    ...         return [TimeWindow(month_start(timestamp), month_end(timestamp))]
    ...     def get_default_trigger(self, env):
    ...         return EventTimeTrigger()
    ...     def is_event_time(self):
    ...         return True
    """

    class WindowAssignerContext(ABC):
        """Tells an assigner about the current record."""

        __slots__ = ()

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the time of the wall clock in milliseconds."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Return the context of the operator, which gives state of the current key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """Return the windows of a record; `timestamp` is -2**63 where the stream has no timestamps."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """Return the trigger that applies when the program sets none."""

    def get_window_serializer(self) -> Any:
        """Return the serializer that PyFlink needs; headgate never calls this, and it may be left out."""
        return None

    @abstractmethod
    def is_event_time(self) -> bool:
        """Return whether windows end when the watermark passes, instead of when the wall clock does."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows may merge, as session windows do."""

    class MergeCallback(ABC, Generic[W2]):
        """Receives the windows to merge."""

        __slots__ = ()

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Replace these windows by `merge_result`."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]) -> None:
        """Call `callback.merge` for each group of these windows of a key that merge into one."""


class SessionWindowTimeGapExtractor(ABC):
    """Decides how long a session lasts after a record."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Return the gap in milliseconds, which is more than 0."""


def millis_of(what: str, length: Time | Duration) -> int:
    """Return a length of time in milliseconds. Raises ProgramError that names `what` for any other value."""
    if isinstance(length, Time):
        return length.to_milliseconds()
    if isinstance(length, Duration):
        return length.to_millis()
    raise ProgramError(f"{what} must be a length of time such as Time.minutes(5), not {length!r}")


def is_whole(*numbers: object) -> bool:
    """Return whether all are whole numbers.

    >>> is_whole(1, 2), is_whole(1, 0.5), is_whole(True)
    (True, False, False)
    """
    return all(isinstance(number, Integral) and not isinstance(number, bool) for number in numbers)
