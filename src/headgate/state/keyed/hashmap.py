"""The hash-map backend: keyed state as live Python objects in one dictionary of cells.

`backend.KeyedBackend` shows the loop that runs for each record. `enter` is the slow path: for a new key, or for the
first access to a key since a barrier. In the latter case, snapshots under way first take the cell as it was at the
barrier (see `walk`), and the backend notes the cell as changed for the next increment (see `increments`).

The mailbox loop of the subtask owns the backend. No method blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, final

from headgate.elements import SavepointFormat
from headgate.errors import InternalError
from headgate.ids import CheckpointId
from headgate.state.backend import BackendContext, KeyedBackend, KeyedSnapshot
from headgate.state.files import FetchedKeyed
from headgate.state.formats.patch import patched
from headgate.state.formats.schema import StateMeta
from headgate.state.keyed.cell_snapshot import CellSnapshot, FileTerms
from headgate.state.keyed.cells import (
    CHUNK_CELLS,
    DEAD,
    FIRST,
    GENERATION,
    KEY,
    NEVER_SAVED,
    NO_CELL,
    SAVED,
    Cell,
    CellIndex,
    cell_key,
    namespace_of,
    plain_key,
)
from headgate.state.keyed.changelog import Changelog
from headgate.state.keyed.increments import NOTHING_KEPT, IncrementBase
from headgate.state.keyed.panes import Namespace, Pane, Panes
from headgate.state.keyed.saved_files import SavedFile, check_group, saved_files, spread
from headgate.state.keyed.timer_index import HeapTimerIndex, timer_index
from headgate.state.keyed.ttl_cleanup import TIMES_A_BATCH, IncrementalCleanup, cleanup_of
from headgate.state.keyed.walk import DeltaWalk, PaneEntries, Walk, WholeWalk
from headgate.state.keygroups import groups_of_keys
from headgate.state.kinds.kind import StateDescriptor
from headgate.state.kinds.owner import HandleOwner

CHANGES_MAX: Final = 100_000
"""If checkpoints fail and the changed cells exceed this and four times all keys, the next snapshot is whole."""

_GROUPS_KNOWN_MAX: Final = 1 << 16

_FEW: Final = 8
"""Turn `prefetch` off if at most one in this many keys of a batch is entered for the first time since the barrier."""


@final
class HashMapBackend(KeyedBackend):
    """Keyed state of one operator in one subtask. `KeyedBackend` describes the interface."""

    def __init__(self, context: BackendContext) -> None:
        super().__init__(context)
        self._group_of_plain = groups_of_keys(context.max_parallelism, context.native)
        self._key_groups = context.key_groups
        self._blank: list[Any] = []
        """None for each state: the values of an empty cell."""
        self._fresh: list[Cell] = []
        self._cell_index = CellIndex()
        self._swept_by_batch: list[IncrementalCleanup] = []
        self._walks: list[Walk] = []
        self._notes_changes = False
        """Whether a future snapshot may build on an existing one or on one under way."""
        self._changed: dict[int, list[Cell]] = {}
        self._touched: list[Cell] = []
        self._forgettable = 0
        """Number of cells in `_touched` that died without being in any snapshot."""
        self._panes: Panes | None = None
        self._groups: dict[Any, int] = {}
        self._changelog = Changelog(context, self._increments, self) if context.has_changelog else None

    # --- the current key

    def enter(self, key: Any, cell: Cell | None) -> Cell:
        if cell is None:
            group = self._groups.get(key)
            if group is None:
                group = self._known_group_of(key)
            # A sum of lists has no spare places, which would take a third of the memory of a cell.
            cell = self.cells[key] = [self.generation, NEVER_SAVED, group, key] + self._blank  # noqa: RUF005
            self._cell_index.add(cell)
            self._fresh.append(cell)
        else:
            for walk in self._walks:
                walk.save_one(cell)
            cell[GENERATION] = self.generation
        if self._notes_changes:
            self._touched.append(cell)
        return cell

    def _enter_all(self, keys: list[Any]) -> None:
        """Enter the cells of a batch at once, which costs far less for each cell than `enter`.

        This is `prefetch` after each barrier, until a batch enters few cells.
        """
        generation = self.generation
        try:
            stale = [cell for cell in map(self.cells.get, keys) if cell is not None and cell[GENERATION] != generation]
        except TypeError:
            return  # a key is unhashable: the loop finds it and names its record
        if len(stale) * _FEW <= len(keys):
            self.prefetch = None
        for walk in self._walks:
            walk.save(stale)
        touched = []
        for cell in stale:
            if cell[GENERATION] != generation:
                cell[GENERATION] = generation
                touched.append(cell)
        if self._notes_changes:
            self._touched += touched

    def _group_of(self, key: Any) -> int:
        plain = plain_key(key) if type(key) is tuple else key
        group = self._group_of_plain(plain)
        if group not in self._key_groups:
            raise InternalError(
                f"key {key!r} of key group {group} reached a subtask that owns {self._context.key_groups}"
            )
        return group

    def _known_group_of(self, key: Any) -> int:
        """Return the result of `_group_of`, computed once for a key and its windows."""
        plain = key if namespace_of(key) is None else key[1]
        group = self._groups.get(plain)
        if group is None:
            if len(self._groups) >= _GROUPS_KNOWN_MAX:
                self._groups.clear()
            group = self._groups[plain] = self._group_of(key)
        return group

    def _new_cell(self, generation: int, group: int, key: Any, values: list[Any]) -> Cell:
        cell = [generation, 0, group, key, *values]
        self.cells[key] = cell
        self._cell_index.add(cell)
        return cell

    def leave(self) -> None:
        self.current.cell = self.namespaces.current.cell = NO_CELL
        if self._swept_by_batch:
            now_ms = self._context.clock.wall_ms()
            for cleanup in self._swept_by_batch:
                cleanup.advance(now_ms, TIMES_A_BATCH)
        if self._fresh or self.emptied:
            self._drop_empty()
        self._cell_index.tidy()

    def _drop_empty(self) -> None:
        """Remove the cells without values."""
        for cell in self._fresh:
            for value in cell[FIRST:]:
                if value is not None:
                    break
            else:
                self._bury(cell)
        for cell in self.emptied:
            for value in cell[FIRST:]:
                if value is not None:
                    break
            else:
                if cell[GENERATION] != DEAD:
                    self._bury(cell)
        self._fresh.clear()
        self.emptied.clear()
        if self._forgettable > max(CHUNK_CELLS, len(self._touched) // 2):
            self._touched = [cell for cell in self._touched if cell[GENERATION] != DEAD or cell[SAVED] != NEVER_SAVED]
            self._forgettable = 0

    def _bury(self, cell: Cell) -> None:
        del self.cells[cell[KEY]]
        self._cell_index.bury(cell)
        self._forgettable += cell[SAVED] == NEVER_SAVED

    def drop_all(self) -> None:
        """Remove the state of every key. Only for jobs that take no snapshots."""
        for cell in self.cells.values():
            cell[GENERATION] = DEAD  # a clean-up may hold the cell in its round
        self.cells, self._fresh, self._cell_index = {}, [], CellIndex()
        self.emptied.clear()
        if self._panes is not None:
            self._panes.drop_all()

    # --- panes

    def panes(self, states: Sequence[str], timers: str, make: Callable[[Namespace], Pane], *, copies: int = 1) -> Panes:
        columns = [self._columns.index(name) for name in states]
        self._panes = Panes(tuple(column for column in columns if column is not None), self.timers(timers)[0])
        self._panes.notes_drops = self._notes_changes
        self.emptied += self._panes.adopt(self._cell_index.cells(), make)
        self._drop_empty()
        return self._panes

    # --- states

    def _declare(self, meta: StateMeta) -> int:
        column, is_new, convert = self._columns.declare(meta, self._context.clock.wall_ms())
        if is_new:
            self._widen()
        if convert is not None:
            for walk in self._walks:
                walk.save(self.cells.values())
            for cell in self.cells.values():
                if cell[column] is not None:
                    cell[column] = convert(cell[column])
            self._increments.restart()
            self.base_moved()
        return column

    def _cleanup_of(self, descriptor: StateDescriptor, owner: HandleOwner, column: int) -> IncrementalCleanup | None:
        if descriptor.ttl is None or owner is not self:
            return None
        cleanup = cleanup_of(descriptor.kind.form, descriptor.ttl, self, column)
        if cleanup is not None and cleanup.for_every_record:
            self._swept_by_batch.append(cleanup)
        return cleanup

    def _widen(self) -> None:
        self._blank.append(None)
        for cell in self.cells.values():
            cell.append(None)

    def _cells_with(self, column: int) -> Iterator[Any]:
        return (cell[KEY] for cell in self._cell_index.cells() if cell[column] is not None)

    def new_list(self, column: int, values: list[Any]) -> list[Any]:
        return values

    def new_map(self, column: int) -> dict[Any, Any]:
        return {}

    def list_of(self, cell: Cell, column: int, values: list[Any]) -> list[Any]:
        return values

    def map_of(self, cell: Cell, column: int) -> dict[Any, Any]:
        return {}

    def drop_of(self, cell: Cell, column: int) -> None:
        cell[column] = None
        self.emptied.append(cell)

    # --- timers

    def _timer_index(self, column: int) -> HeapTimerIndex:
        index = timer_index(self.native)
        for cell in self._cell_index.cells():
            if cell[column] is not None:
                cell[column] = timers = dict(cell[column])  # keys of a pane were saved with one shared dict
                for timestamp_ms in timers:
                    index.add(timestamp_ms, cell[KEY])
        return index

    # --- clean-up of expired values

    def live_cells(self) -> Iterator[Cell]:
        """Yield each cell once. Cells that are added or removed during the iteration may be missing."""
        return (cell for _, chunk in self._cell_index.chunks() for cell in list(chunk) if cell[GENERATION] != DEAD)

    def touch(self, cell: Cell) -> None:
        """Make a cell other than the current one safe to change."""
        if cell[GENERATION] != self.generation:
            self.enter(cell[KEY], cell)

    # --- snapshots

    def snapshot(self, checkpoint_id: CheckpointId) -> CellSnapshot:
        if self._changelog is not None:
            self._changelog.postpone()
        pending = self._begin_shared(self._builds_on(), f"{checkpoint_id}")
        if self.is_incremental:
            self._increments.begun(checkpoint_id, pending)
        return pending

    def savepoint(self, checkpoint_id: CheckpointId, form: SavepointFormat) -> CellSnapshot:
        return self._begin(None, FileTerms(f"{checkpoint_id}", self.key_groups, may_be_shared=False), form)

    def _builds_on(self) -> IncrementBase | None:
        """Return the base of the next snapshot, None if the snapshot is to be a whole one."""
        base = self._increments.base
        if not self.is_incremental or base is None or base.has_long_log:
            return None
        if self._changelog is not None:
            return base
        changed, size = self._change_count, len(self.cells)
        if self._panes is not None:
            changed, size = changed + self._panes.changed(base.generation), size + len(self._panes)
        return base if 2 * changed <= size else None

    @property
    def _change_count(self) -> int:
        """The number of cells that changed since the base. Some cells count more than once."""
        return len(self._touched) + sum(map(len, self._changed.values()))

    def _begin_shared(self, base: IncrementBase | None, name: str) -> CellSnapshot:
        """Begin a snapshot that later snapshots may build on."""
        pending = self._begin(base, FileTerms(name, self.key_groups, self.is_incremental))
        self._note_changes(self.is_incremental)
        return pending

    def _note_changes(self, wanted: bool) -> None:
        self._notes_changes = wanted
        if self._panes is not None:
            self._panes.notes_drops = wanted

    def _begin(
        self, base: IncrementBase | None, terms: FileTerms, form: SavepointFormat = SavepointFormat.NATIVE
    ) -> CellSnapshot:
        generation = self._close_generation()
        walk: Walk
        if base is None:
            filters = self._filters_at(self._context.clock.wall_ms())
            walk = WholeWalk(generation, self._columns.metas, self._cell_index, filters)
        else:
            changed = [cells for of, cells in sorted(self._changed.items()) if of > base.generation]
            walk = DeltaWalk(generation, self._columns.metas, base.generation, changed)
        if self._panes is not None:
            since = -1 if base is None else base.generation
            panes, is_canonical = self._panes, form is SavepointFormat.CANONICAL
            pieces = panes.pieces_of(panes.to_windows()(panes.sealed(-1))) if is_canonical else panes.pieces(since)
            walk.panes = PaneEntries(pieces, self._known_group_of)
        pending = CellSnapshot(walk, base, terms, self._walks)
        self._walks.append(walk)
        return pending

    def _close_generation(self) -> int:
        generation = self.generation
        if self._touched:
            self._changed[generation] = self._touched
            self._touched = []
        if self._panes is not None:
            self._panes.seal(generation)
        self._forgettable = 0
        self.generation += 1
        self.prefetch = self._enter_all
        return generation

    def forget(self, pending: KeyedSnapshot) -> None:
        if isinstance(pending, CellSnapshot) and pending.walk in self._walks:
            self._walks.remove(pending.walk)

    def notify_aborted(self, checkpoint_id: CheckpointId) -> None:
        self._increments.aborted(checkpoint_id)
        if self._change_count > CHANGES_MAX + 4 * len(self.cells):
            self._increments.restart()
        self.base_moved()

    def base_moved(self) -> None:
        """Forget the changes that no future snapshot needs."""
        since = self._increments.kept_since
        self._changed = {generation: cells for generation, cells in self._changed.items() if generation > since}
        self._note_changes(since != NOTHING_KEPT)
        if not self._notes_changes:
            self._touched = []
        if self._panes is not None:
            self._panes.base_moved(since)

    # --- changelog

    @property
    def has_changes(self) -> bool:
        """Whether anything changed since the base of the next snapshot."""
        in_panes = self._panes is not None and self._panes.changed(self._increments.since) > 0
        return in_panes or bool(self._touched or self._changed)

    def cut(self, base: IncrementBase | None) -> CellSnapshot:
        """Begin a snapshot that belongs to no checkpoint."""
        return self._begin_shared(base, f"e{self.generation}")

    def background(self, now_ms: float) -> float | None:
        return None if self._changelog is None else self._changelog.advance(now_ms)

    # --- restoring

    def restore(self, parts: Sequence[FetchedKeyed], where: str) -> None:
        for saved in saved_files(parts, where, self._context):
            self._load(saved, where)
        if self.is_incremental and len(parts) == 1 and parts[0].state.key_groups == self.key_groups and parts[0].owned:
            self._increments.advance(IncrementBase(0, parts[0].state))
            self.base_moved()

    def _load(self, saved: SavedFile, where: str) -> None:
        columns = []
        for meta in saved.states:
            column, is_new = self._columns.restored(meta)
            columns.append(column - FIRST)
            if is_new:
                self._widen()
        width = len(self._columns.metas)
        in_order = columns == list(range(width))
        checked: set[int] = set()
        for group, saved_key, *values in saved.entries(self._context.key_groups):
            key = cell_key(saved_key)
            if group not in checked:
                checked.add(group)
                check_group(group, key, where, self._context.max_parallelism)
            old = self.cells.get(key)
            if old is not None and not saved.is_delta:
                for column, value in zip(columns, values, strict=True):
                    old[FIRST + column] = value
                continue
            if old is not None:
                self._bury(old)
            if values:
                row = values if in_order else spread(values, columns, width)
                if saved.is_delta:
                    row = patched([None] * width if old is None else old[FIRST:], row)
                self._new_cell(0, group, key, row)

    def close(self) -> None:
        self.cells.clear()

    def __len__(self) -> int:
        """Number of keys that have state."""
        return len(self.cells)
