"""Sliding windows of slices in snapshots.

A checkpoint keeps slices, and the list state `_window-slices` tells until when windows have been evaluated. A canonical
savepoint has an entry for each window instead, so that any layout restores it: a window of a key has the records of its
slices, and what a restore found of the window. The window is in the savepoint until it takes no more late records. It
has the timer of its end until it has been evaluated, and the timer of its clean-up if it waits for late records.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, final

from headgate.elements import MIN_TIMESTAMP
from headgate.errors import SerializationError
from headgate.operators.base import USER_ERRORS
from headgate.operators.windows.slice_values import SliceValues
from headgate.operators.windows.slicing import Slicing
from headgate.operators.windows.two_stacks import SlicesBetween
from headgate.state.keyed.panes import Namespace, SealedPane, newest

SLICE: Final = "slice"
"""In the namespace of a slice, before its start and its end."""

PROGRESS: Final = "_window-slices"
"""The list state that tells how windows are sliced, and how far they have been evaluated."""

Stretch = tuple[int, int, int]
"""The first and the last of some key groups, and until when their windows have been evaluated."""


@final
class WindowProgress:
    """Until when windows had been evaluated before the start: `floor_ms` for all key groups, more for those `ahead`.

    >>> progress = WindowProgress([(0, 3, 50), (4, 7, 80)], range(2, 6))
    >>> progress.floor_ms, progress.ahead
    (50, {4: 80, 5: 80})
    >>> progress.stretches(60)
    [(2, 3, 60), (4, 5, 80)]
    """

    def __init__(self, saved: Iterable[Stretch], groups: range) -> None:
        until = dict.fromkeys(groups, MIN_TIMESTAMP)
        for first, last, until_ms in saved:
            for group in range(max(first, groups.start), min(last + 1, groups.stop)):
                until[group] = until_ms
        self._groups = groups
        self.floor_ms = min(until.values())
        self.ahead = {group: until_ms for group, until_ms in until.items() if until_ms > self.floor_ms}

    def passed(self, watermark_ms: int) -> None:
        """Event time has come so far."""
        if self.ahead and watermark_ms >= max(self.ahead.values()):
            self.ahead = {}

    def of_group(self, group: int, watermark_ms: int) -> int:
        """Return until when the windows of a key group have been evaluated, at this event time."""
        return max(self.ahead.get(group, self.floor_ms), watermark_ms)

    def stretches(self, watermark_ms: int) -> list[Stretch]:
        """Return what the next snapshot is to tell, at this event time."""
        found = []
        for until_ms, some in groupby(self._groups, lambda group: self.of_group(group, watermark_ms)):
            groups = list(some)
            found.append((groups[0], groups[-1], until_ms))
        return found


@final
@dataclass(frozen=True, slots=True)
class Evaluated:
    """Which sliding windows have been evaluated, and which are over.

    `until_ms` returns until when the windows of a key have been evaluated. `half` has the windows that have been
    evaluated for some keys only, with these keys.
    """

    slicing: Slicing
    until_ms: Callable[[Any], int]
    half: dict[tuple[int, int], frozenset[Any]]

    def has(self, window: tuple[int, int], key: Any) -> bool:
        """Return whether the window of a key has been evaluated."""
        return self.slicing.last_ms(window[0]) <= self.until_ms(key) or key in self.half.get(window, ())

    def is_over(self, window: tuple[int, int], key: Any) -> bool:
        """Return whether nothing is left of the window of a key."""
        if self.slicing.lateness_ms == 0:
            return self.has(window, key)
        return self.slicing.cleanup_ms(window[0]) <= self.until_ms(key)


def window_rows(
    slices: dict[int, SealedPane],
    windows: dict[Namespace, SealedPane],
    evaluated: Evaluated,
    values_of: Callable[[SlicesBetween], SliceValues],
) -> Iterator[SealedPane]:
    """Yield the windows of slices in order, then the windows that have no slices.

    `slices` are by their starts, in order; `windows` are the windows that a restore found, with their timers.
    `values_of` makes values of windows out of the values of slices. Raises `SerializationError` if a function of the
    program fails.
    """
    starts = list(slices)

    def between(start: int, end: int) -> Iterator[tuple[int, dict[Any, Any]]]:
        found = starts[bisect_left(starts, start) : bisect_left(starts, end)]
        return ((at, newest(slices[at].levels)) for at in found)

    values, left, slicing = values_of(between), dict(windows), evaluated.slicing
    try:
        for window in _windows(slicing, starts):
            name = (window, window + slicing.size)
            values.move(*name)
            yield from _rows(evaluated, name, values, left.pop(name, None))
    except USER_ERRORS as error:
        raise SerializationError(f"no windows can be made of slices: {type(error).__name__}: {error}") from error
    yield from left.values()


def _windows(slicing: Slicing, starts: list[int]) -> Iterator[int]:
    """Yield the starts of all windows that have one of the slices."""
    ahead = None
    for start in starts:
        first, last = slicing.first_window(start), slicing.window_at(start)
        yield from range(first if ahead is None else max(first, ahead), last + 1, slicing.slide)
        ahead = last + slicing.slide


def _rows(
    evaluated: Evaluated, name: tuple[int, int], slices: SliceValues, older: SealedPane | None
) -> Iterator[SealedPane]:
    """Yield what there is of a window. `older` has the part of the window that a restore found."""
    known = {} if older is None else newest(older.levels)
    waiting: dict[Any, Any] = {}
    done: dict[Any, Any] = {}
    for key, value in slices.values():
        before = known.pop(key, None)
        if not evaluated.is_over(name, key):
            whole = value if before is None else slices.joined(slices.of_saved(before), value)
            (done if evaluated.has(name, key) else waiting)[key] = slices.to_saved(whole)
    last_ms, cleanup_ms = evaluated.slicing.last_ms(name[0]), evaluated.slicing.cleanup_ms(name[0])
    yield SealedPane(name, lambda key: {last_ms: None, cleanup_ms: None}, [waiting])
    yield SealedPane(name, lambda key: {cleanup_ms: None}, [done])
    if older is not None:
        yield replace(older, levels=[known])
