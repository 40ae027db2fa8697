"""Windows in slices: sliding windows that share the values of their slices.

A slice is a stretch of time in which no window begins or ends. It has a pane, as a tumbling window has. The operator
combines the slices of a window when the window is due. Two stacks keep most of the result of the window before (see
`two_stacks`). So neither a record nor a result costs more where windows overlap more. Carbone et al. ("Cutty", 2016)
and Traub et al. ("Scotty", 2018) show that slices pay off for windows of any size.

A late record goes into its slice. Windows that have been evaluated and wait for late records are evaluated again for
the key of the record. The operator removes a slice with its last window. No state belongs to a window itself, so
snapshots tell until when windows have been evaluated (see `slice_snapshots`).
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, final

from headgate.elements import MAX_TIMESTAMP
from headgate.errors import RestoreError
from headgate.functions.windows.time_windows import SlidingEventTimeWindows, check_timestamp
from headgate.operators.base import USER_ERRORS, UserCodeError
from headgate.operators.windows.base import Opened, Windowing
from headgate.operators.windows.contents import STATE_NAME, Contents, PaneContents
from headgate.operators.windows.contexts import AnyWindowFunction
from headgate.operators.windows.pane_loop import PaneSteps, Stretch
from headgate.operators.windows.pane_windows import WindowsInPanes
from headgate.operators.windows.slice_snapshots import PROGRESS, SLICE, Evaluated, WindowProgress, window_rows
from headgate.operators.windows.slicing import Slicing
from headgate.state.descriptors import ValueStateDescriptor
from headgate.state.keyed.panes import Namespace, Pane, SealedPane, ToWindows
from headgate.state.keygroups import groups_of_keys
from headgate.state.operator.list_elements import ListElements, ListMode
from headgate.time.timers import EVENT_TIMERS
from headgate.types.typeinfo import Types

_COPIES: Final = 2
"""The stacks hold about as many values as the slices."""


@final
class SliceWindows(WindowsInPanes):
    """Sliding windows of event time in slices, and those that were saved one by one before the start."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        assigner, backend, context = windowing.assigner, opened.backend, opened.context
        assert isinstance(assigner, SlidingEventTimeWindows)
        assert isinstance(contents, PaneContents)
        self._slicing = Slicing(assigner.size, assigner.slide, assigner.offset, windowing.lateness_ms)
        self._key_groups = context.key_groups
        self._group_of = groups_of_keys(context.max_parallelism, context.native)
        self._progress = self._restored(opened)
        self._until_ms = self._progress.floor_ms
        """Windows that end until then have been evaluated, for some key groups perhaps later ones."""
        self._values_of = contents.slice_values
        self._values = contents.slice_values(self._between)
        self._values.resume(self._arrivals)
        self._own = self._values.copied
        for name in self._values.states:
            backend.namespaces.state(ValueStateDescriptor(name, Types.PICKLED_BYTE_ARRAY()))
        self._panes = backend.panes((STATE_NAME, *self._values.states), EVENT_TIMERS, self._pane_of, copies=_COPIES)
        self._panes.to_windows = self._to_windows
        self._steps = PaneSteps(*self._values.steps(), self._turn, self._sought, self._too_late, self._come_late)
        self._added_until_ms = self._until_ms
        """Until when windows of the keys of the records that are being added have been evaluated."""
        self._starts = sorted(name[1] for name in self._panes.by_window if name[0] == SLICE)
        """The starts of the slices that there are."""

    def _pane_of(self, namespace: Namespace) -> Pane:
        """Return the pane of a slice, which has no timers, or of a window that was saved by itself."""
        return Pane(None, None) if namespace[0] == SLICE else self._new_pane(namespace)

    # --- snapshots

    def _restored(self, opened: Opened) -> WindowProgress:
        """Return how far windows had been evaluated. Raises `RestoreError` where they were sliced otherwise."""
        slicing, saved = self._slicing, opened.context.restored.values(PROGRESS)
        for size, slide, offset, *_ in saved:
            if (size, slide, offset % slide) != (slicing.size, slicing.slide, slicing.offset % slicing.slide):
                raise RestoreError(
                    f"operator {opened.context.name!r} was saved with sliding windows of {size} ms by {slide} ms "
                    f"(offset {offset}), whose slices cannot become those of {slicing.size} ms by {slicing.slide} ms "
                    f"(offset {slicing.offset}): keep the assigner, or give the operator another uid"
                )
        self._arrivals = max((arrivals for *_, arrivals in saved), default=0)
        return WindowProgress([each for *_, stretches, _ in saved for each in stretches], self._key_groups)

    def lists(self) -> dict[str, ListElements]:
        slicing, stretches = self._slicing, self._progress.stretches(self._evaluated_ms())
        shape = (slicing.size, slicing.slide, slicing.offset)
        saved = ListElements.of([(*shape, stretches, self._values.arrivals)])
        return {PROGRESS: ListElements(ListMode.UNION, saved.elements), **super().lists()}

    def _evaluated_ms(self) -> int:
        """Return until when the windows of all key groups have been evaluated, at the least."""
        watermark_ms = self._timers.watermark_ms
        return self._until_ms if self.is_due(watermark_ms) else max(self._until_ms, watermark_ms)

    def _to_windows(self) -> ToWindows:
        """Return a function that makes windows of slices, as of now."""
        ahead, group_of, told = self._progress.ahead, self._group_of, super()._to_windows()
        all_until_ms, values_of = self._evaluated_ms(), self._values_of

        def until_ms(key: Any) -> int:
            return max(ahead.get(group_of(key), all_until_ms), all_until_ms) if ahead else all_until_ms

        evaluated = Evaluated(self._slicing, until_ms, self._half_evaluated())

        def windows(panes: list[SealedPane]) -> Iterator[SealedPane]:
            slices = sorted((pane for pane in panes if pane.namespace[0] == SLICE), key=lambda pane: pane.namespace)
            whole = told([pane for pane in panes if pane.namespace[0] != SLICE])
            by_start = {pane.namespace[1]: pane for pane in slices}
            return window_rows(by_start, {pane.namespace: pane for pane in whole}, evaluated, values_of)

        return windows

    # --- records

    def add(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any]) -> None:
        if self._panes.is_spilled:
            self._panes.load(keys, ((SLICE, *self._slicing.slice_at(time)) for time in timestamps))
        watermark_ms, progress = self._timers.watermark_ms, self._progress
        progress.passed(watermark_ms)
        self._until_ms = max(progress.floor_ms, watermark_ms)
        if not progress.ahead and not self._skipped:
            self._add(keys, timestamps, records, self._until_ms)
            return
        for key, time in zip(keys, timestamps):  # noqa: B905  # lengths agree
            self._add([key], [time], records, self._until_of(key, watermark_ms))

    def _until_of(self, key: Any, watermark_ms: int) -> int:
        """Return until when windows of a key have been evaluated, also those that a restore found half evaluated."""
        skipped = [end - 1 for (_, end), keys in self._skipped.items() if key in keys]
        return max([self._progress.of_group(self._group_of(key), watermark_ms), *skipped])

    def _add(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any], until_ms: int) -> None:
        """Add records of keys whose windows have been evaluated until then."""
        self._added_until_ms = until_ms
        self._add_to_panes(keys, timestamps, records, self._steps)

    def _turn(self, time: int) -> Stretch:
        """Return the slice that a time is in, with its pane."""
        start, end = self._slicing.slice_at(time)
        pane = self._pane_at(start, end, time, self._added_until_ms)
        return start, end, pane, pane is not None and self._is_late(start, self._added_until_ms)

    def _come_late(self, start: int, end: int, key: Any, record: Any) -> None:
        """A late record has been added to a slice."""
        self._values.add_late(start, key, record)
        self._evaluate_again(start, key, self._added_until_ms)

    def _pane_at(self, start: int, end: int, time: int, until_ms: int) -> Pane | None:
        """Return the pane of a slice, in which this time is; None if its windows are over."""
        check_timestamp(time)
        if self._slicing.over_ms(start) <= until_ms:
            return None
        namespace = (SLICE, start, end)
        pane = self._panes.by_window.get(namespace)
        if pane is None:
            pane = self._panes.by_window[namespace] = Pane(None, None)
            insort(self._starts, start)
        return pane

    def _is_late(self, start: int, until_ms: int) -> bool:
        """Return whether a slice has been combined with others, or belongs to a window that has been evaluated."""
        slicing = self._slicing
        return self._values.has_taken(start) or slicing.last_ms(slicing.first_window(start)) <= until_ms

    def _evaluate_again(self, start: int, key: Any, until_ms: int) -> None:
        """Evaluate the windows of a key again to which a late record has come in this slice, the latest first."""
        slicing = self._slicing
        windows = range(slicing.first_window(start), slicing.window_at(start) + 1, slicing.slide)
        due = [window for window in windows if slicing.last_ms(window) <= until_ms < slicing.cleanup_ms(window)]
        if not due:
            return
        panes = self._panes_between(due[0], due[-1] + slicing.size)
        found = [(at, value) for at, pane in panes if (value := pane.value_of(key)) is not None]
        values = self._values.of_windows(found, start, due, slicing.size)
        for window, value in zip(reversed(due), reversed(values), strict=True):
            self._begin(window, window + slicing.size)
            pane = self._panes.by_window.get(self._window)
            before = None if pane is None else pane.value_of(key)
            self._evaluate_some(iter([(key, value if before is None else self._joined(before, value))]))

    def _joined(self, before: Any, value: Any) -> Any:
        """Return the value of a window, of which `before` was saved by itself."""
        return self._values.joined(self._values.of_saved(before), value)

    def count_open(self) -> int:
        slicing, count = self._slicing, len(self._panes.by_window) - len(self._starts)
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
        if self._left is not None or (self._due and self._due[0][0] <= until_ms):
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
                    self._all_evaluated()
                    if self._slicing.has_window(*self._window):
                        self._until_ms = max(self._until_ms, self._window[1] - 1)
        except UserCodeError:
            raise
        except USER_ERRORS as error:
            raise UserCodeError(during=f"the slices of a window ({self._window[1] - 1})") from error
        finally:
            self._backend.leave()

    def _begin_next(self, until_ms: int) -> None:
        """Begin the next window that is due, after slices that are needed no more have gone."""
        self._drop(until_ms)
        window, slicing = self._next_window(), self._slicing
        last_ms = MAX_TIMESTAMP if window is None else slicing.last_ms(window)
        if self._due and self._due[0][0] <= min(last_ms, until_ms):
            self._begin_saved(window)
        elif window is None or last_ms > until_ms:
            self._until_ms = max(self._until_ms, until_ms)
            self._drop(until_ms)
        else:
            self._begin(window, window + slicing.size)
            self._begin_all(self._in_time(self._sliced()))

    def _begin_saved(self, sliced: int | None) -> None:
        """Do what is due next with a window that was saved by itself. `sliced` is the next one that slices have."""
        _, namespace = heapq.heappop(self._due)
        pane = self._panes.by_window.get(namespace)
        if pane is None:
            return
        self._begin(*namespace)
        if pane.is_evaluated:
            self._end(())
        elif namespace != (sliced, None if sliced is None else sliced + self._slicing.size):
            self._begin_all((key, self._values.of_saved(value)) for key, value in pane.due())
        else:
            self._begin_all(self._with_saved(pane))

    def _with_saved(self, pane: Pane) -> Iterator[tuple[Any, Any]]:
        """Return the keys and values of a window of which slices have a part."""
        for items_of in self._panes.parts():
            saved = dict(items_of(pane))
            for key, value in self._in_time(self._together(items_of)):
                before = saved.pop(key, None)
                yield key, value if before is None else self._joined(before, value)
            for key, value in saved.items():
                if key not in pane.evaluated:
                    yield key, self._values.of_saved(value)

    def _sliced(self) -> Iterator[tuple[Any, Any]]:
        """Return the keys and values that slices have of the window, which is the next one."""
        if self._panes.is_spilled:
            self._values.clear()
            return (item for items_of in self._panes.parts() for item in self._together(items_of))
        self._values.move(*self._window)
        return self._values.values()

    def _together(self, items_of: Callable[[Pane], Iterable[tuple[Any, Any]]]) -> Iterator[tuple[Any, Any]]:
        """Return the keys and values of the window, of which `items_of` returns a part of those of a slice."""
        return self._values.together(items_of(pane) for _, pane in self._panes_between(*self._window))

    def _in_time(self, items: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        """Leave out the keys for which the window had been evaluated before the start."""
        self._progress.passed(self._until_ms)
        ahead, group_of, last_ms = self._progress.ahead, self._group_of, self._window[1] - 1
        return (item for item in items if ahead.get(group_of(item[0]), last_ms - 1) < last_ms) if ahead else items

    def _drop(self, until_ms: int) -> None:
        """Remove the slices whose windows are all over at this time, and have been evaluated."""
        slicing, starts = self._slicing, self._starts
        count = 0
        while count < len(starts) and slicing.over_ms(starts[count]) <= until_ms:
            if slicing.window_at(starts[count]) + slicing.size - 1 > self._until_ms:
                break
            count += 1
        for start in starts[:count]:
            self._panes.drop((SLICE, *slicing.slice_at(start)), self._backend.generation)
        del starts[:count]
        if not starts:
            self._values.clear()

    def _between(self, start: int, end: int) -> Iterator[tuple[int, dict[Any, Any]]]:
        """Return the slices that start in this stretch of time, and their values."""
        return ((at, pane.values()) for at, pane in self._panes_between(start, end))

    def _panes_between(self, start: int, end: int) -> Iterator[tuple[int, Pane]]:
        """Return the slices that start in this stretch of time, and their panes."""
        starts, slicing, by_window = self._starts, self._slicing, self._panes.by_window
        for at in starts[bisect_left(starts, start) : bisect_left(starts, end)]:
            yield at, by_window[SLICE, *slicing.slice_at(at)]
