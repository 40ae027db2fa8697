"""The cache of cells: the most recently loaded cells as live objects, in front of the store.

One dictionary holds the cells in the order in which they were loaded. The cache evicts the oldest cells, many at a
time. The number of cells follows from the limit in bytes and the mean size of a cell so far.

During a snapshot, cells that were touched after its barrier stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from headgate.state.backend import BackendContext, KeyedBackend
from headgate.state.keyed.cells import DEAD, FIRST, GENERATION, KEY, NO_CELL, SAVED, Cell, namespace_of
from headgate.state.kinds.owner import MapLike
from headgate.state.rocksdb.containers import StoredList, StoredMap
from headgate.state.rocksdb.snapshots import RowsSnapshot
from headgate.state.rocksdb.store import Store
from headgate.state.rocksdb.stored_panes import StoredPanes

EVICTED_AT_ONCE: Final = 4096
"""Cells that one eviction removes at most."""
_MEASURED: Final = 64
"""Cells whose size is measured at a time, to estimate the mean of all."""


class CellCache(KeyedBackend):
    """The part of the RocksDB backend that every record uses."""

    def __init__(self, context: BackendContext, store: Store, cache_bytes: int) -> None:
        super().__init__(context)
        self.prefetch = self.load
        self._missing: Callable[[list[Any], dict[Any, Cell]], list[Any]]
        self._evict: Callable[[dict[Any, Cell], list[Cell], int], None]
        self._missing, self._evict = (
            (_missing, _evict) if self.native is None else (self.native.missing, self.native.evict)
        )
        self._store = store
        self._cache_bytes = cache_bytes
        self._pending: RowsSnapshot | None = None
        self._panes: StoredPanes | None = None
        self._closed: dict[Any, Cell] = {}
        """Cells of finished windows by key, while a snapshot is under way."""
        self._has_changed = False
        self._measured_at = _MEASURED

    # --- the current key

    def load(self, keys: list[Any]) -> None:
        """Load the cells of these keys into the cache, marked as touched, if they are not in it."""
        try:
            missing = self._missing(keys, self.cells)
        except TypeError:
            return  # a key is unhashable: the loop finds it and names its record
        if missing:
            self._fill(missing)

    def enter(self, key: Any, cell: Cell | None) -> Cell:
        if cell is None:
            self._fill([key])
            return self.cells[key]
        pending = self._pending
        if pending is not None and pending.walk is not None and pending.walk.needs(cell):
            pending.walk.take(cell)
        cell[GENERATION] = self.generation
        self._has_changed = True
        return cell

    def _fill(self, keys: list[Any]) -> None:
        self.cells.update(zip(keys, self._store.cells.load(keys, self.generation), strict=True))
        self._has_changed = True

    def cell_at(self, key: Any) -> Cell:
        """Return the cell of a key, safe to read and change."""
        cell = self.cells.get(key)
        if cell is None or cell[GENERATION] != self.generation:
            cell = self.enter(key, cell)
        return cell

    def lacks(self, content: MapLike, key: Any) -> bool:
        return isinstance(content, StoredMap) and content.lacks(key)

    def load_entries(self, wanted: list[tuple[MapLike, Any]]) -> None:
        lacking = [(each, key) for each, key in wanted if isinstance(each, StoredMap) and each.lacks(key)]
        rows = self._store.database.get_many([content.row_of(key) for content, key in lacking])
        for (content, key), row in zip(lacking, rows, strict=True):
            content.keep(key, row)

    def leave(self) -> None:
        self.current.cell = self.namespaces.current.cell = NO_CELL
        if self._pending is not None and self._pending.is_over:
            self._pending = None
        if self.emptied or self._closed:
            self._drop_closed()
        if self._pending is None:
            self._store.timers.settle()
            if self._store.items.heavy:
                self._write_heavy()
        if len(self.cells) >= self._measured_at:
            self._measure()
        if len(self.cells) * self._store.cells.cell_bytes > self._cache_bytes:
            self._make_room()
        if self._panes is not None:
            self._tend(self._panes)
        self._store.rows.trim()

    # --- making room

    def _measure(self) -> None:
        """Estimate the size of cells before any is written, each time their number has doubled."""
        self._measured_at = max(_MEASURED, 2 * len(self.cells))
        self._store.cells.measure(list(islice(reversed(self.cells.values()), _MEASURED)))

    def _make_room(self) -> None:
        cells, room = self.cells, int(self._cache_bytes / self._store.cells.cell_bytes)
        if self._pending is not None and len(cells) > room + room // 2:
            self._finish_pending()
        oldest = list(islice(cells.values(), min(len(cells) - room + room // 8, EVICTED_AT_ONCE)))
        if self._pending is not None:
            barrier = self._pending.generation
            oldest = [cell for cell in oldest if cell[GENERATION] <= barrier]
        self._store.cells.flush([cell for cell in oldest if cell[SAVED] != cell[GENERATION]])
        self._evict(cells, oldest, DEAD)

    def _tend(self, panes: StoredPanes) -> None:
        """Delete some rows of finished windows, and evict values if the panes are too large."""
        if panes.closed and self._pending is None:
            panes.closed.erase_some()
        excess = panes.excess()
        if excess > len(panes) // 2:
            self._finish_pending()
        if excess:
            panes.evict(excess, self.generation, may_write=self._pending is None)

    def _drop_closed(self) -> None:
        """Remove empty cells of windows, together with their rows: such windows are finished."""
        self._closed.update((cell[KEY], cell) for cell in self.emptied if self._is_closed(cell))
        self.emptied.clear()
        if self._pending is not None:
            return
        closed = [cell for cell in self._closed.values() if self._is_closed(cell)]
        self._closed.clear()
        self._store.cells.flush([cell for cell in closed if cell[SAVED] != cell[GENERATION]])
        self._evict(self.cells, closed, DEAD)

    def _is_closed(self, cell: Cell) -> bool:
        key = cell[KEY]
        if namespace_of(key) is None or self.cells.get(key) is not cell:
            return False
        return all(value is None for value in cell[FIRST:])

    def _write_heavy(self) -> None:
        """Write cells that have collected many changes, and mark them untouched, so the next access is noted."""
        heavy = [self.cells[key] for key in self._store.items.heavy if key in self.cells]
        self._store.items.heavy.clear()
        self._store.cells.flush(heavy)
        for cell in heavy:
            cell[GENERATION] = cell[SAVED] = 0

    def _finish_pending(self) -> None:
        """Finish the part of the snapshot under way that must precede later writes. Blocks."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.settle()

    # --- lists and maps of handles

    def new_list(self, column: int, values: list[Any]) -> StoredList:
        return self._store.cells.new_list(self.current.cell, column, values)

    def new_map(self, column: int) -> StoredMap:
        return self._store.cells.new_map(self.current.cell, column)

    def list_of(self, cell: Cell, column: int, values: list[Any]) -> StoredList:
        return self._store.cells.new_list(cell, column, values)

    def map_of(self, cell: Cell, column: int) -> StoredMap:
        return self._store.cells.new_map(cell, column)

    def drop_of(self, cell: Cell, column: int) -> None:
        self._store.cells.drop(cell, column)
        self.emptied.append(cell)

    def _widen(self) -> None:
        for cell in self.cells.values():
            cell.extend([None] * (FIRST + len(self._store.layouts.columns) - len(cell)))


def _missing(keys: list[Any], cells: dict[Any, Cell]) -> list[Any]:
    """Return the keys without a cell, each once, in their order."""
    return list(dict.fromkeys([key for key in keys if key not in cells]))


def _evict(cells: dict[Any, Cell], evicted: list[Cell], dead: int) -> None:
    """Remove cells from the dict of cells, and mark them with the generation `dead`."""
    for cell in evicted:
        del cells[cell[KEY]]
        cell[GENERATION] = dead
