"""Windows in panes: which are due, which of their keys have been evaluated, and what savepoints tell of that."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from headgate.functions.windows.window import TimeWindow
from headgate.operators.base import USER_ERRORS, UserCodeError, last_index
from headgate.operators.windows.bulk_windows import BulkWindows
from headgate.operators.windows.contents import Contents, PaneContents
from headgate.operators.windows.contexts import AnyWindowFunction
from headgate.operators.windows.windowing import Windowing
from headgate.operators.windows.windows import Opened
from headgate.state.keyed.panes import Namespace, Pane, Panes, ToWindows
from headgate.state.operator.list_elements import ListElements
from headgate.types.typed_key import key_hash_code, typed, untyped

EVALUATED: Final = "_window-evaluated"
"""The list state with the keys of a window that a snapshot found half evaluated."""


class WindowsInPanes(BulkWindows):
    """Evaluates windows that lie in panes, for some keys at a time."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        assert isinstance(contents, PaneContents)
        self._own = contents.owner()
        self._panes: Panes
        self._due: list[tuple[int, Namespace]] = []
        """A heap of when windows with a pane of their own are due: to be evaluated, or to be removed."""
        self._left: Iterator[tuple[Any, Any]] | None = None
        """What is left of a window that is being evaluated."""
        self._done: list[Any] = []
        """The keys for which it has been evaluated."""
        self._skipped: dict[tuple[int, int], set[Any]] = {}
        """The keys for which windows had been evaluated when a snapshot was taken, while others were left."""
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
        """Return the value of a key that has none in the open dictionary, or has None there: a function made that."""
        if key in pane.open:
            self._none_made()
        value = pane.sealed_value(key)
        return None if value is None else self._own(value)

    # --- windows with a pane of their own

    def _new_pane(self, namespace: Namespace) -> Pane:
        """Return the pane of a window that is not over, which from now on is among those to become due."""
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
