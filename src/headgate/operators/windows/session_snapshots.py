"""Session windows in snapshots.

A checkpoint keeps the sessions of a key in the key's cell, as `session_state` has them. A canonical savepoint has an
entry for each session, as `MergingWindows` keeps them, so that it restores with any trigger: `SessionRows` makes the
entries, and `MergedSessions` takes them into the cells of keys. No function of the program is called to make the
entries, so an I/O thread makes them while it stores the snapshot, for some keys at a time.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, cast, final

from headgate.errors import RestoreError, StorageError
from headgate.operators.keyed_context import KeyedTimerService
from headgate.operators.windows.cell_windows import window_of
from headgate.operators.windows.contents import PaneContents
from headgate.operators.windows.merging_windows import MERGING_SET, merging_set
from headgate.operators.windows.session_state import END, OTHERS, Session, over_ms, rows_of, session_states
from headgate.state.backend import KeyedBackend, KeyedSnapshot, StateWriter
from headgate.state.descriptors import TIMERS, StateDescriptor
from headgate.state.files import KeyedState, LocalFile, StateFile
from headgate.state.formats.codecs import pickled
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.snapshot import Entry, FileLayout, decode
from headgate.state.keyed.cells import CHUNK_CELLS, NAMESPACED, Cell
from headgate.state.keyed.columns import meta_of
from headgate.state.keyed.timer_index import NEVER
from headgate.time.timers import EVENT_TIMERS
from headgate.types.typeinfo import Types

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
            backend.current.cell = backend.enter(key, cell)
            found = [self._session(window, place) for window, place in places.items()]
            places.clear()
            yield backend.current.cell, sorted((each for each in found if each is not None), key=itemgetter(0))

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
        timers = list(namespaces.current.cell[timers_at] or ())
        for time_ms in timers:
            self._timers.delete_event_time_timer(time_ms)
        namespaces.set(place)
        value = self._contents.take()
        return None if value is None else (start, end, value, end - 1 not in timers)


_OF_SESSIONS: Final = [each.name for each in session_states(Types.PICKLED_BYTE_ARRAY())]


@final
@dataclass(frozen=True, slots=True)
class SessionTerms:
    """The state that contents of windows lie in, the allowed lateness, and what gives a local folder."""

    contents: StateDescriptor
    lateness_ms: int
    scratch: Callable[[], Path]


@final
class SessionRows:
    """The `KeyedSnapshot` of a canonical savepoint, made of that of a backend, which is of kind "entries"."""

    def __init__(self, inner: KeyedSnapshot, terms: SessionTerms) -> None:
        self.inner = inner
        self.key_groups = inner.key_groups
        self._terms = terms

    def advance(self) -> bool:
        return self.inner.advance()

    def store(self, writer: StateWriter) -> KeyedState:
        try:
            with tempfile.TemporaryDirectory(dir=self._terms.scratch()) as folder:
                found, made = Path(folder, "cells"), Path(folder, "windows")
                stored = self.inner.store(LocalFile(found))
                self._rewrite(found, made)
                (file,) = stored.base
                handle = writer.upload(file.name, made, shared=False)
        except OSError as error:
            raise StorageError(f"sessions could not be written to local files: {error}") from error
        return KeyedState(key_groups=self.key_groups, kind="entries", base=(StateFile(file.name, handle),))

    def _rewrite(self, found: Path, made: Path) -> None:
        first, last = self.key_groups
        with (
            found.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            made.open("wb") as out,
        ):
            saved = decode(cast("bytes", data), f"{found}", {})
            table = _Table(saved.states, self._terms)
            layout = FileLayout(table.states, delta=False)
            out.write(layout.begin())
            for group in range(first, last + 1):
                entries = table.entries(saved.entries(range(group, group + 1)))
                while piece := list(islice(entries, CHUNK_CELLS)):
                    out.write(layout.add(f"{group}", pickled(piece)))
            out.write(layout.end())
            del saved


@final
class _Table:
    """Makes entries with these `states` of those with the states that were found."""

    def __init__(self, found: list[StateMeta], terms: SessionTerms) -> None:
        names = [meta.name for meta in found]
        added = [
            meta_of(terms.contents, namespaced=True),
            StateMeta(EVENT_TIMERS, TIMERS.name, Types.PICKLED_BYTE_ARRAY()),
            meta_of(MERGING_SET),
        ]
        self._kept = [at for at, name in enumerate(names) if name not in _OF_SESSIONS]
        self._sessions = [names.index(name) for name in _OF_SESSIONS]
        kept = [found[at] for at in self._kept]
        self.states = [*kept, *(meta for meta in added if meta.name not in names)]
        places = [meta.name for meta in self.states]
        self._contents, self._timers, self._set = (places.index(meta.name) for meta in added)
        self._lateness_ms = terms.lateness_ms

    def entries(self, found: Iterable[Entry]) -> Iterator[Entry]:
        """Yield the entries that entries become."""
        for group, key, *values in found:
            own = [values[at] for at in self._kept]
            own += [None] * (len(self.states) - len(own))
            start, end, value, others = (values[at] for at in self._sessions)
            for session in rows_of((start, end, value, others)):
                own[self._set] = {**(own[self._set] or {}), session[:2]: session[:2]}
                yield self._of_window(group, key, session)
            if any(value is not None for value in own):
                yield [group, key, *own]

    def _of_window(self, group: int, key: Any, session: Session) -> Entry:
        start, end, value, is_evaluated = session
        values: list[Any] = [None] * len(self.states)
        over, last_ms = over_ms(end, self._lateness_ms), end - 1
        times = ({} if is_evaluated else {last_ms: None}) | ({} if over == NEVER else {over: None})
        values[self._contents], values[self._timers] = value, times
        return [group, (NAMESPACED, key, (start, end)), *values]
