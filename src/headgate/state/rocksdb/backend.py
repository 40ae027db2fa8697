"""The RocksDB backend: keyed state in a database on local disk, behind a write-back cache of cells.

Access to a key in the cache costs as much as on the hash map. The backend writes cells to the database when the cache
is full (the oldest first) and for snapshots. `snapshots` explains how a snapshot stays consistent while the loop
continues.

The mailbox loop of the subtask owns the backend. Reading a key that is not in the cache waits for the local disk.
"""

from __future__ import annotations

import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, Final, final

from headgate import options
from headgate.elements import SavepointFormat
from headgate.ids import CheckpointId
from headgate.state.backend import BackendContext, KeyedSnapshot
from headgate.state.files import FetchedKeyed, KeyedState
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.snapshot import VALUES
from headgate.state.formats.unpickle import loader
from headgate.state.keyed.cell_snapshot import FileTerms
from headgate.state.keyed.cells import FIRST, GENERATION, KEY, SAVED
from headgate.state.keyed.changelog import Changelog
from headgate.state.keyed.increments import IncrementBase
from headgate.state.keyed.panes import Namespace, Pane
from headgate.state.kinds.kind import StateDescriptor
from headgate.state.kinds.owner import HandleOwner
from headgate.state.rocksdb.cache import CellCache
from headgate.state.rocksdb.database import Memory, RocksDatabase
from headgate.state.rocksdb.entries import EntriesSnapshot, EntriesTerms
from headgate.state.rocksdb.layouts import Layouts, metas_of
from headgate.state.rocksdb.pane_rows import PaneRows
from headgate.state.rocksdb.restore import (
    EntryLoader,
    RestoreScope,
    best_base,
    clip,
    load_file,
    load_part,
    merge_part,
    open_files,
)
from headgate.state.rocksdb.row_keys import CELL_AT, LAYOUTS_ROW, KeyGroups, cells_of, key_of
from headgate.state.rocksdb.snapshots import BarrierWalk, DeltaSnapshot, FilesSnapshot, RowsSnapshot
from headgate.state.rocksdb.store import Frames, Store
from headgate.state.rocksdb.stored_panes import StoredPanes
from headgate.state.rocksdb.timers import StoredTimerIndex
from headgate.state.rocksdb.ttl_cleanup import BackgroundCleanup
from headgate.state.rocksdb.window_entries import WindowEntries

_CELLS_PART: Final = 4
"""If windows are kept in panes, one part in this many of the cache is for cells."""

FRAMES_BYTES_MAX: Final = 64 * 2**20
"""If checkpoints fail and more bytes of changes than this wait to be written, the next snapshot is a whole one."""


