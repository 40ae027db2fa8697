"""Window rows: what sliding windows would hold if each were kept by itself, for savepoints that any layout restores.

A window of a key has the records of its slices, and what a restore found of it. It is in the savepoint until it takes
no more late records, with the timers that it would have: that of its end until it has been evaluated, and that of its
clean-up if it waits for late records.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, final

from headgate.operators.windows.slice_values import SliceValues
from headgate.operators.windows.slicing import Slicing
from headgate.operators.windows.two_stacks import SlicesBetween
from headgate.state.keyed.panes import SealedPane, newest


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlicedState:
    """The state of sliding windows at a barrier.

    `slices` have the values of each slice, by its start, in order; `windows` what is kept of whole windows, with their
    timers. `is_evaluated` tells whether a window of a key has been evaluated, `is_over` whether nothing is left of it.
    """

    slicing: Slicing
    slices: dict[int, SealedPane]
    windows: dict[tuple[int, int], SealedPane]
    is_evaluated: Callable[[tuple[int, int], Any], bool]
    is_over: Callable[[tuple[int, int], Any], bool]


def window_rows(state: SlicedState, values_of: Callable[[SlicesBetween], SliceValues]) -> Iterator[SealedPane]:
    """Yield the windows in order, then those that are no more made of slices.

    `values_of` returns what makes values of windows out of those of slices.
    """
    starts = list(state.slices)

    def between(start: int, end: int) -> Iterator[tuple[int, dict[Any, Any]]]:
        found = starts[bisect_left(starts, start) : bisect_left(starts, end)]
        return ((at, newest(state.slices[at].levels)) for at in found)

    slices, left = values_of(between), dict(state.windows)
    for window in _windows(state.slicing, starts):
        name = (window, window + state.slicing.size)
        slices.move(*name)
        yield from _rows(state, name, slices, left.pop(name, None))
    yield from left.values()


def _windows(slicing: Slicing, starts: list[int]) -> Iterator[int]:
    """Yield the starts of all windows that have one of the slices."""
    ahead = None
    for start in starts:
        first, last = slicing.first_window(start), slicing.window_at(start)
        yield from range(first if ahead is None else max(first, ahead), last + 1, slicing.slide)
        ahead = last + slicing.slide


def _rows(
    state: SlicedState, name: tuple[int, int], slices: SliceValues, older: SealedPane | None
) -> Iterator[SealedPane]:
    """Yield what there is of a window, of which `older` was restored as such."""
    known = {} if older is None else newest(older.levels)
    waiting: dict[Any, Any] = {}
    evaluated: dict[Any, Any] = {}
    for key, value in slices.values():
        before = known.pop(key, None)
        if not state.is_over(name, key):
            whole = value if before is None else slices.joined(slices.of_saved(before), value)
            (evaluated if state.is_evaluated(name, key) else waiting)[key] = slices.to_saved(whole)
    last_ms, cleanup_ms = state.slicing.last_ms(name[0]), state.slicing.cleanup_ms(name[0])
    yield SealedPane(name, lambda key: {last_ms: None, cleanup_ms: None}, [waiting])
    yield SealedPane(name, lambda key: {cleanup_ms: None}, [evaluated])
    if older is not None:
        yield replace(older, levels=[known])
