"""Windows of event time that are evaluated for many keys in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

from headgate.functions.windows.functions import (
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
)
from headgate.functions.windows.window import TimeWindow
from headgate.operators.windows.combined import Combined
from headgate.operators.windows.contents import Contents, PaneContents
from headgate.operators.windows.contexts import AnyWindowFunction
from headgate.operators.windows.windowing import Windowing
from headgate.operators.windows.windows import Opened, Windows
from headgate.state.keyed.cells import NO_CELL
from headgate.types.typed_key import untyped


class BulkWindows(Windows):
    """Evaluates windows without triggers: each is one value of each key."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        assert isinstance(contents, PaneContents)
        self._inputs_of: Callable[[Any], list[Any] | None] = contents.inputs_of
        self._none_made = contents.none_made
        passes = type(function) in (PassThroughWindowFunction, PassThroughAllWindowFunction)
        self._result = contents.result if passes and isinstance(contents, Combined) else None
        """Makes the result of a value where there is no window function to call."""
        if windowing.lateness_ms:  # the value stays for late records, whatever the functions do with theirs
            self._inputs_of = _of_copy(self._inputs_of, self._copied)
            self._result = self._result and _of_copy(self._result, self._copied)
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
        out, result, last_ms = self.out, self._result, self._window_context.current.max_timestamp()
        if result is not None:
            none_made, extend = self._none_made, self._extend
            for _, value in position:
                emitted = [none_made() if value is None else result(value)]
                if emitted[0] is not None:
                    extend(out, emitted)
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
        self._backend.namespaces.cell = NO_CELL

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
