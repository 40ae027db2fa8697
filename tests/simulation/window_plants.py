"""Faults of windows to plant: each loses or repeats a part of what windows hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from headgate.operators.windows import slice_windows
from headgate.operators.windows.cell_windows import CellWindows
from headgate.operators.windows.combined_contents import Combined
from headgate.operators.windows.contents import Contents
from headgate.operators.windows.merging_windows import MergingWindows
from headgate.operators.windows.pane_windows import WindowsInPanes
from headgate.operators.windows.session_snapshots import cells_of, saved_keys
from headgate.operators.windows.session_windows import SessionWindows
from headgate.operators.windows.slice_snapshots import SLICE, Stretch, WindowProgress
from headgate.operators.windows.slice_windows import SliceWindows
from headgate.state.keyed.cells import KEY, plain_key
from headgate.state.keyed.panes import Panes
from tests.simulation.plants import Plant


def a_merge_loses_what_it_moves(patch: pytest.MonkeyPatch) -> None:
    """Contents that lie under a window which is gone stay there."""
    patch.setattr(Contents, "merge", lambda self, target, sources: None)


def a_window_is_evaluated_twice(patch: pytest.MonkeyPatch) -> None:
    """Now and then, the end of a window evaluates it once more."""
    end = CellWindows._end

    def evaluate_and_end(self: CellWindows, window: Any) -> None:
        if self._timers.current_processing_time() % 2:
            self._emit(plain_key(self._backend.current.cell[KEY]), window, self._contents.inputs(window) or [], 0)
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


def a_session_is_lost_at_a_merge(patch: pytest.MonkeyPatch) -> None:
    """Of combined sessions that become one, only the first stays."""
    patch.setattr(Combined, "merged", lambda self, values: values[0] if values else None)


def sessions_that_were_evaluated_are_new(patch: pytest.MonkeyPatch) -> None:
    """After a restore, combined sessions that wait for late records are evaluated once more."""
    restored = SessionWindows._note_restored

    def forget_and_restore(self: SessionWindows) -> None:
        for _, cell in cells_of(self._backend, saved_keys(self._backend)):
            self._keep(cell, [(start, end, value, False) for start, end, value, _ in self._sessions(cell)])
        restored(self)

    patch.setattr(SessionWindows, "_note_restored", forget_and_restore)


def restored_sessions_are_never_due(patch: pytest.MonkeyPatch) -> None:
    """After a restore, nobody looks at combined sessions to which no record comes."""
    patch.setattr(SessionWindows, "_note_restored", lambda self: None)


def a_pane_changes_under_a_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A value that a snapshot has yet to take is changed in place."""

    patch.setattr(WindowsInPanes, "_sought", lambda self, pane, key: pane.sealed_value(key))


def a_pane_comes_back(patch: pytest.MonkeyPatch) -> None:
    """Increments do not tell which windows are gone."""
    patch.setattr(Panes, "drop", lambda self, namespace, generation: self.by_window.pop(namespace))


def what_was_evaluated_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """After a restore, windows of slices that are still there are evaluated once more."""
    patch.setattr(WindowProgress, "__init__", _with_saved(lambda saved, groups: []))


def key_groups_of_others_are_new(patch: pytest.MonkeyPatch) -> None:
    """After rescaling, a subtask knows how far it was with one stretch of key groups only, and not with the rest."""
    patch.setattr(WindowProgress, "__init__", _with_saved(lambda saved, groups: saved[:1]))


def a_slice_goes_with_its_first_window(patch: pytest.MonkeyPatch) -> None:
    """A slice that later windows share is removed when the first one is over."""
    drop = SliceWindows._drop

    def drop_more(self: SliceWindows, until_ms: int) -> None:
        drop(self, until_ms)
        slicing = self._slicing
        for start in [at for at in self._starts if slicing.last_ms(slicing.first_window(at)) <= self._until_ms]:
            self._starts.remove(start)
            self._panes.drop((SLICE, *slicing.slice_at(start)), self._backend.generation)

    patch.setattr(SliceWindows, "_drop", drop_more)


def a_savepoint_has_no_window_before_its_end(patch: pytest.MonkeyPatch) -> None:
    """What slices hold of windows that are not yet due is missing in a canonical savepoint."""
    patch.setattr(slice_windows, "window_rows", lambda slices, windows, *_: iter(windows.values()))


def _with_saved(change: Callable[[list[Stretch], range], list[Stretch]]) -> Callable[..., None]:
    """Return a `WindowProgress.__init__` that takes only what this leaves of what was saved."""
    init = WindowProgress.__init__
    return lambda self, saved, groups: init(self, change(list(saved), groups), groups)


PLANTS: Final[list[Plant]] = [
    a_merge_loses_what_it_moves,
    a_session_is_lost_at_a_merge,
    sessions_that_were_evaluated_are_new,
    restored_sessions_are_never_due,
    a_window_is_evaluated_twice,
    the_set_of_merged_windows_is_not_stored,
    a_pane_changes_under_a_snapshot,
    a_pane_comes_back,
    what_was_evaluated_is_forgotten,
    key_groups_of_others_are_new,
    a_slice_goes_with_its_first_window,
    a_savepoint_has_no_window_before_its_end,
]
