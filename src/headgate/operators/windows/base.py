"""What all layouts of windows share: the windowing that a program asks for, and the interface of a layout.

`BulkWindows` evaluates windows that need no trigger, for many keys at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, final

from headgate.elements import MAX_TIMESTAMP
from headgate.functions.windows.assigner import MergingWindowAssigner, WindowAssigner
from headgate.functions.windows.functions import (
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
)
from headgate.functions.windows.trigger import Trigger
from headgate.functions.windows.triggers import EventTimeTrigger
from headgate.functions.windows.window import TimeWindow, Window
from headgate.operators.base import OperatorContext
from headgate.operators.keyed_context import KeyedTimerService
from headgate.operators.out_of_order import LateRecords
from headgate.operators.runtime_context import Runtime
from headgate.operators.windows.combined_contents import Combined
from headgate.operators.windows.contents import Contents, PaneContents
from headgate.operators.windows.contexts import (
    AnyWindowFunction,
    TriggerContext,
    WindowContext,
    WindowStates,
    clearing,
    evaluation,
)
from headgate.operators.windows.emission import emission
from headgate.state.backend import KeyedBackend, KeyedSnapshot
from headgate.state.keyed.cells import GENERATION, NO_CELL
from headgate.state.operator.list_elements import ListElements
from headgate.types.output_tag import OutputTag
from headgate.types.typed_key import untyped

WINDOWS_OPEN: Final = "numWindowsOpen"
"""The metric that counts the windows which an operator keeps."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Windowing:
    """Which windows records belong to, when windows are evaluated, and how long windows wait for late records.

    Late records go to the side output `late_tag`. Without a tag the operator drops and counts them.
    """

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    lateness_ms: int = 0
    late_tag: OutputTag | None = None

    @property
    def merges(self) -> bool:
        """Whether the assigner merges windows."""
        return isinstance(self.assigner, MergingWindowAssigner)

    @property
    def has_default_trigger(self) -> bool:
        """Whether the trigger is `EventTimeTrigger` itself: a subclass may fire at other times."""
        return type(self.trigger) is EventTimeTrigger

    def cleanup_ms(self, window: Window) -> int:
        """Return the time at which the operator removes a window; `MAX_TIMESTAMP` means never.

        This is the end of the window plus, with event time, the allowed lateness (as in Flink's `WindowOperator`).
        """
        last_ms = window.max_timestamp()
        return min(last_ms + self.lateness_ms, MAX_TIMESTAMP) if self.assigner.is_event_time() else last_ms


@final
@dataclass(frozen=True, slots=True)
class Opened:
    """The context, the runtime, the backend and the timers of an open operator."""

    context: OperatorContext
    runtime: Runtime
    backend: KeyedBackend
    timers: KeyedTimerService


