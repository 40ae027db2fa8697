"""Windows of an open operator: what gathers records in them, and evaluates them, however they lie in state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, final

from headgate.elements import MAX_TIMESTAMP
from headgate.functions.windows.window import Window
from headgate.operators.base import OperatorContext, Runtime
from headgate.operators.keyed_context import KeyedTimerService
from headgate.operators.side_outputs import LateRecords
from headgate.operators.windows.contents import Contents
from headgate.operators.windows.contexts import (
    AnyWindowFunction,
    TriggerContext,
    WindowContext,
    WindowStates,
    clearing,
    evaluation,
)
from headgate.operators.windows.windowing import Windowing
from headgate.state.backend import KeyedBackend, KeyedSnapshot
from headgate.state.keyed.cells import GENERATION
from headgate.state.operator.list_elements import ListElements

WINDOWS_OPEN: Final = "numWindowsOpen"
"""The metric of the windows that are kept."""


@final
@dataclass(frozen=True, slots=True)
class Opened:
    """What belongs to the open operator."""

    context: OperatorContext
    runtime: Runtime
    backend: KeyedBackend
    timers: KeyedTimerService


class Windows(ABC):
    """Gathers the records of keys in windows, and evaluates those that are due.

    `out` and `times` have what was emitted, and its timestamps; the operator takes it.
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
        backend.cell = cell

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
