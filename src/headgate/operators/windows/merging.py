"""Merging windows: which of a key's windows have become one, and under which of them their contents lie.

After a merge the contents stay where those of one of the old windows were, so that nothing is copied for it. The set
maps each window of the key to the window under which its contents lie. Pure: windows in, merges out.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any, final

from headgate.functions.windows.assigner import MergingWindowAssigner
from headgate.functions.windows.window import Window


@final
@dataclass(frozen=True, slots=True)
class WindowMerge:
    """Windows that have become one: `gone` are there no more, and their contents lie under `sources`.

    They are to be moved under `target`, where the contents of `window` lie.
    """

    window: Window
    gone: list[Window]
    target: Window
    sources: list[Window]


@final
class _Groups(MergingWindowAssigner.MergeCallback[Any]):
    def __init__(self) -> None:
        self.found: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.found.append((merge_result, list(dict.fromkeys(to_be_merged))))


def add_window(
    places: MutableMapping[Any, Any], new: Any, assigner: MergingWindowAssigner[Any, Any]
) -> tuple[Any, list[WindowMerge]]:
    """Add a window to those of a key; return the one that it has become part of, and what was merged for that.

    `places` has for each window the one under which its contents lie, and is changed.

    >>> from headgate.functions.windows.session_windows import EventTimeSessionWindows
    >>> from headgate.functions.windows.window import TimeWindow
    >>> places = {TimeWindow(0, 10): TimeWindow(0, 10)}
    >>> add_window(places, TimeWindow(10, 20), EventTimeSessionWindows(10))[0], places
    (TimeWindow(start=0, end=20), {TimeWindow(start=0, end=20): TimeWindow(start=0, end=10)})
    """
    groups = _Groups()
    assigner.merge_windows([*places, new], groups)
    actual, merges = new, []
    for result, members in groups.found:
        if new in members:
            actual = result
        known = [window for window in members if window in places]
        if not known or known == [result]:
            continue
        target, *sources = [places.pop(window) for window in known]
        places[result] = target
        merges.append(WindowMerge(result, [window for window in known if window != result], target, sources))
    places.setdefault(actual, actual)
    return actual, merges
