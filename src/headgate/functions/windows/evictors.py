"""Evictors: they remove records from a window before, or after, its function is called."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

from headgate.errors import ProgramError
from headgate.functions.windows.assigner import is_whole, millis_of
from headgate.functions.windows.window import Window
from headgate.types.instant import Duration, Time

T = TypeVar("T")
W = TypeVar("W", bound=Window)


@final
@dataclass(slots=True)
class TimestampedValue(Generic[T]):
    """A record in a window. `timestamp` is None where the stream has no timestamps."""

    value: T
    timestamp: int | None


class Evictor(ABC, Generic[T, W]):
    """Removes records from a window that is evaluated: from the list `elements`, in place.

    The list is in order of arrival. Removed records are gone from the window. With an evictor, a window keeps all its
    records, also where they are reduced or aggregated.

    >>> class OnlyNewest(Evictor):
    ...     def evict_before(self, elements, size, window, ctx):
    ...         del elements[:-1]
    """

    class EvictorContext(ABC):
        """Gives an evictor the time."""

        __slots__ = ()

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the time of the wall clock in milliseconds."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the event time that has been reached, -2**63 before the first watermark."""

    def evict_before(
        self, elements: list[TimestampedValue[T]], size: int, window: W, ctx: Evictor.EvictorContext
    ) -> None:
        """Remove records that the function is not to see; `size` is how many there are."""

    def evict_after(
        self, elements: list[TimestampedValue[T]], size: int, window: W, ctx: Evictor.EvictorContext
    ) -> None:
        """Remove records that the function has seen for the last time."""


class _BeforeOrAfter(Evictor[T, W]):
    def __init__(self, do_evict_after: bool) -> None:
        self._after = do_evict_after

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue[T]]) -> None:
        """Remove elements, in place."""

    def evict_before(
        self, elements: list[TimestampedValue[T]], size: int, window: W, ctx: Evictor.EvictorContext
    ) -> None:
        if not self._after:
            self._evict(elements)

    def evict_after(
        self, elements: list[TimestampedValue[T]], size: int, window: W, ctx: Evictor.EvictorContext
    ) -> None:
        if self._after:
            self._evict(elements)


@final
class CountEvictor(_BeforeOrAfter[T, W]):
    """Keeps the newest `max_count` records."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        if not is_whole(max_count) or max_count < 0:
            raise ProgramError(f"a CountEvictor keeps at least 0 records, as a whole number, not {max_count!r}")
        self._max_count = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor[Any, Any]:
        """Return the evictor. Raises ProgramError."""
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[T]]) -> None:
        del elements[: max(0, len(elements) - self._max_count)]


@final
class TimeEvictor(_BeforeOrAfter[T, W]):
    """Keeps the records that are less than `window_size` older than the newest record; 0 keeps none, as in Flink.

    Records without timestamps are all kept.
    """

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        if not is_whole(window_size) or window_size < 0:
            raise ProgramError(f"a TimeEvictor keeps records of at least 0 ms, as a whole number, not {window_size!r}")
        self._window_size = window_size

    @staticmethod
    def of(window_size: Time | Duration, do_evict_after: bool = False) -> TimeEvictor[Any, Any]:
        """Return the evictor. Raises ProgramError."""
        return TimeEvictor(millis_of("the time to keep", window_size), do_evict_after)

    def _evict(self, elements: list[TimestampedValue[T]]) -> None:
        times = [element.timestamp for element in elements if element.timestamp is not None]
        if len(times) == len(elements) and times:
            cutoff = max(times) - self._window_size
            elements[:] = [element for element, time in zip(elements, times, strict=True) if time > cutoff]


@final
class DeltaEvictor(_BeforeOrAfter[T, W]):
    """Removes the records that differ from the newest by a threshold, or more.

    >>> by_distance = DeltaEvictor.of(50.0, lambda old, newest: abs(newest[1] - old[1]))
    """

    def __init__(self, threshold: float, delta_function: Callable[[T, T], float], do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self._threshold = threshold
        self._delta_function = delta_function

    @staticmethod
    def of(
        threshold: float, delta_function: Callable[[Any, Any], float], do_evict_after: bool = False
    ) -> DeltaEvictor[Any, Any]:
        """Return the evictor; `delta_function` is given a record and the newest one."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[T]]) -> None:
        if elements:
            newest = elements[-1].value
            elements[:] = [
                element for element in elements if self._delta_function(element.value, newest) < self._threshold
            ]
