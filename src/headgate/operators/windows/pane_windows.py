"""Windows in panes: tumbling and sliding windows of event time, with the default trigger and no evictor.

All keys have the same windows, and windows are evaluated only at their ends. So one value, or one list of records, is
all that there is of a key and window: the window needs no cell and no timer. A *pane* is a dictionary with the values
of all keys. A record costs a look into the panes of its windows, and a window that is due is evaluated for all keys in
one go.

`PaneWindows` has a pane for each window, so that a record costs more with more overlap. `slice_windows` has a pane for
each slice of windows that overlap.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, Final, final

from headgate.functions.windows.time_windows import TimeWindows, check_timestamp
from headgate.functions.windows.window import TimeWindow
from headgate.operators.base import USER_ERRORS, UserCodeError, last_index
from headgate.operators.windows.base import BulkWindows, Opened, Windowing
from headgate.operators.windows.contents import STATE_NAME, Contents, PaneContents
from headgate.operators.windows.contexts import AnyWindowFunction
from headgate.operators.windows.pane_loop import PaneSteps, Stretch, pane_loop
from headgate.operators.windows.slicing import Slicing
from headgate.state.keyed.panes import Namespace, Pane, Panes, ToWindows
from headgate.state.operator.list_elements import ListElements
from headgate.time.timers import EVENT_TIMERS
from headgate.types.typed_key import key_hash_code, typed, untyped

EVALUATED: Final = "_window-evaluated"
"""The list state with the keys for which a half-evaluated window had been evaluated at the snapshot."""


class WindowsInPanes(BulkWindows):
    """Evaluates windows in panes, for some keys at a time."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        assert isinstance(contents, PaneContents)
        self._own = contents.owner()
        self._panes: Panes
        self._add_to_panes = pane_loop(opened.context.native)
        self._due: list[tuple[int, Namespace]] = []
        """A heap of when windows with a pane of their own are due: to be evaluated, or to be removed."""
        self._left: Iterator[tuple[Any, Any]] | None = None
        """The keys and values for which the current window has yet to be evaluated; None between windows."""
        self._done: list[Any] = []
        """The keys for which the current window has been evaluated."""
        self._skipped: dict[tuple[int, int], set[Any]] = {}
        """For each window that the restored snapshot found half evaluated: the keys that had been evaluated."""
        for start, end, key in opened.context.restored.values(EVALUATED):
            self._skipped.setdefault((start, end), set()).add(typed(key))

    def lists(self) -> dict[str, ListElements]:
        values = [(*window, untyped(key)) for window, keys in self._half_evaluated().items() for key in keys]
        return {EVALUATED: ListElements.by_key(values, [key_hash_code(key) for _, _, key in values])} if values else {}

    def _half_evaluated(self) -> dict[tuple[int, int], frozenset[Any]]:
        """Return the windows that have been evaluated for some keys while others are left, and these keys."""
        done = {**self._skipped, self._window: self._done} if self._left is not None else self._skipped
        return {window: frozenset(keys) for window, keys in done.items()}

    def _sought(self, pane: Pane, key: Any) -> Any:
        """Return the value of a key as of the last barrier, as a copy. None in the open dictionary is an error."""
        if key in pane.open:
            self._none_made()
        value = pane.sealed_value(key)
        return None if value is None else self._own(value)

    # --- windows with a pane of their own

    def _new_pane(self, namespace: Namespace) -> Pane:
        """Return a new pane for a window, and note when the window is due."""
        window = TimeWindow(*namespace)
        last_ms, cleanup_ms = window.max_timestamp(), self._windowing.cleanup_ms(window)
        stays = cleanup_ms > last_ms
        pane = Pane({last_ms: None, cleanup_ms: None}, {cleanup_ms: None} if stays else None)
        pane.is_evaluated = last_ms <= self._timers.watermark_ms
        if not pane.is_evaluated:
            heapq.heappush(self._due, (last_ms, namespace))
        if stays:
            heapq.heappush(self._due, (cleanup_ms, namespace))
        return pane

    def _all_evaluated(self) -> None:
        """The window has been evaluated for all keys: its pane goes, or waits for late records."""
        self._left = None
        pane = self._panes.by_window.get(self._window)
        if pane is None:
            return
        if pane.over is None:
            self._end(pane.items())
        else:
            pane.now_evaluated(self._backend.generation)

    def _end(self, items: Iterable[tuple[Any, Any]]) -> None:
        """Remove the window, and have the function clear its state."""
        if self._clears is not None:
            for key, _ in items:
                self._clear(key)
        self._panes.drop(self._window, self._backend.generation)

    # --- savepoints

    def _to_windows(self) -> ToWindows:
        """Return what has timers alone tell for which keys windows have been evaluated."""
        by_window = self._panes.by_window
        half = {
            window: (keys, by_window[window].over)
            for window, keys in self._half_evaluated().items()
            if window in by_window
        }
        return lambda panes: [
            pane.with_over(*half[pane.namespace]) if pane.namespace in half else pane for pane in panes
        ]

    # --- evaluation

    def _begin_all(self, items: Iterable[tuple[Any, Any]]) -> None:
        """Begin to evaluate the window, which is due, for all its keys and their values."""
        skipped = self._skipped.pop(self._window, None)
        self._done = list(skipped or ())
        self._left = (item for item in items if item[0] not in skipped) if skipped else iter(items)

    def _evaluate_more(self, left: Iterator[tuple[Any, Any]], records_max: int) -> bool:
        """Evaluate the window for some more keys; return whether that was the last of them."""
        some = list(islice(left, records_max))
        position = iter(some)
        try:
            self._evaluate_some(position)
        except USER_ERRORS as error:
            key = untyped(some[last_index(some, position)][0])
            raise UserCodeError(key=key, during=f"the timer of a window ({self._window[1] - 1})") from error
        if len(some) < records_max:
            self._done = []
            return True
        self._done += [key for key, _ in some]
        return False


