"""Faults of windows to plant: each loses or repeats a part of what windows hold."""

from __future__ import annotations

from typing import Any, Final

import pytest

from headgate.operators.windows.cell_windows import CellWindows
from headgate.operators.windows.contents import Contents
from headgate.operators.windows.merging_windows import MergingWindows
from headgate.state.keyed.cells import KEY, plain_key
from headgate.state.keyed.panes import Pane, Panes
from tests.simulation.plants import Plant


def a_merge_loses_what_it_moves(patch: pytest.MonkeyPatch) -> None:
    """Contents that lie under a window which is gone stay there."""
    patch.setattr(Contents, "merge", lambda self, target, sources: None)


def a_window_is_evaluated_twice(patch: pytest.MonkeyPatch) -> None:
    """Now and then, the end of a window evaluates it once more."""
    end = CellWindows._end

    def evaluate_and_end(self: CellWindows, window: Any) -> None:
        if self._timers.current_processing_time() % 2:
            self._emit(plain_key(self._backend.cell[KEY]), window, self._contents.inputs(window) or [], 0)
        end(self, window)

    patch.setattr(CellWindows, "_end", evaluate_and_end)


def the_set_of_merged_windows_is_not_stored(patch: pytest.MonkeyPatch) -> None:
    """After a merge, the place of the contents is that of the new window."""
    keep = MergingWindows._keep

    def keep_no_places(self: MergingWindows, before: dict[Any, Any], places: dict[Any, Any]) -> None:
        for window in places:
            places[window] = window
        keep(self, before, places)

    patch.setattr(MergingWindows, "_keep", keep_no_places)


def a_pane_changes_under_a_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A value that a snapshot has yet to take is changed in place."""

    def sealed_value(self: Pane, key: Any) -> Any:
        return next((values[key] for _, values in self.sealed if key in values), None)

    patch.setattr(Pane, "sealed_value", sealed_value)


def a_pane_comes_back(patch: pytest.MonkeyPatch) -> None:
    """Increments do not tell which windows are gone."""
    patch.setattr(Panes, "drop", lambda self, namespace, generation: self.by_window.pop(namespace))


PLANTS: Final[list[Plant]] = [
    a_merge_loses_what_it_moves,
    a_window_is_evaluated_twice,
    the_set_of_merged_windows_is_not_stored,
    a_pane_changes_under_a_snapshot,
    a_pane_comes_back,
]
