"""Windows whose records are combined as they come, and that are evaluated for all keys in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, repeat
from typing import Any, Final

from headgate.functions.windows.functions import (
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
)
from headgate.functions.windows.window import TimeWindow
from headgate.operators.base import USER_ERRORS, UserCodeError, last_index
from headgate.operators.windows.contents import Combined, Contents
from headgate.operators.windows.evaluation import AnyWindowFunction
from headgate.operators.windows.windowing import Windowing
from headgate.operators.windows.windows import Opened, Windows
from headgate.state.keyed.cells import NO_CELL
from headgate.state.keyed.panes import Pane
from headgate.state.operator.list_elements import ListElements
from headgate.types.typed_key import key_hash_code, typed, untyped

EVALUATED: Final = "_window-evaluated"
"""The list state with the keys of a window that a snapshot found half evaluated."""


class CombinedWindows(Windows):
    """Evaluates windows of event time whose combined records lie in panes."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        assert isinstance(contents, Combined)
        self._first, self._more = contents.steps()
        self._result = contents.result
        self._none_made = contents.none_made
        self._passes_through = type(function) in (PassThroughWindowFunction, PassThroughAllWindowFunction)
        self._has_context = isinstance(function, ProcessWindowFunction | ProcessAllWindowFunction)
        self._window: tuple[int, int] = (0, 0)
        """The start and the end of the window that is evaluated."""
        self._window_context.enter_window = lambda: self._backend.namespaces.set(self._window)
        self._left: Iterator[tuple[Any, Any]] | None = None
        """What is left of a window that is being evaluated."""
        self._done: list[Any] = []
        """The keys for which it has been evaluated."""
        self._skipped: dict[tuple[int, int], set[Any]] = {}
        """The keys for which windows had been evaluated when a snapshot was taken, while others were left."""
        for start, end, key in opened.context.restored.values(EVALUATED):
            self._skipped.setdefault((start, end), set()).add(typed(key))

    def lists(self) -> dict[str, ListElements]:
        done = {**self._skipped, self._window: self._done} if self._left is not None else self._skipped
        values = [(*window, untyped(key)) for window, keys in done.items() for key in keys]
        return {EVALUATED: ListElements.by_key(values, [key_hash_code(key) for _, _, key in values])} if values else {}

    def _sought(self, pane: Pane, key: Any) -> Any:
        """Return the value of a key that has none in the open dictionary, or has None there: a function made that."""
        if key in pane.open:
            self._none_made()
        return pane.sealed_value(key)

    def _begin_all(self, items: Iterable[tuple[Any, Any]]) -> None:
        """Begin to evaluate the window, which is due, for all its keys and their values."""
        skipped = self._skipped.pop(self._window, None)
        self._done = list(skipped or ())
        self._left = (item for item in items if item[0] not in skipped) if skipped else iter(items)

    def _begin(self, start: int, end: int) -> None:
        """Make a window the one that is evaluated."""
        self._window = (start, end)
        self._window_context.current = TimeWindow(start, end)

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

    def _evaluate_some(self, position: Iterator[tuple[Any, Any]]) -> None:
        """Evaluate the window for these keys and values."""
        out, result, last_ms = self.out, self._result, self._window[1] - 1
        if self._passes_through:
            out += [emitted for _, value in position if (emitted := result(value)) is not None]
        else:
            evaluate, context = self._evaluate, self._window_context
            for key, value in position:
                given = result(value)
                if given is not None:
                    if self._has_context:
                        self._enter(key)
                    out += evaluate(untyped(key), context, [given])
        self.times += repeat(last_ms, len(out) - len(self.times))

    def _enter(self, key: Any) -> None:
        """Make a key the current one of the state, without a window: the context sets that when it is asked."""
        self._enter_key(key)
        self._backend.namespaces.cell = NO_CELL