@final
class RocksDBBackend(CellCache):
    """Keyed state of one operator in one subtask. `KeyedBackend` describes the interface."""

    def __init__(self, context: BackendContext) -> None:
        settings = context.settings
        self._folder = _own_folder(context)
        self._numbers = count(1)
        self._frames = Frames()
        self._with_frames = context.has_changelog
        self._memory = Memory(
            settings.get(options.ROCKSDB_WRITE_BUFFER_SIZE), settings.get(options.ROCKSDB_BLOCK_CACHE_SIZE)
        )
        self._groups = KeyGroups(context.key_groups, context.max_parallelism, context.native)
        layouts = Layouts(loader(context.moved_classes, f"keyed state of operator {context.uid!r}"), context.native)
        store = self._store_of(RocksDatabase(self._new_path("db"), self._memory), layouts)
        super().__init__(context, store, settings.get(options.ROCKSDB_CACHE_SIZE))
        self._changelog = Changelog(context, self._increments, self) if context.has_changelog else None
        self._cleanup = BackgroundCleanup(self, store, context.key_groups)

    def _store_of(self, database: RocksDatabase, layouts: Layouts) -> Store:
        frames = self._frames if self._with_frames else None
        return Store(database, layouts, self._groups, self._memory, frames)

    def _new_path(self, name: str) -> Path:
        return self._folder / f"{name}-{next(self._numbers)}"

    # --- states

    def _declare(self, meta: StateMeta) -> int:
        now_ms = self._context.clock.wall_ms()
        column, is_new, convert = self._columns.declare(meta, now_ms)
        if convert is not None:
            self._clear_cache()
            self._increments.restart()
        self._lay_out(column, meta, now_ms, is_new=is_new)
        return column

    def _cleanup_of(self, descriptor: StateDescriptor, owner: HandleOwner, column: int) -> None:
        self._cleanup.add(descriptor, column)

    def _lay_out(self, column: int, meta: StateMeta, now_ms: int, *, is_new: bool) -> None:
        layouts = self._store.layouts
        if is_new:
            layouts.add(meta, now_ms)
            self._widen()
            self._frames.widen(len(layouts.columns))
        else:
            layouts.declare(column - FIRST, meta, now_ms)
        self._store.database.put(LAYOUTS_ROW, layouts.to_bytes())

    def _clear_cache(self) -> None:
        """Write all changed cells, and empty the cache."""
        self._finish_pending()
        self._store.cells.flush([cell for cell in self.cells.values() if cell[SAVED] != cell[GENERATION]])
        self.cells.clear()

    def _cells_with(self, column: int) -> Iterator[Any]:
        cached = ((cell[KEY], cell[column]) for cell in list(self.cells.values()))
        return (key for key, value in chain(cached, self._rows_without_cells(column)) if value is not None)

    def _rows_without_cells(self, column: int) -> Iterator[tuple[Any, Any]]:
        """Yield the keys of rows whose cells are not in the cache, with their values of a column."""
        while not self._store.rows.write():
            pass
        layouts = self._store.layouts
        for group in self._context.key_groups:
            for row_key, row in self._store.database.rows(*cells_of(group)):
                values, original = layouts.decode(row)
                key = key_of(row_key[CELL_AT:], original, layouts.load)
                if key not in self.cells:
                    yield key, values[column - FIRST]

    def _timer_index(self, column: int) -> StoredTimerIndex:
        return StoredTimerIndex(self._store.timers, column)

    # --- panes

    def panes(
        self, states: Sequence[str], timers: str, make: Callable[[Namespace], Pane], *, copies: int = 1
    ) -> StoredPanes:
        columns = [self._columns.index(name) for name in states]
        its_timers, _ = self.timers(timers)
        known = tuple(column for column in columns if column is not None)
        rows = PaneRows(self._store, self.cells, self, known, its_timers)
        cells_bytes = self._cache_bytes // _CELLS_PART
        self._panes = panes = StoredPanes(rows, self._cache_bytes - cells_bytes, copies)
        self._cache_bytes = cells_bytes
        self.prefetch = lambda keys: panes.count(len(keys))
        panes.restore(make)
        return panes

    # --- snapshots

    def snapshot(self, checkpoint_id: CheckpointId) -> RowsSnapshot:
        if self._changelog is not None:
            self._changelog.postpone()
        pending = self._begin(partial(self._kind, self._builds_on(), f"{checkpoint_id}"))
        if self.is_incremental:
            self._increments.begun(checkpoint_id, pending)
        return pending

    def savepoint(self, checkpoint_id: CheckpointId, form: SavepointFormat) -> RowsSnapshot:
        make = self._files if form is SavepointFormat.NATIVE else self._windows
        terms = FileTerms(f"{checkpoint_id}", self.key_groups, may_be_shared=False)
        return self._begin(lambda walk: make(walk, terms))

    def _builds_on(self) -> IncrementBase | None:
        """Return the base for a delta. None without a changelog, or if the next snapshot is to be a whole one."""
        base = self._increments.base
        return None if self._changelog is None or base is None or base.has_long_log else base

    def _begin(self, make: Callable[[BarrierWalk], RowsSnapshot]) -> RowsSnapshot:
        """Begin a snapshot, after finishing the previous one: the backend takes one snapshot at a time."""
        self._finish_pending()
        generation = self.generation
        self.generation += 1
        panes: Iterator[None] = iter(())
        if self._panes is not None:
            self._panes.seal(generation)
            panes = self._panes.walk(generation)
        self._pending = pending = make(BarrierWalk(generation, list(self.cells.values()), panes, self._store))
        return pending

    def _kind(self, base: IncrementBase | None, name: str, walk: BarrierWalk) -> RowsSnapshot:
        """Return a snapshot that later snapshots may build on, if the job is incremental."""
        self._has_changed = False
        terms = FileTerms(name, self.key_groups, self.is_incremental)
        if base is not None:
            return DeltaSnapshot(walk, base, terms, self._frames, self._store.layouts)
        if self.is_incremental:
            known = self._increments.base
            return self._files(walk, terms, None if known is None else known.state)
        return self._entries(walk, terms)

    def _files(self, walk: BarrierWalk, terms: FileTerms, known: KeyedState | None = None) -> FilesSnapshot:
        return FilesSnapshot(walk, terms, self._store, known, self._new_path("cp"))

    def _entries(self, walk: BarrierWalk, terms: FileTerms) -> EntriesSnapshot:
        return self._entries_with(walk, terms, None)

    def _windows(self, walk: BarrierWalk, terms: FileTerms) -> EntriesSnapshot:
        """Return a snapshot with an entry for each key and window, also where windows share the values of slices."""
        panes = None if self._panes is None else WindowEntries(self._panes, self._new_path("windows"))
        return self._entries_with(walk, terms, panes)

    def _entries_with(self, walk: BarrierWalk, terms: FileTerms, panes: WindowEntries | None) -> EntriesSnapshot:
        found = self._filters_at(self._context.clock.wall_ms())
        filters = {column - FIRST + VALUES: filter_ for column, filter_ in found.items()}
        return EntriesSnapshot(walk, terms, self._store, EntriesTerms(filters, self._new_path("entries"), panes))

    def forget(self, pending: KeyedSnapshot) -> None:
        if isinstance(pending, RowsSnapshot) and pending is self._pending and pending.walk is not None:
            self._drop(pending)

    def _drop(self, pending: RowsSnapshot) -> None:
        pending.abort()
        if pending is self._pending:
            self._pending = None

    def notify_aborted(self, checkpoint_id: CheckpointId) -> None:
        if self._pending is not None and self._pending.name == f"{checkpoint_id}":
            self._drop(self._pending)
        self._increments.aborted(checkpoint_id)
        if self._frames.size_bytes > FRAMES_BYTES_MAX:
            self._increments.restart()
        self.base_moved()

    # --- changelog

    @property
    def has_changes(self) -> bool:
        """Whether anything changed since the base of the next snapshot."""
        in_panes = self._panes is not None and self._panes.has_changes
        return in_panes or self._has_changed or self._frames.any_after(self._increments.since)

    def cut(self, base: IncrementBase | None) -> RowsSnapshot:
        """Begin a snapshot that belongs to no checkpoint."""
        return self._begin(partial(self._kind, base, f"e{self.generation}"))

    def base_moved(self) -> None:
        """Forget the changes that the base holds, unless a snapshot under way builds on an older base."""
        if self._pending is None or self._pending.base is None:
            self._frames.forget(self._increments.kept_since)

    # --- background work

    def background(self, now_ms: float) -> float | None:
        swept_ms = self._cleanup.advance(now_ms, self._context.clock.wall_ms())
        self.leave()
        if self._changelog is None:
            return swept_ms
        cut_ms = self._changelog.advance(now_ms)
        return cut_ms if swept_ms is None else min(swept_ms, cut_ms)

    # --- restoring

    def restore(self, parts: Sequence[FetchedKeyed], where: str) -> None:
        place = RestoreScope(where, self._context)
        base = None if self._columns.metas else best_base(parts, place.groups)
        if base is not None:
            self._adopt(base, place)
        self._store.cells.frames = None  # restored values are not changes
        self._add([part for part in parts if part is not base], place, has_base=base is not None)
        for part in parts:
            for file in part.state.log:
                load_file(part, file, self._loader(), place)
        self._clear_cache()
        self._store.cells.frames = self._frames if self._with_frames else None
        self._has_changed = False
        whole = len(parts) == 1 and parts[0].state.key_groups == self.key_groups
        kind = "entries" if base is None else "rocksdb"
        if self.is_incremental and whole and parts[0].owned and parts[0].state.kind == kind:
            self._increments.advance(IncrementBase(0, parts[0].state))

    def _adopt(self, base: FetchedKeyed, place: RestoreScope) -> None:
        """Continue with the database of a part, and delete the key groups of other subtasks from it."""
        self._store.database.close()
        database, layouts = open_files(base, self._new_path("db"), self._memory, place)
        for meta in metas_of(layouts):
            self._columns.restored(meta)
        if base.state.key_groups != self.key_groups:
            clip(database, place.groups)
        self._store = self._store_of(database, layouts)
        self._store.rows.is_empty = False
        self._cleanup = BackgroundCleanup(self, self._store, place.groups)

    def _add(self, parts: Sequence[FetchedKeyed], place: RestoreScope, *, has_base: bool) -> None:
        into = (self._store.database, self._store.layouts)
        for part in parts:
            can_merge = has_base and part.state.kind == "rocksdb"
            if not (can_merge and merge_part(part, self._new_path("part"), into, place)):
                load_part(part, self._new_path("part"), self._loader(), place)

    def _loader(self) -> EntryLoader:
        return EntryLoader(self, self._store.timers, self._column_of)

    def _column_of(self, meta: StateMeta) -> int:
        column, is_new = self._columns.restored(meta)
        if is_new:
            self._lay_out(column, meta, self._context.clock.wall_ms(), is_new=True)
        return column

    def close(self) -> None:
        if self._pending is not None:
            self._drop(self._pending)
        self.cells.clear()
        self._store.database.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _own_folder(context: BackendContext) -> Path:
    local = context.settings.get(options.ROCKSDB_LOCAL_DIR)
    if local is None:
        parent = context.scratch()
    else:
        folders = [folder.strip() for folder in local.split(",") if folder.strip()]
        parent = Path(folders[zlib.crc32(f"{context.uid} {context.subtask}".encode()) % len(folders)])
        parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="rocksdb-", dir=parent))