@final
class PaneWindows(WindowsInPanes):
    """Tumbling and sliding windows of event time, with a pane for each window."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        assigner = windowing.assigner
        assert isinstance(assigner, TimeWindows)
        assert isinstance(contents, PaneContents)
        self._first, self._more = contents.steps()
        self._slicing = Slicing(assigner.size, assigner.slide, assigner.offset, windowing.lateness_ms)
        self._overlap = -(-assigner.size // assigner.slide)
        self._steps = PaneSteps(self._first, self._more, self._turn, self._sought, self._too_late, self._come_late)
        # With one window for each record, the loop over windows takes twice the time of the loop without it.
        self._add = self._add_to_one if assigner.size == assigner.slide else self._add_to_each
        self._panes = self._backend.panes((STATE_NAME,), EVENT_TIMERS, self._new_pane)
        self._panes.to_windows = self._to_windows

    # --- records

    def add(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any]) -> None:
        self._panes.count(len(keys) * (self._overlap - 1))  # the backend counts an entry for each record
        if self._panes.is_spilled:
            self._load(keys, timestamps)
        if not self._skipped:
            self._add(keys, timestamps, records)
            return
        for key, time in zip(keys, timestamps):  # noqa: B905  # lengths agree
            self._add_to_unfinished(key, time, records)

    def _load(self, keys: list[Any], timestamps: Iterable[int]) -> None:
        """Read the values of these records' windows that only a database has."""
        times = zip(keys, timestamps)  # noqa: B905  # lengths agree
        wanted = [(key, each) for key, time in times for each in self._namespaces_at(time)]
        self._panes.load([key for key, _ in wanted], [each for _, each in wanted])

    def _add_to_unfinished(self, key: Any, time: int, records: Iterator[Any]) -> None:
        """Add a record where the restored snapshot had evaluated windows for some keys, and not for others.

        The record is late in the windows that had been evaluated for its key.
        """
        evaluated = [each for each in self._namespaces_at(time) if key in self._skipped.get(each, ())]
        if self._windowing.lateness_ms:
            self._add([key], [time], records)
            for each in evaluated:
                self._evaluate_again(each, key, self._panes.by_window[each].open[key])
        else:
            self._add_to_each([key], [time], records, evaluated)

    def _add_to_one(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any]) -> None:
        """Add records to tumbling windows."""
        self._add_to_panes(keys, timestamps, records, self._steps)

    def _turn(self, time: int) -> Stretch:
        """Return the tumbling window that a time is in, with its pane."""
        start, end = self._slicing.slice_at(time)
        pane = self._pane_at((start, end), time)
        return start, end, pane, pane is not None and pane.is_evaluated

    def _come_late(self, start: int, end: int, key: Any, record: Any) -> None:
        """A late record has been added to a tumbling window."""
        self._evaluate_again((start, end), key, self._panes.by_window[start, end].open[key])

    def _add_to_each(
        self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any], but: Collection[Namespace] = ()
    ) -> None:
        """Add records to each of their windows `but` these."""
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
        """Return the panes of the windows that contain this time and are not over, the last window first."""
        found = ((each, self._pane_at(each, time)) for each in self._namespaces_at(time))
        return [(each, pane) for each, pane in found if pane is not None]

    def _namespaces_at(self, time: int) -> Iterator[Namespace]:
        """Yield the starts and ends of the windows that contain this time, the last window first."""
        size, slide = self._slicing.size, self._slicing.slide
        for start in range(self._slicing.window_at(time), time - size, -slide):
            yield start, start + size

    def _pane_at(self, namespace: Namespace, time: int) -> Pane | None:
        """Return the pane of a window that contains this time; None if the window is over."""
        pane = self._panes.by_window.get(namespace)
        if pane is None:
            check_timestamp(time)
            if self._windowing.cleanup_ms(TimeWindow(*namespace)) > self._timers.watermark_ms:
                pane = self._panes.by_window[namespace] = self._new_pane(namespace)
        return pane

    def _evaluate_again(self, namespace: Namespace, key: Any, value: Any) -> None:
        """Evaluate the window of a key again, after a late record."""
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
