"""Faults of windows to plant: each loses or repeats a part of what windows hold."""

from __future__ import annotations

from typing import Any, Final

import pytest

from headgate.operators.windows.contents import Contents
from headgate.operators.windows.merging_operator import MergingWindowOperator
from headgate.operators.windows.operator import WindowOperator
from tests.simulation.plants import Plant


def a_merge_loses_what_it_moves(patch: pytest.MonkeyPatch) -> None:
    """Contents that lie under a window which is gone stay there."""
    patch.setattr(Contents, "merge", lambda self, target, sources: None)


def a_window_is_evaluated_twice(patch: pytest.MonkeyPatch) -> None:
    """After a restart, the end of a window evaluates it once more."""
    clear = WindowOperator._end

    def end(self: WindowOperator, window: Any) -> None:
        if self.context.attempt > 1:
            self._emit(window, self._contents.inputs(window) or [], 0)
        clear(self, window)

    patch.setattr(WindowOperator, "_end", end)


def the_set_of_merged_windows_is_not_stored(patch: pytest.MonkeyPatch) -> None:
    """After a merge, the place of the contents is that of the new window."""

    def keep(self: MergingWindowOperator, before: dict[Any, Any], places: dict[Any, Any]) -> None:
        for window in places:
            places[window] = window
        kept(self, before, places)

    kept = MergingWindowOperator._keep
    patch.setattr(MergingWindowOperator, "_keep", keep)


PLANTS: Final[list[Plant]] = [
    a_merge_loses_what_it_moves,
    a_window_is_evaluated_twice,
    the_set_of_merged_windows_is_not_stored,
]
