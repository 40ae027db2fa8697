"""Saved sessions: what a restore finds of sessions, in the cells of keys or as `MergingWindows` had them."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final, final

from headgate.errors import RestoreError
from headgate.operators.keyed_context import KeyedTimerService
from headgate.operators.windows.contents import PaneContents
from headgate.operators.windows.merging_windows import MERGING_SET, merging_set
from headgate.operators.windows.namespaces import window_of
from headgate.operators.windows.sessions import END, OTHERS, Session
from headgate.state.backend import KeyedBackend
from headgate.state.keyed.cells import Cell
from headgate.time.timers import EVENT_TIMERS

_KEYS_AT_ONCE: Final = 1024


def saved_keys(backend: KeyedBackend) -> list[Any]:
    """Return the keys that have sessions in their cells."""
    return list(dict.fromkeys((*backend.keys(END), *backend.keys(OTHERS))))


def cells_of(backend: KeyedBackend, keys: list[Any]) -> Iterator[tuple[Any, Cell]]:
    """Yield keys that have state with their cells, which are not to be changed."""
    for first in range(0, len(keys), _KEYS_AT_ONCE):
        some = keys[first : first + _KEYS_AT_ONCE]
        if backend.prefetch is not None:
            backend.prefetch(some)
        for key in some:
            yield key, backend.cells[key]
        backend.leave()


@final
class MergedSessions:
    """The sessions that `MergingWindows` has saved, to be taken over by cells of keys."""

    def __init__(self, backend: KeyedBackend, timers: KeyedTimerService, contents: PaneContents) -> None:
        self._backend = backend
        self._timers = timers
        self._contents = contents

    def taken(self) -> Iterator[tuple[Cell, list[Session]]]:
        """Remove them; yield the cell of each key, which is safe to change, with its sessions, in order.

        Raises `RestoreError` for windows of another kind.
        """
        backend = self._backend
        keys = list(backend.keys(MERGING_SET.name))
        if not keys:
            return
        places = merging_set(backend)
        for key, cell in cells_of(backend, keys):
            backend.cell = backend.enter(key, cell)
            found = [self._session(window, place) for window, place in places.items()]
            places.clear()
            yield backend.cell, sorted((each for each in found if each is not None), key=itemgetter(0))

    def _session(self, window: Any, place: Any) -> Session | None:
        """Remove and return a session, whose contents lie under this place; None for one without any.

        One whose end is not among its timers had been evaluated.
        """
        if type(window) is not tuple:
            raise RestoreError(
                f"windows such as {window_of(window)!r} were saved, which cannot become sessions: keep the assigner, "
                "or give the operator another uid"
            )
        start, end = window
        backend, namespaces = self._backend, self._backend.namespaces
        namespaces.set(window)
        timers_at, _ = backend.timers(EVENT_TIMERS)
        timers = list(namespaces.cell[timers_at] or ())
        for time_ms in timers:
            self._timers.delete_event_time_timer(time_ms)
        namespaces.set(place)
        value = self._contents.take()
        return None if value is None else (start, end, value, end - 1 not in timers)
