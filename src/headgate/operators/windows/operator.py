"""The window operator: for each record the windows that it belongs to, for each window its contents and its trigger.

It is Flink's `WindowOperator`. All that it knows of a window lies in the cell of the key and window: the contents, the
state and the timers of the trigger, the program's own state. A window's last timer is that of its clean-up.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any, Final

from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Batch
from headgate.functions.context import TimeDomain
from headgate.functions.windows.assigner import MergingWindowAssigner
from headgate.functions.windows.functions import ProcessAllWindowFunction, ProcessWindowFunction
from headgate.functions.windows.trigger import TriggerResult
from headgate.functions.windows.window import Window
from headgate.operators.base import USER_ERRORS, OperatorContext, Runtime, UserCodeError
from headgate.operators.keyed import KeyedCall, KeyedOperator
from headgate.operators.keyed_context import KeyedContext
from headgate.operators.windows.contents import Contents
from headgate.operators.windows.contexts import AssignerContext, TriggerContext, WindowContext, WindowStates
from headgate.operators.windows.evaluation import AnyWindowFunction, evaluation
from headgate.operators.windows.namespaces import namespace_of, window_of
from headgate.operators.windows.windowing import Windowing
from headgate.state.keyed.cells import GENERATION, KEY, Cell, plain_key
from headgate.time.timers import Timers

LATE_RECORDS: Final = "numLateRecordsDropped"
"""The metric of the records that came too late, by Flink's name."""

_CONTINUE: Final = TriggerResult.CONTINUE


