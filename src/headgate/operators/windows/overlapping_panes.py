"""Sliding windows in panes: each window has one of its own, where values of slices cannot be combined.

A record changes the value of its key in each window that it is in. That costs as much as there are windows, but no
cell, and no timer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, final

from headgate.functions.windows.time_windows import SlidingEventTimeWindows
from headgate.operators.windows.contents import Contents, PaneContents
from headgate.operators.windows.contexts import AnyWindowFunction
from headgate.operators.windows.pane_windows import PaneWindows
from headgate.operators.windows.slicing import Slicing
from headgate.operators.windows.windowing import Windowing
from headgate.operators.windows.windows import Opened
from headgate.state.keyed.panes import Namespace, Pane


@final
class OverlappingPanes(PaneWindows):
    """Sliding windows of event time."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        assert isinstance(windowing.assigner, SlidingEventTimeWindows)
        self._slide = windowing.assigner.slide
        self._slicing = Slicing(self._size, self._slide, self._offset, windowing.lateness_ms)

    @staticmethod
    def can_hold(windowing: Windowing, contents: Contents) -> bool:
        return windowing.overlaps and windowing.has_default_trigger and isinstance(contents, PaneContents)

    def add(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any]) -> None:
        self._panes.count(len(keys) * -(-self._size // self._slide))
        super().add(keys, timestamps, records)

    def _load(self, keys: list[Any], timestamps: Iterable[int]) -> None:
        times = zip(keys, timestamps)  # noqa: B905  # lengths agree
        wanted = [(key, each) for key, time in times for each in self._namespaces_at(time)]
        self._panes.load([key for key, _ in wanted], [each for _, each in wanted])

    def _add_one(self, key: Any, time: int, records: Iterator[Any]) -> None:
        """Add a record, which is a late one in windows that had been evaluated for the key before the start."""
        evaluated = [each for each in self._namespaces_at(time) if key in self._skipped.get(each, ())]
        if self._windowing.lateness_ms:
            self._add([key], [time], records)
            for each in evaluated:
                self._evaluate_again(each, key, self._panes.by_window[each].open[key])
        else:
            self._add([key], [time], records, evaluated)

    def _add(
        self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any], but: Collection[Namespace] = ()
    ) -> None:
        """Add records to their windows `but` these."""
        first, more, copied = self._first, self._more, self._copied
        start = end = 0
        panes: list[tuple[Namespace, Pane]] = []
        for key, time, value in zip(keys, timestamps, records):  # noqa: B905  # lengths agree
            if time >= end or time < start:
                start, end = self._slicing.slice_at(time)
                panes = [each for each in self._panes_at(time) if each[0] not in but]
            if not panes:
                self._too_late(value, time)
            for namespace, pane in panes:
                own, values = copied(value), pane.open
                so_far = values.get(key)
                if so_far is None and (pane.sealed or key in values):
                    so_far = self._sought(pane, key)
                values[key] = first(own) if so_far is None else more(own, so_far)
                if pane.is_evaluated:
                    self._evaluate_again(namespace, key, values[key])

    def _panes_at(self, time: int) -> list[tuple[Namespace, Pane]]:
        """Return the panes of the windows that this time is in and that are not over, the last window first."""
        found = ((each, self._pane_at(each, time)) for each in self._namespaces_at(time))
        return [(each, pane) for each, pane in found if pane is not None]

    def _namespaces_at(self, time: int) -> Iterator[Namespace]:
        size = self._size
        for start in range(self._slicing.window_at(time), time - size, -self._slide):
            yield start, start + size