class WindowLayout(ABC):
    """Gathers the records of keys in windows, and evaluates the windows that are due.

    A subclass says how windows lie in state. `out` has the emitted results and `times` their timestamps, until the
    operator takes both.
    """

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        context, runtime, self._timers = opened.context, opened.runtime, opened.timers
        self._backend = opened.backend
        self._windowing = windowing
        self._contents = contents
        self._event_time = windowing.assigner.is_event_time()
        self._evaluate = evaluation(function)
        self._extend, self._copied = context.passing.extend, context.passing.copied
        self._clears = clearing(function)
        self._trigger_context = TriggerContext(self._timers, runtime, self._backend)
        self._window_states = WindowStates(context.name, self._backend, merging=windowing.merges)
        self._window_context = WindowContext(self._timers, runtime, self._window_states)
        self._late = LateRecords(context, windowing.late_tag)
        self.out: list[Any] = []
        self.times: list[int] = []
        contents.open(runtime, self._backend, self._trigger_context)

    @abstractmethod
    def add(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any]) -> None:
        """Put records into their windows, and evaluate those that are due because of that."""

    @abstractmethod
    def is_due(self, until_ms: int) -> bool:
        """Return whether a window may be due at this event time."""

    @abstractmethod
    def evaluate(self, until_ms: int, records_max: int) -> None:
        """Evaluate some of the windows that are due at this event time, in its order: until about so many results."""

    can_count = True
    """Whether `count_open` may be called."""

    @abstractmethod
    def count_open(self) -> int:
        """Return how many windows are kept, those of all keys with the same end as one."""

    def lists(self) -> dict[str, ListElements]:
        """Return the list states that a snapshot is to have besides keyed state."""
        return {}

    def rows(self, keyed: KeyedSnapshot) -> KeyedSnapshot:
        """Return the keyed state of a canonical savepoint, in which each window is kept by itself."""
        return keyed

    def _enter_key(self, key: Any) -> None:
        """Make a key the current one of the state."""
        backend = self._backend
        cell = backend.cells.get(key)
        if cell is None or cell[GENERATION] != backend.generation:
            cell = backend.enter(key, cell)
        backend.current.cell = cell

    def _too_late(self, value: Any, timestamp: int) -> None:
        self._late.take(value, timestamp, self.out, self.times)

    def _emit(self, key: Any, window: Window, inputs: list[Any], time_ms: int) -> None:
        """Call the window function. The timestamp of results is the last of the window; `time_ms` where it has none."""
        last_ms = window.max_timestamp()
        self._window_context.current = window
        out, times = self.out, self.times
        results = self._evaluate(key, self._window_context, inputs)
        self._extend(out, results)
        times += repeat(time_ms if last_ms == MAX_TIMESTAMP else last_ms, len(out) - len(times))


class BulkWindows(WindowLayout):
    """Windows of event time with the default trigger: a window has one value for each key."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        assert isinstance(contents, PaneContents)
        self._inputs_of: Callable[[Any], list[Any] | None] = contents.inputs_of
        self._none_made = contents.none_made
        passes = type(function) in (PassThroughWindowFunction, PassThroughAllWindowFunction)
        result = contents.result if passes and isinstance(contents, Combined) else None
        if windowing.lateness_ms:  # the value stays for late records, whatever the functions do with theirs
            self._inputs_of = _of_copy(self._inputs_of, self._copied)
            result = result and _of_copy(result, self._copied)
        native = opened.context.native
        self._emission = None if result is None else emission(native, result, self._none_made, self._extend)
        """Emits values where there is no window function to call."""
        self._window: tuple[int, int] = (0, 0)
        """The start and the end of the window that is evaluated."""
        self._key: Any = None
        """The key whose window is evaluated. It is the current one of the state where the function may use any."""
        self._given_to = (opened.runtime, self._window_states)
        self._window_context.enter_key = lambda: self._enter_key(self._key)
        self._window_context.enter_window = self._enter_window

    def _begin(self, start: int, end: int) -> None:
        """Make a window the one that is evaluated."""
        self._window = (start, end)
        self._window_context.current = TimeWindow(start, end)

    def _evaluate_some(self, position: Iterator[tuple[Any, Any]]) -> None:
        """Evaluate the window for these keys and values."""
        out, last_ms = self.out, self._window_context.current.max_timestamp()
        if self._emission is not None:
            self._emission.emit_windows(position, out)
        else:
            evaluate, context, inputs_of = self._evaluate, self._window_context, self._inputs_of
            (runtime, states), extend = self._given_to, self._extend
            for key, value in position:
                inputs = inputs_of(value)
                if inputs is not None:
                    self._key = key
                    if runtime.any_given or states.any_given:
                        self._enter()
                    results = evaluate(untyped(key), context, inputs)
                    extend(out, results)
        self.times += repeat(last_ms, len(out) - len(self.times))

    def _enter(self) -> None:
        """Make the key the current one of the state, without a window."""
        self._enter_key(self._key)
        self._backend.namespaces.current.cell = NO_CELL

    def _enter_window(self) -> None:
        """Make the key and the window the current ones of the state."""
        self._enter_key(self._key)
        self._backend.namespaces.set(self._window)

    def _clear(self, key: Any) -> None:
        """Have the window function clear its state of the window."""
        if self._clears is not None:
            self._key = key
            self._enter()
            self._clears.clear(self._window_context)


def _of_copy(function: Callable[[Any], Any], copied: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: function(copied(value))
