"""The window operator, which gathers the records of each key in windows and emits the results of the windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, Final, final

from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Barrier, Batch, SavepointFormat
from headgate.functions.context import TimeDomain
from headgate.operators.base import OperatorSnapshot
from headgate.operators.keyed import KeyedCall, KeyedOperator, no_call
from headgate.operators.keyed_context import KeyedContext
from headgate.operators.runtime_context import Runtime
from headgate.operators.windows.base import WINDOWS_OPEN, Opened, Windowing, WindowLayout
from headgate.operators.windows.cell_windows import CellWindows
from headgate.operators.windows.contents import Contents
from headgate.operators.windows.contexts import AnyWindowFunction
from headgate.operators.windows.layout import SavedWindows, layout_of
from headgate.operators.windows.pane_windows import EVALUATED
from headgate.operators.windows.session_snapshots import SessionRows
from headgate.operators.windows.session_windows import SessionWindows
from headgate.operators.windows.slice_snapshots import PROGRESS
from headgate.operators.windows.slice_windows import SliceWindows
from headgate.state.backend import KeyedSnapshot
from headgate.time.timers import Timers

_OWN_LISTS: Final = (PROGRESS, EVALUATED)


class WindowOperator(KeyedOperator):
    """Gathers the records of keys in windows, and emits what the window function makes of them.

    The timestamp of results is the last one of their window. A window without an end, of a number of records or of all,
    has that of the record, or of the timer, at which it is evaluated.
    """

    timer_delay_ms = 1
    """A record of a window's last millisecond still belongs to it (Flink's `ProcessingTimeServiceUtil`)."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction) -> None:
        super().__init__(function, self._bound)
        self._windowing = windowing
        self._contents = contents
        self._window_function = function

    def _make_context(self) -> KeyedContext:
        return KeyedContext(self._backend, self.context.services.clock, self._backend.namespaces.current)

    def _has_timers(self) -> bool:
        return isinstance(self._windows, CellWindows)

    def _kind(self) -> type[WindowLayout]:
        """Return how windows lie in state. Raises `RestoreError` where what was saved cannot be taken over."""
        kind = layout_of(self._windowing, self._contents, self._window_function)
        saved = SavedWindows(self.context.name, self._backend, has_slices=PROGRESS in self.context.restored.lists)
        saved.check(self._windowing, as_sessions=kind is SessionWindows, as_slices=kind is SliceWindows)
        return kind

    def _bound(self, function: object, runtime: Runtime) -> KeyedCall:
        opened = Opened(self.context, runtime, self._backend, self._context.timers)
        self._windows = self._kind()(self._windowing, self._contents, self._window_function, opened)
        if self._windows.can_count:
            self.context.metrics.gauge(WINDOWS_OPEN, self._windows.count_open)
        return no_call

    def _run(self, keys: list[Any], call: KeyedCall) -> Batch:
        self._windows.add(keys, repeat(MIN_TIMESTAMP), self._position)
        return self._taken()

    def _run_timed(self, keys: list[Any], timestamps: list[int], call: KeyedCall) -> Batch:
        self._windows.add(keys, timestamps, self._position)
        return self._taken()

    def _taken(self) -> Batch:
        windows = self._windows
        out, times = windows.out, windows.times
        windows.out, windows.times = [], []
        return Batch(out, times)

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        self._context.timers.watermark_ms = watermark_ms
        if not self._windows.is_due(watermark_ms):
            return None
        self._windows.evaluate(watermark_ms, records_max)
        if self._context.timers.in_use:
            self._set_alarm()
        return self._split(self._taken())

    def _fire(self, timers: Timers, until_ms: int, limit: int, domain: TimeDomain) -> Batch:
        assert isinstance(self._windows, CellWindows)  # others set no timers
        self._windows.fire(timers, until_ms, limit, domain)
        return self._split(self._taken())

    def _fire_event_timers(self, records_max: int) -> Iterator[Batch]:
        while self._windows.is_due(MAX_TIMESTAMP):
            self._windows.evaluate(MAX_TIMESTAMP, records_max)
            yield self._split(self._taken())

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        taken = super().snapshot(barrier)
        lists = {name: each for name, each in taken.lists.items() if name not in _OWN_LISTS}  # those are restored ones
        if not _is_canonical(barrier):  # which says all that there is to say of each window
            lists |= self._windows.lists()
        return replace(taken, lists=lists)

    def _keyed_snapshot(self, barrier: Barrier) -> KeyedSnapshot | None:
        keyed = super()._keyed_snapshot(barrier)
        return self._windows.rows(keyed) if keyed is not None and _is_canonical(barrier) else keyed

    def forget(self, snapshot: OperatorSnapshot) -> None:
        if isinstance(snapshot.keyed, SessionRows):
            snapshot = replace(snapshot, keyed=snapshot.keyed.inner)
        super().forget(snapshot)

    def end_input(self) -> None:
        self._contents.finish()
        super().end_input()

    def close(self) -> None:
        try:
            self._contents.close()
        finally:
            super().close()


def _is_canonical(barrier: Barrier) -> bool:
    return barrier.savepoint is not None and barrier.savepoint.format is SavepointFormat.CANONICAL


@final
@dataclass(frozen=True, slots=True)
class WindowFactory:
    """Makes a window operator."""

    windowing: Windowing
    contents: Contents
    function: AnyWindowFunction

    def create(self) -> WindowOperator:
        """Return a new operator, not yet opened."""
        return WindowOperator(self.windowing, self.contents, self.function)
