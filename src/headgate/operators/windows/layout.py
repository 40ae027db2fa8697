"""Which layout the windows of an operator have in state, and whether the windows of a snapshot can go on in it.

| layout | state | windows |
|---|---|---|
| `CellWindows` | each window of a key has a cell and timers, as in Flink | any assigner, trigger and evictor |
| `MergingWindows` | the same, with a set of the key's windows | any merging assigner |
| `PaneWindows` | each window has a dictionary of keys | tumbling, sliding |
| `SliceWindows` | each slice of the windows has a dictionary of keys | sliding |
| `SessionWindows` | the cell of the key has all sessions of the key | sessions |
"""

from __future__ import annotations

from typing import Any, Final, final

from headgate.errors import RestoreError
from headgate.functions.windows.assigner import WindowAssigner
from headgate.functions.windows.count_windows import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    GlobalWindows,
)
from headgate.functions.windows.session_windows import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
)
from headgate.functions.windows.time_windows import SlidingEventTimeWindows, TimeWindows, TumblingEventTimeWindows
from headgate.operators.windows.base import Windowing, WindowLayout
from headgate.operators.windows.cell_windows import CellWindows
from headgate.operators.windows.contents import STATE_NAME, Contents, PaneContents
from headgate.operators.windows.contexts import AnyWindowFunction, clearing
from headgate.operators.windows.merging_windows import MERGING_SET, MergingWindows
from headgate.operators.windows.pane_windows import PaneWindows
from headgate.operators.windows.session_snapshots import saved_keys
from headgate.operators.windows.session_windows import SessionWindows
from headgate.operators.windows.slice_windows import SliceWindows
from headgate.state.backend import KeyedBackend
from headgate.time.timers import EVENT_TIMERS, PROCESSING_TIMERS


def layout_of(windowing: Windowing, contents: Contents, function: AnyWindowFunction) -> type[WindowLayout]:
    """Return the layout that costs least for windows of this kind.

    The comments have the CPU time of a record with its share of the results, in the layout and in the one that would
    take its place.
    """
    in_cells = MergingWindows if windowing.merges else CellWindows
    if not windowing.has_default_trigger or not isinstance(contents, PaneContents):
        return in_cells  # another trigger may fire at any record, and an evictor asks for the times of all records
    assigner = windowing.assigner
    kind = type(assigner)  # a class derived from one of these may assign any windows
    if kind in (EventTimeSessionWindows, DynamicEventTimeSessionWindows):
        return SessionWindows  # 0.2 to 4.4 us; in cells 25 to 34 us
    if kind not in (TumblingEventTimeWindows, SlidingEventTimeWindows):
        return in_cells
    assert isinstance(assigner, TimeWindows)
    if assigner.slide > assigner.size:
        return in_cells  # some records are in no window
    # A function that clears state of its own is called for each key of a window that is over: slices do not know them.
    if assigner.slide < assigner.size and contents.is_sliceable and clearing(function) is None:
        return SliceWindows  # with an overlap of 2: 0.3 to 0.5 us, of 60: 0.4 us; in panes of windows 0.8 us, 19 us
    return PaneWindows  # tumbling: 0.2 to 0.6 us; in cells 3 to 25 us. Overlap of 5: 1.4 us; in cells 11 us


_KINDS: Final = {tuple: "windows of time", int: "windows of a number of records", str: "global windows"}
"""What windows are, by the type of their namespaces. Those of a program's own classes are bytes."""


_TIMED: Final = (
    TimeWindows,
    EventTimeSessionWindows,
    DynamicEventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
)
"""Assigners whose windows all have a timer of the assigner's clock, whatever the trigger."""


@final
class SavedWindows:
    """What a restore found of the windows of an operator."""

    def __init__(self, name: str, backend: KeyedBackend, *, has_slices: bool) -> None:
        self._name = name
        self._backend = backend
        self._has_slices = has_slices

    def check(self, windowing: Windowing, *, as_sessions: bool, as_slices: bool) -> None:
        """Raise `RestoreError` where they cannot go on as those of the program.

        That has sessions in the cells of keys with `as_sessions`, and slices with `as_slices`.
        """
        if not as_sessions and saved_keys(self._backend):
            raise self._in_one_layout("sessions in the cells of keys", "sessions")
        if not as_slices and self._has_slices:
            raise self._in_one_layout("sliding windows in slices", "sliding windows")
        namespace = next(self._backend.namespaces.having(STATE_NAME), None)
        if namespace is not None:
            self._check_kept(windowing, namespace)

    def _check_kept(self, windowing: Windowing, namespace: Any) -> None:
        """Check windows that each have state of their own. `namespace` is that of one of them."""
        assigner, merged = windowing.assigner, next(self._backend.keys(MERGING_SET.name), None) is not None
        if merged is not windowing.merges:
            kind = "windows that merge" if merged else "windows that do not merge"
            raise self._refused(kind, f"which {assigner!r} cannot take over")
        if type(namespace) is not _namespace_type(assigner, type(namespace)):
            kind = _KINDS.get(type(namespace), "windows of a class of the program")
            raise self._refused(kind, f"which {assigner!r} cannot take over")
        if not isinstance(assigner, _TIMED):
            return  # which timers there are depends on the trigger, or on a class of the program
        clocks = (EVENT_TIMERS, PROCESSING_TIMERS)
        own, other = clocks if assigner.is_event_time() else clocks[::-1]
        if not self._has_timers(own) and self._has_timers(other):
            clock = "processing time" if other is PROCESSING_TIMERS else "event time"
            raise self._refused(f"windows of {clock}", f"which {assigner!r} would never evaluate")

    def _has_timers(self, clock: str) -> bool:
        return next(self._backend.namespaces.having(clock), None) is not None

    def _refused(self, found: str, why: str) -> RestoreError:
        return RestoreError(
            f"operator {self._name!r} was saved with {found}, {why}: keep the assigner, or give the operator another "
            "uid"
        )

    def _in_one_layout(self, found: str, kind: str) -> RestoreError:
        return RestoreError(
            f"operator {self._name!r} was saved with {found}, which only {kind} of event time can take over, with the "
            "default trigger and no evictor; restore it with those, or go through a canonical savepoint, or give the "
            "operator another uid"
        )


def _namespace_type(assigner: WindowAssigner[Any, Any], saved: type) -> type:
    """Return the type of an assigner's namespaces: that of the saved ones where it may be any."""
    if isinstance(assigner, TimeWindows):
        return tuple
    if isinstance(assigner, CountTumblingWindowAssigner | CountSlidingWindowAssigner):
        return int
    return str if isinstance(assigner, GlobalWindows) else saved
