"""Saved windows: whether what a restore found of windows can go on as those of the program.

A snapshot does not record the kind of its windows; their namespaces and timers show it. Without this check, windows
that the changed program never evaluates would be lost silently.
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
from headgate.functions.windows.time_windows import TimeWindows
from headgate.operators.windows.contents import STATE_NAME
from headgate.operators.windows.merging_windows import MERGING_SET
from headgate.operators.windows.session_snapshots import saved_keys
from headgate.operators.windows.windowing import Windowing
from headgate.state.backend import KeyedBackend
from headgate.time.timers import EVENT_TIMERS, PROCESSING_TIMERS

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
        namespace = next(self._backend.namespaces_with(STATE_NAME), None)
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
        return next(self._backend.namespaces_with(clock), None) is not None

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
