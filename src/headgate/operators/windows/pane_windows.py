"""Windows in panes: where the windows of all keys end at the same times, and are evaluated only then.

That is so with tumbling windows of event time, the default trigger and no evictor. Then one value, or one list, is all
that there is of a key's window: it needs no cell, and no timer. A record costs a look into the dictionary of its
window, and a window that is due is evaluated for all keys in one go.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any

from headgate.functions.windows.time_windows import (
    SlidingEventTimeWindows,
    TimeWindows,
    TumblingEventTimeWindows,
    check_timestamp,
)
from headgate.functions.windows.window import TimeWindow
from headgate.operators.windows.contents import STATE_NAME, Contents, PaneContents
from headgate.operators.windows.contexts import AnyWindowFunction
from headgate.operators.windows.windowing import Windowing
from headgate.operators.windows.windows import Opened
from headgate.operators.windows.windows_in_panes import WindowsInPanes
from headgate.state.keyed.panes import Namespace, Pane
from headgate.time.timers import EVENT_TIMERS


class PaneWindows(WindowsInPanes):
    """Tumbling windows of event time."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        assert isinstance(windowing.assigner, TimeWindows)
        assert isinstance(contents, PaneContents)
        self._first, self._more = contents.steps()
        self._size, self._offset = windowing.assigner.size, windowing.assigner.offset
        self._panes = self._backend.panes((STATE_NAME,), EVENT_TIMERS, self._new_pane)
        self._panes.to_windows = self._to_windows

    @staticmethod
    def can_hold(windowing: Windowing, contents: Contents) -> bool:
        """Return whether the windows can lie in panes."""
        assigner = windowing.assigner
        return (
            (type(assigner) is TumblingEventTimeWindows or type(assigner) is SlidingEventTimeWindows)
            and assigner.size == assigner.slide
            and windowing.has_default_trigger
            and isinstance(contents, PaneContents)
        )

    # --- records

    def add(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any]) -> None:
        if self._panes.is_spilled:
            self._load(keys, timestamps)
        if not self._skipped:
            self._add(keys, timestamps, records)
            return
        for key, time in zip(keys, timestamps):  # noqa: B905  # lengths agree
            self._add_one(key, time, records)

    def _load(self, keys: list[Any], timestamps: Iterable[int]) -> None:
        """Read what the panes of these records have in a database only."""
        self._panes.load(keys, map(self._namespace_at, timestamps))

    def _add_one(self, key: Any, time: int, records: Iterator[Any]) -> None:
        """Add a record, which is a late one if its window had been evaluated for the key before the start."""
        namespace = self._namespace_at(time)
        if key not in self._skipped.get(namespace, ()):
            self._add([key], [time], records)
        elif self._windowing.lateness_ms:
            self._add([key], [time], records)
            self._evaluate_again(namespace, key, self._panes.by_window[namespace].open[key])
        else:
            self._too_late(next(records), time)

    def _add(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any]) -> None:
        first, more = self._first, self._more
        start = end = 0
        pane: Pane | None = None
        values: dict[Any, Any] = {}
        for key, time, value in zip(keys, timestamps, records):  # noqa: B905  # lengths agree
            if time >= end or time < start:
                start, end = self._namespace_at(time)
                pane = self._pane_at((start, end), time)
                values = {} if pane is None else pane.open
            if pane is None:
                self._too_late(value, time)
                continue
            so_far = values.get(key)
            if so_far is None and (pane.sealed or key in values):
                so_far = self._sought(pane, key)
            values[key] = first(value) if so_far is None else more(value, so_far)
            if pane.is_evaluated:
                self._evaluate_again((start, end), key, values[key])

    def _namespace_at(self, time: int) -> tuple[int, int]:
        """Return the start and the end of the window that this time is in."""
        start = time - (time - self._offset) % self._size
        return start, start + self._size

    def _pane_at(self, namespace: Namespace, time: int) -> Pane | None:
        """Return the pane of a window, in which this time is; None if it is over."""
        pane = self._panes.by_window.get(namespace)
        if pane is None:
            check_timestamp(time)
            if self._windowing.cleanup_ms(TimeWindow(*namespace)) > self._timers.watermark_ms:
                pane = self._panes.by_window[namespace] = self._new_pane(namespace)
        return pane

    def _evaluate_again(self, namespace: Namespace, key: Any, value: Any) -> None:
        """Evaluate the window of a key to which a late record has come."""
        self._begin(*namespace)
        self._evaluate_some(iter([(key, value)]))

    # --- time

    def count_open(self) -> int:
        return len(self._panes.by_window)

    def is_due(self, until_ms: int) -> bool:
        return self._left is not None or (bool(self._due) and self._due[0][0] <= until_ms)

    def evaluate(self, until_ms: int, records_max: int) -> None:
        try:
            while self.is_due(until_ms) and len(self.out) < records_max:
                if self._left is None:
                    self._begin_next()
                elif self._evaluate_more(self._left, records_max):
                    self._all_evaluated()
        finally:
            self._backend.leave()

    def _begin_next(self) -> None:
        _, namespace = heapq.heappop(self._due)
        pane = self._panes.by_window.get(namespace)
        if pane is None:
            return
        self._begin(*namespace)
        if pane.is_evaluated:
            self._end(pane.items())
        else:
            self._begin_all(pane.due())
