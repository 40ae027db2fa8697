"""Windows in cells, for any assigner, trigger and evictor: the cell of a key and window holds all state of the window.

This is Flink's `WindowOperator`. The cell holds the contents, the state and the timers of the trigger, and the
program's own state. The last timer of a window is the timer of its clean-up. The window is the *namespace* of the
state, as a plain value that is hashed, compared and saved without any Python code.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any, Final

from headgate.elements import MAX_TIMESTAMP
from headgate.errors import ProgramError
from headgate.functions.context import TimeDomain
from headgate.functions.windows.trigger import TriggerResult
from headgate.functions.windows.window import GLOBAL_WINDOW, CountWindow, GlobalWindow, TimeWindow, Window
from headgate.operators.base import USER_ERRORS, UserCodeError
from headgate.operators.windows.base import Opened, Windowing, WindowLayout
from headgate.operators.windows.contents import Contents
from headgate.operators.windows.contexts import AnyWindowFunction, AssignerContext
from headgate.operators.windows.pane_windows import EVALUATED
from headgate.state.keyed.cells import GENERATION, KEY, Cell, plain_key
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.time.timers import Timers
from headgate.types.typed_key import typed, untyped

_GLOBAL: Final = "global"
_CONTINUE: Final = TriggerResult.CONTINUE


def as_namespace(window: Window) -> Any:
    """Return the namespace of a window: its times or its number; of a program's own class, its pickle.

    >>> as_namespace(TimeWindow(0, 10)), as_namespace(CountWindow(3))
    ((0, 10), 3)
    """
    kind = type(window)
    if kind is TimeWindow:
        return (window.start, window.end)  # type: ignore[attr-defined]  # a cast costs a call for each record
    if kind is GlobalWindow:
        return _GLOBAL
    return window.id if isinstance(window, CountWindow) else pickle.dumps(window)


def window_of(namespace: Any) -> Any:
    """Return the window of a namespace.

    >>> window_of((0, 10)), window_of("global")
    (TimeWindow(start=0, end=10), GlobalWindow)
    """
    if type(namespace) is tuple:
        return TimeWindow(*namespace)
    if namespace == _GLOBAL:
        return GLOBAL_WINDOW
    return CountWindow(namespace) if type(namespace) is int else pickle.loads(namespace)  # noqa: S301  # of the job


class CellWindows(WindowLayout):
    """Windows that each have a cell for each key, and timers of their own."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        self._trigger = windowing.trigger
        timers = self._timers
        self.can_count = isinstance(opened.backend, HashMapBackend)
        if self._event_time:
            self._register, self._delete = timers.register_event_time_timer, timers.delete_event_time_timer
        else:
            self._register, self._delete = timers.register_processing_time_timer, timers.delete_processing_time_timer
        self._assigner_context = AssignerContext(opened.timers, opened.runtime)
        for start, end, key in opened.context.restored.values(EVALUATED):
            self._take_over_evaluated(TimeWindow(start, end), typed(key))

    def _take_over_evaluated(self, window: TimeWindow, key: Any) -> None:
        """Take over a window in panes that had been evaluated for the key at the snapshot: it is not to fire again."""
        self._enter_key(key)
        self._backend.namespaces.set(as_namespace(window))
        if self._windowing.cleanup_ms(window) == window.max_timestamp():
            self._contents.clear()  # its only timer finds nothing to emit, and ends it
        else:
            self._delete(window.max_timestamp())
        self._backend.leave()

    def add(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any]) -> None:
        backend = self._backend
        cell_of, generation, current = backend.cells.get, backend.generation, backend.current
        for key, timestamp, value in zip(keys, timestamps, records):  # noqa: B905  # lengths agree
            cell = cell_of(key)
            if cell is None or cell[GENERATION] != generation:
                cell = backend.enter(key, cell)
            current.cell = cell
            self._add(value, timestamp)

    def _add(self, value: Any, timestamp: int) -> None:
        """Put a record into its windows, or deal with it as a late one."""
        windowing, copied = self._windowing, self._copied
        in_time = False
        for window in windowing.assigner.assign_windows(value, timestamp, self._assigner_context):
            if self._into(window, copied(value), timestamp):
                in_time = True
        if not in_time and self._event_time and timestamp + windowing.lateness_ms <= self._timers.watermark_ms:
            self._too_late(value, timestamp)

    def _into(self, window: Window, value: Any, timestamp: int) -> bool:
        """Put a record into a window; return whether the window was still there."""
        cleanup_ms = self._windowing.cleanup_ms(window)
        if self._event_time and cleanup_ms <= self._timers.watermark_ms:
            return False
        self._backend.namespaces.set(as_namespace(window))
        self._contents.add(value, timestamp)
        result = self._trigger.on_element(value, timestamp, window, self._trigger_context)
        if result is not _CONTINUE:
            self._act(result, window, timestamp)
        if cleanup_ms != MAX_TIMESTAMP:
            self._register(cleanup_ms)
        return True

    def _act(self, result: TriggerResult, window: Window, time_ms: int) -> None:
        """Do what the trigger says, at this time, with the contents of the window, whose cell is the current one."""
        if not isinstance(result, TriggerResult):
            raise ProgramError(
                f"{type(self._trigger).__name__} returned {result!r}: on_element(), on_event_time() and "
                "on_processing_time() must return a TriggerResult, such as TriggerResult.CONTINUE"
            )
        if result.is_fire():
            inputs = self._contents.inputs(window)
            if inputs is not None:
                self._emit(untyped(self._backend.current.cell[KEY]), window, inputs, time_ms)
                self._contents.evaluated(window)
        if result.is_purge():
            self._contents.clear()

    def count_open(self) -> int:
        timers = self._timers.event if self._event_time else self._timers.processing
        return 0 if timers is None else timers.count_times()

    # --- time

    def is_due(self, until_ms: int) -> bool:
        event = self._timers.event
        return event is not None and event.head_ms <= until_ms

    def evaluate(self, until_ms: int, records_max: int) -> None:
        assert self._timers.event is not None
        self.fire(self._timers.event, until_ms, records_max, TimeDomain.EVENT_TIME)

    def fire(self, timers: Timers, until_ms: int, limit: int, domain: TimeDomain) -> None:
        """Have the trigger called for some of the timers that are due, and remove windows that are over."""
        backend = self._backend
        timestamp_ms = until_ms
        on_time = self._trigger.on_event_time if domain is TimeDomain.EVENT_TIME else self._trigger.on_processing_time
        is_cleanup = self._event_time is (domain is TimeDomain.EVENT_TIME)
        try:
            for timestamp_ms in timers.due(until_ms, limit, self.out):
                window = self._enter_window(backend.current.cell)
                if not self._is_there(window):
                    continue
                result = on_time(timestamp_ms, window, self._trigger_context)
                if result is not _CONTINUE:
                    self._act(result, window, timestamp_ms)
                if is_cleanup and timestamp_ms == self._windowing.cleanup_ms(window):
                    self._end(window)
        except USER_ERRORS as error:
            key = plain_key(backend.current.cell[KEY])
            raise UserCodeError(key=key, during=f"the timer of a window ({timestamp_ms})") from error
        finally:
            backend.leave()

    def _enter_window(self, cell: Cell) -> Window:
        """Make the key and the window of a timer's cell the current ones; return the window."""
        _, key, namespace = cell[KEY]
        self._enter_key(key)
        self._backend.namespaces.current.cell = cell
        window: Window = window_of(namespace)
        return window

    def _is_there(self, window: Window) -> bool:
        """Return whether the window, whose timer is due, has not been merged into another."""
        return True

    def _clear_contents(self, window: Window) -> None:
        self._contents.clear()

    def _end(self, window: Window) -> None:
        """Remove all that there is of a window, whose cell is the current one."""
        self._clear_contents(window)
        self._trigger.clear(window, self._trigger_context)
        if self._clears is not None:
            self._window_context.current = window
            self._clears.clear(self._window_context)
