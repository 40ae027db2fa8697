"""Windows: groups of records of a key that are evaluated together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, final

from headgate.elements import MAX_TIMESTAMP

if TYPE_CHECKING:
    from headgate.functions.windows.assigner import MergingWindowAssigner


class Window(ABC):
    """A group of records of a key. Window classes of a program need `__eq__` and `__hash__`, and are pickled."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the last millisecond that belongs to the window: the timestamp of its results."""


class TimeWindow(Window):
    """The records from `start` to just before `end`, both in milliseconds since 1970 UTC.

    >>> TimeWindow(0, 60_000).max_timestamp(), TimeWindow(0, 10).cover(TimeWindow(10, 25))
    (59999, TimeWindow(start=0, end=25))
    """

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def max_timestamp(self) -> int:
        return self.end - 1 if self.end <= MAX_TIMESTAMP else MAX_TIMESTAMP

    def intersects(self, other: TimeWindow) -> bool:
        """Return whether the windows overlap, or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Return the smallest window that has both in it."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Return the start of a timestamp's window, where windows begin `offset` after a multiple of their size.

        >>> TimeWindow.get_window_start_with_offset(-1, 0, 10)
        -10
        """
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]) -> None:
        """Call `callback.merge` for each group of windows that overlap or touch, with the window that covers them."""
        groups: list[tuple[TimeWindow, list[TimeWindow]]] = []
        for window in sorted(windows, key=_place):
            if groups and groups[-1][0].intersects(window):
                cover, group = groups[-1]
                group.append(window)
                groups[-1] = (cover.cover(window), group)
            else:
                groups.append((window, [window]))
        for cover, group in groups:
            if len(group) > 1:
                callback.merge(group, cover)

    def __eq__(self, other: object) -> bool:
        return (
            self.__class__ is other.__class__
            and isinstance(other, TimeWindow)
            and (self.start == other.start and self.end == other.end)
        )

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __lt__(self, other: TimeWindow) -> bool:
        return _place(self) < _place(other)

    def __le__(self, other: TimeWindow) -> bool:
        return _place(self) <= _place(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(start={self.start}, end={self.end})"


def _place(window: TimeWindow) -> tuple[int, int]:
    return window.start, window.end


@final
class CountWindow(Window):
    """A number of records of a key; `id` counts the key's windows from 0."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:  # PyFlink's name
        self.id = id

    def max_timestamp(self) -> int:
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountWindow) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


@final
class GlobalWindow(Window):
    """The single window of all records of a key."""

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """Return the window."""
        return GLOBAL_WINDOW

    def max_timestamp(self) -> int:
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalWindow)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow"


GLOBAL_WINDOW: Final = GlobalWindow()