class WindowOperator(KeyedOperator):
    """Gathers the records of a key in windows, and emits what the window function makes of them.

    The timestamp of results is the last one of their window. A window without an end, of a number of records or of all,
    has that of the record, or of the timer, at which it is evaluated.
    """

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction) -> None:
        super().__init__(function, self._bound)
        self._windowing = windowing
        self._contents = contents
        self._evaluate = evaluation(function)
        self._clears = function if isinstance(function, ProcessWindowFunction | ProcessAllWindowFunction) else None
        self._out: list[Any] = []
        self._times: list[int] = []

    def open(self, context: OperatorContext) -> None:
        self._late = context.metrics.counter(LATE_RECORDS)
        super().open(context)

    def _make_context(self) -> KeyedContext:
        return KeyedContext(self._backend, self.context.services.clock, self._backend.namespaces)

    def _has_timers(self) -> bool:
        return True

    def _bound(self, function: object, runtime: Runtime) -> KeyedCall:
        """Make what belongs to the open operator; return what is done for each record."""
        timers, backend, windowing = self._context.timers, self._backend, self._windowing
        merging = isinstance(windowing.assigner, MergingWindowAssigner)
        self._timers = timers
        self._trigger = windowing.trigger
        self._assigner_context = AssignerContext(timers, runtime)
        self._trigger_context = TriggerContext(timers, runtime, backend)
        self._window_context = WindowContext(timers, runtime, WindowStates(self.context.name, backend, merging=merging))
        self._event_time = windowing.assigner.is_event_time()
        self._contents.open(runtime, backend, self._trigger_context)
        return self._add

    def close(self) -> None:
        try:
            self._contents.close()
        finally:
            super().close()

    # --- records

    def _run(self, keys: list[Any], call: KeyedCall) -> Batch:
        return self._each(keys, repeat(MIN_TIMESTAMP), call)

    def _run_timed(self, keys: list[Any], timestamps: list[int], call: KeyedCall) -> Batch:
        return self._each(keys, timestamps, call)

    def _each(self, keys: list[Any], timestamps: Iterable[int], call: KeyedCall) -> Batch:
        backend, context = self._backend, self._context
        cell_of, generation = backend.cells.get, backend.generation
        for key, time, value in zip(keys, timestamps, self._position):  # noqa: B905  # lengths agree
            cell = cell_of(key)
            if cell is None or cell[GENERATION] != generation:
                cell = backend.enter(key, cell)
            backend.cell = cell
            call(value, context.at(time))
        return self._taken()

    def _taken(self) -> Batch:
        out, times = self._out, self._times
        self._out, self._times = [], []
        return Batch(out, times)

    def _add(self, value: Any, context: KeyedContext) -> None:
        """Put a record into its windows, or deal with it as a late one."""
        timestamp, windowing = context._timestamp, self._windowing
        assert timestamp is not None
        in_time = False
        for window in windowing.assigner.assign_windows(value, timestamp, self._assigner_context):
            if self._into(window, value, timestamp):
                in_time = True
        if not in_time and self._event_time and timestamp + windowing.lateness_ms <= self._timers.watermark_ms:
            self._too_late(value, timestamp)

    def _too_late(self, value: Any, timestamp: int) -> None:
        if self._windowing.late_tag is None:
            self._late.inc()
        else:
            self._out.append((self._windowing.late_tag, value))
            self._times.append(timestamp)

    def _into(self, window: Window, value: Any, timestamp: int) -> bool:
        """Put a record into a window; return whether the window was still there."""
        cleanup_ms = self._windowing.cleanup_ms(window)
        if self._event_time and cleanup_ms <= self._timers.watermark_ms:
            return False
        self._backend.namespaces.set(namespace_of(window))
        self._contents.add(value, timestamp)
        result = self._trigger.on_element(value, timestamp, window, self._trigger_context)
        if result is not _CONTINUE:
            self._act(result, window, timestamp)
        self._register_cleanup(cleanup_ms)
        return True

    def _act(self, result: TriggerResult, window: Window, time_ms: int) -> None:
        """Do what the trigger says, at this time, with the contents of the window, whose cell is the current one."""
        if result.is_fire():
            inputs = self._contents.inputs(window)
            if inputs is not None:
                self._emit(window, inputs, time_ms)
                self._contents.evaluated(window)
        if result.is_purge():
            self._contents.clear()

    def _emit(self, window: Window, inputs: list[Any], time_ms: int) -> None:
        """Call the window function. The timestamp of results is the last of the window; `time_ms` where it has none."""
        last_ms = window.max_timestamp()
        context, out, times = self._window_context, self._out, self._times
        context.current = window
        out += self._evaluate(self._context.get_current_key(), context, inputs)
        times += repeat(time_ms if last_ms == MAX_TIMESTAMP else last_ms, len(out) - len(times))

    def _register_cleanup(self, cleanup_ms: int) -> None:
        if cleanup_ms == MAX_TIMESTAMP:
            return
        if self._event_time:
            self._timers.register_event_time_timer(cleanup_ms)
        else:
            self._timers.register_processing_time_timer(cleanup_ms)

    # --- time

    def _fire(self, timers: Timers, until_ms: int, limit: int, domain: TimeDomain) -> Batch:
        backend = self._backend
        timestamp_ms = until_ms
        on_time = self._trigger.on_event_time if domain is TimeDomain.EVENT_TIME else self._trigger.on_processing_time
        is_cleanup = self._event_time is (domain is TimeDomain.EVENT_TIME)
        try:
            for timestamp_ms in timers.due(until_ms, limit, self._out):
                window = self._enter_window(backend.cell)
                if not self._is_there(window):
                    continue
                result = on_time(timestamp_ms, window, self._trigger_context)
                if result is not _CONTINUE:
                    self._act(result, window, timestamp_ms)
                if is_cleanup and timestamp_ms == self._windowing.cleanup_ms(window):
                    self._end(window)
        except USER_ERRORS as error:
            key = plain_key(backend.cell[KEY])
            raise UserCodeError(key=key, during=f"the timer of a window ({timestamp_ms})") from error
        finally:
            backend.leave()
        return self._split(self._taken())

    def _enter_window(self, cell: Cell) -> Window:
        """Make the key and the window of a timer's cell the current ones; return the window."""
        backend = self._backend
        _, key, namespace = cell[KEY]
        of_key = backend.cells.get(key)
        if of_key is None or of_key[GENERATION] != backend.generation:
            of_key = backend.enter(key, of_key)
        backend.cell, backend.namespaces.cell = of_key, cell
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
