"""Windows in slices: sliding windows whose records are combined, once for each key and slice instead of each window.

A slice is a pane like that of a tumbling window. When a window is due, its slices are combined. Two stacks keep most of
that from the window before (see `two_stacks`), so that neither a record nor a result costs more where windows overlap
more. Carbone et al. ("Cutty", 2016) and Traub et al. ("Scotty", 2018) show that it pays off for windows of any size.

A late record goes into its slice; windows that have been evaluated, and wait for late records, are evaluated again for
its key. A slice goes when its last window does. Nothing is kept of a window itself, so that snapshots tell until when
windows have been evaluated (see `progress`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Any, Final, final

from headgate.elements import MAX_TIMESTAMP
from headgate.errors import RestoreError
from headgate.functions.windows.time_windows import SlidingEventTimeWindows, check_timestamp
from headgate.functions.windows.triggers import EventTimeTrigger
from headgate.operators.windows.combined_windows import CombinedWindows
from headgate.operators.windows.contents import STATE_NAME, Combined, Contents, More
from headgate.operators.windows.evaluation import AnyWindowFunction, clearing
from headgate.operators.windows.progress import WindowProgress
from headgate.operators.windows.slicing import Slicing
from headgate.operators.windows.two_stacks import TwoStacks
from headgate.operators.windows.windowing import Windowing
from headgate.operators.windows.windows import Opened
from headgate.state.backend import KeyedBackend
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.state.keyed.panes import Namespace, Pane
from headgate.state.operator.list_elements import ListElements, ListMode
from headgate.time.timers import EVENT_TIMERS

SLICE: Final = "slice"
"""In the namespace of a slice, before its start and its end."""

PROGRESS: Final = "_window-slices"
"""The list state that tells how windows are sliced, and how far they have been evaluated."""


@final
class SliceWindows(CombinedWindows):
    """Sliding windows of event time whose records are combined, on the hash map."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        assigner, backend, context = windowing.assigner, opened.backend, opened.context
        assert isinstance(assigner, SlidingEventTimeWindows)
        assert isinstance(contents, Combined)
        assert isinstance(backend, HashMapBackend)
        self._slicing = Slicing(assigner.size, assigner.slide, assigner.offset, windowing.lateness_ms)
        self._key_groups, self._group_of = context.key_groups, backend.group_of
        self._progress = self._restored(opened)
        self._until_ms = self._progress.floor_ms
        """Windows that end until then have been evaluated, for some key groups perhaps later ones."""
        self._panes = backend.panes(STATE_NAME, EVENT_TIMERS, _new_pane)
        self._starts = sorted(start for _, start, _ in self._panes.by_window)
        """The starts of the slices that there are."""
        self._combine, self._own = contents.combiner(), contents.owner()
        self._stacks = TwoStacks(self._between, self._combine, self._own)

    @staticmethod
    def can_hold(windowing: Windowing, contents: Contents, function: AnyWindowFunction, backend: KeyedBackend) -> bool:
        """Return whether the windows can lie in slices."""
        assigner = windowing.assigner
        return (
            isinstance(assigner, SlidingEventTimeWindows)
            and assigner.slide < assigner.size
            and isinstance(windowing.trigger, EventTimeTrigger)
            and isinstance(contents, Combined)
            and contents.is_mergeable
            and clearing(function) is None
            and isinstance(backend, HashMapBackend)
        )

    # --- snapshots

    def _restored(self, opened: Opened) -> WindowProgress:
        """Return how far windows had been evaluated. Raises `RestoreError` where they were sliced otherwise."""
        slicing, saved = self._slicing, opened.context.restored.values(PROGRESS)
        for size, slide, offset, _ in saved:
            if (size, slide, offset % slide) != (slicing.size, slicing.slide, slicing.offset % slicing.slide):
                raise RestoreError(
                    f"operator {opened.context.name!r} was saved with sliding windows of {size} ms by {slide} ms "
                    f"(offset {offset}), whose slices cannot become those of {slicing.size} ms by {slicing.slide} ms "
                    f"(offset {slicing.offset}): keep the assigner, or give the operator another uid"
                )
        return WindowProgress([each for *_, stretches in saved for each in stretches], self._key_groups)

    def lists(self) -> dict[str, ListElements]:
        slicing = self._slicing
        watermark_ms = self._timers.watermark_ms
        stretches = self._progress.stretches(self._until_ms if self.is_due(watermark_ms) else watermark_ms)
        saved = ListElements.of([(slicing.size, slicing.slide, slicing.offset, stretches)])
        return {PROGRESS: ListElements(ListMode.UNION, saved.elements), **super().lists()}

    # --- records

    def add(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any]) -> None:
        watermark_ms, progress = self._timers.watermark_ms, self._progress
        progress.passed(watermark_ms)
        self._until_ms = max(progress.floor_ms, watermark_ms)
        if not progress.ahead:
            self._add(keys, timestamps, records, self._until_ms)
            return
        for key, time in zip(keys, timestamps):  # noqa: B905  # lengths agree
            self._add([key], [time], records, progress.of_group(self._group_of(key), watermark_ms))

    def _add(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any], until_ms: int) -> None:
        """Add records of keys whose windows have been evaluated until then."""
        first, more = self._first, self._more
        start = end = 0
        pane: Pane | None = None
        values: dict[Any, Any] = {}
        is_late = False
        for key, time, value in zip(keys, timestamps, records):  # noqa: B905  # lengths agree
            if time >= end or time < start:
                start, end = self._slicing.slice_at(time)
                pane = self._pane_at(start, end, time, until_ms)
                values = {} if pane is None else pane.open
                is_late = pane is not None and self._is_late(start, until_ms)
            if pane is None:
                self._too_late(value, time)
                continue
            so_far = values.get(key)
            if so_far is None and (pane.sealed or key in values):
                so_far = self._sought(pane, key)
            values[key] = first(value) if so_far is None else more(value, so_far)
            if is_late:
                self._stacks.add(start, key, first(value))
                self._evaluate_again(start, key, until_ms)

    def _pane_at(self, start: int, end: int, time: int, until_ms: int) -> Pane | None:
        """Return the pane of a slice, in which this time is; None if its windows are over."""
        check_timestamp(time)
        if self._slicing.over_ms(start) <= until_ms:
            return None
        namespace = (SLICE, start, end)
        pane = self._panes.by_window.get(namespace)
        if pane is None:
            pane = self._panes.by_window[namespace] = _new_pane(namespace)
            insort(self._starts, start)
        return pane

    def _is_late(self, start: int, until_ms: int) -> bool:
        """Return whether a slice has been combined with others, or belongs to a window that has been evaluated."""
        slicing = self._slicing
        return start < self._stacks.end or slicing.last_ms(slicing.first_window(start)) <= until_ms

    def _evaluate_again(self, start: int, key: Any, until_ms: int) -> None:
        """Evaluate the windows of a key again to which a late record has come in this slice, the latest first."""
        slicing = self._slicing
        windows = range(slicing.window_at(start), slicing.first_window(start) - 1, -slicing.slide)
        due = [
            window
            for window in windows
            if slicing.last_ms(window) <= until_ms < min(slicing.last_ms(window) + slicing.lateness_ms, MAX_TIMESTAMP)
        ]
        if not due:
            return
        older = self._running(key, reversed(list(self._panes_between(due[-1], start + 1))), self._combine)
        newer = self._running(
            key,
            self._panes_between(start + 1, due[0] + slicing.size),
            lambda value, so_far: self._combine(so_far, value),
        )
        found, count = [], 0
        for window in reversed(due):
            while older[-1][0] < window:
                older.pop()
            while count < len(newer) and newer[count][0] < window + slicing.size:
                count += 1
            value = older[-1][1]
            found.append((window, self._combine(value, newer[count - 1][1]) if count else self._own(value)))
        for window, value in reversed(found):
            self._begin(window, window + slicing.size)
            self._evaluate_some(iter([(key, value)]))

    def _running(self, key: Any, panes: Iterable[tuple[int, Pane]], combine: More) -> list[tuple[int, Any]]:
        """Return what the values of a key in these slices come to, until each that has one."""
        found: list[tuple[int, Any]] = []
        for at, pane in panes:
            value = pane.value_of(key)
            if value is not None:
                found.append((at, combine(value, found[-1][1]) if found else value))
        return found

    def count_open(self) -> int:
        """Return how many windows have a slice and are not over."""
        slicing, count = self._slicing, 0
        over_ms = max(self._until_ms, self._timers.watermark_ms)
        after = slicing.window_at(over_ms - slicing.size - slicing.lateness_ms + 1) + slicing.slide
        for start in self._starts:
            first, last = max(after, slicing.first_window(start)), slicing.window_at(start)
            if first <= last:
                count += (last - first) // slicing.slide + 1
                after = last + slicing.slide
        return count

    # --- time

    def _next_window(self) -> int | None:
        """Return the start of the next window to be evaluated; None without any."""
        slicing = self._slicing
        least = slicing.window_at(self._until_ms - slicing.size + 1) + slicing.slide
        at = bisect_left(self._starts, least)
        return max(least, slicing.first_window(self._starts[at])) if at < len(self._starts) else None

    def is_due(self, until_ms: int) -> bool:
        if self._left is not None:
            return True
        if not self._starts:
            return False
        if self._slicing.over_ms(self._starts[0]) <= until_ms:
            return True
        window = self._next_window()
        return window is not None and self._slicing.last_ms(window) <= until_ms

    def evaluate(self, until_ms: int, records_max: int) -> None:
        try:
            while self.is_due(until_ms) and len(self.out) < records_max:
                if self._left is None:
                    self._begin_next(until_ms)
                elif self._evaluate_more(self._left, records_max):
                    self._left = None
                    self._until_ms = self._window[1] - 1
        finally:
            self._backend.leave()

    def _begin_next(self, until_ms: int) -> None:
        """Begin the next window that is due, after slices that are needed no more have gone."""
        self._drop(until_ms)
        window, slicing = self._next_window(), self._slicing
        if window is None or slicing.last_ms(window) > until_ms:
            self._until_ms = max(self._until_ms, until_ms)
            self._drop(until_ms)
            return
        self._begin(window, window + slicing.size)
        self._stacks.move(window, window + slicing.size)
        last_ms, progress = slicing.last_ms(window), self._progress
        progress.passed(self._until_ms)
        items = self._stacks.values()
        if progress.ahead:
            ahead, group_of = progress.ahead, self._group_of
            items = (item for item in items if ahead.get(group_of(item[0]), last_ms - 1) < last_ms)
        self._begin_all(items)

    def _drop(self, until_ms: int) -> None:
        """Remove the slices whose windows are all over at this time, and have been evaluated."""
        slicing, starts = self._slicing, self._starts
        count = 0
        while count < len(starts) and slicing.over_ms(starts[count]) <= until_ms:
            if slicing.last_ms(slicing.window_at(starts[count])) > self._until_ms:
                break
            count += 1
        for start in starts[:count]:
            self._panes.drop((SLICE, *slicing.slice_at(start)), self._backend.generation)
        del starts[:count]
        if not starts:
            self._stacks.clear()

    def _between(self, start: int, end: int) -> Iterator[tuple[int, dict[Any, Any]]]:
        """Return the slices that start in this stretch of time, and their values."""
        return ((at, pane.values()) for at, pane in self._panes_between(start, end))

    def _panes_between(self, start: int, end: int) -> Iterator[tuple[int, Pane]]:
        """Return the slices that start in this stretch of time, and their panes."""
        starts, slicing, by_window = self._starts, self._slicing, self._panes.by_window
        for at in starts[bisect_left(starts, start) : bisect_left(starts, end)]:
            yield at, by_window[SLICE, *slicing.slice_at(at)]


def _new_pane(namespace: Namespace) -> Pane:
    """Return the pane of a slice: it has no timers."""
    return Pane(None, None)
