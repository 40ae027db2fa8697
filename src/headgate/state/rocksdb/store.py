"""The store: makes cells of rows, and writes cells as rows, and as entries of the changelog if there is one.

Only a cell that was touched since its last flush holds new values.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from operator import length_hint
from typing import Any, Final, final

from headgate.errors import SerializationError
from headgate.state.formats.codecs import pickled
from headgate.state.formats.snapshot import VALUES, Entry
from headgate.state.keyed.cells import FIRST, GENERATION, GROUP, KEY, SAVED, Cell
from headgate.state.kinds.forms import LIST, MAP, StoredForm
from headgate.state.rocksdb.cell_rows import CellRows
from headgate.state.rocksdb.containers import Container, StoredList, StoredMap
from headgate.state.rocksdb.database import Memory, RocksDatabase
from headgate.state.rocksdb.items import Items
from headgate.state.rocksdb.layouts import Layouts
from headgate.state.rocksdb.row_keys import KeyGroups, key_of, name_of, original_of
from headgate.state.rocksdb.single_column import PLAIN, SingleColumn
from headgate.state.rocksdb.timers import TimerRows

_CELL_BYTES: Final = 230
"""Memory of an empty cell, in bytes: a list, its key, and its place in a dictionary."""
_BYTES_PER_BYTE: Final = 3
"""The approximate number of bytes in memory for each byte of an object as written."""


@final
class Store:
    """An open database, with the objects that read and write its rows. Only the loop uses it."""

    def __init__(
        self, database: RocksDatabase, layouts: Layouts, groups: KeyGroups, memory: Memory, frames: Frames | None
    ) -> None:
        self.database = database
        self.layouts = layouts
        self.groups = groups
        self.items = Items(database, layouts, groups)
        self.rows = CellRows(database, groups, memory.write_buffer_bytes)
        self.cells = Cells(self.rows, self.items, layouts, frames)
        self.timers = TimerRows(database, layouts, groups)


@final
class Cells:
    """Makes cells of rows, and rows of cells."""

    def __init__(self, rows: CellRows, items: Items, layouts: Layouts, frames: Frames | None) -> None:
        self.frames = frames
        self.cell_bytes = float(_CELL_BYTES + 64)
        """The estimated mean size of cells in memory, in bytes."""
        self._rows = rows
        self._items = items
        self._layouts = layouts
        self._dropped: dict[Any, dict[int, Container]] = {}

    # --- reading

    def load(self, keys: list[Any], generation: int) -> list[Cell]:
        """Return new cells for these keys, with the values last written. Reads from disk."""
        rows = self._rows.fetch(keys)
        single = self._layouts.single
        if single is not None:
            return single.cells(keys, rows, generation, self._cell)
        empty = [None] * len(self._layouts.columns)
        return [
            [generation, 0, None, key, *empty] if row is None else self._cell(key, row, generation)
            for key, row in zip(keys, rows, strict=True)
        ]

    def _cell(self, key: Any, row: bytes, generation: int) -> Cell:
        values, original = self._layouts.decode(row)
        if original is not None or type(key) not in PLAIN:
            key = key_of(name_of(key), original, self._layouts.load)  # the key object that was given first
        cell = [generation, 0, None, key, *values]
        for column, form in self._layouts.containers:
            if cell[column] is not None:
                cell[column] = _STORED[form](self._items, column, key, cell[column])
        return cell

    # --- replacing containers

    def new_list(self, cell: Cell, column: int, values: list[Any]) -> StoredList:
        """Return a list to replace the content of the cell's column."""
        self.drop(cell, column)
        content = StoredList(self._items, column, cell[KEY], (0, 0))
        content.extend(values)
        return content

    def new_map(self, cell: Cell, column: int) -> StoredMap:
        """Return an empty map to replace the content of the cell's column."""
        self.drop(cell, column)
        return StoredMap(self._items, column, cell[KEY], False)

    def drop(self, cell: Cell, column: int) -> None:
        """Remove the list or map from the cell's column. A flush of the cell deletes its rows."""
        content = cell[column]
        cell[column] = None
        if content is not None and content.has_rows:
            self._dropped.setdefault(cell[KEY], {})[column] = content

    # --- writing

    def flush(self, cells: list[Cell]) -> None:
        """Write the changes of these cells. Raises `SerializationError` that names state and key."""
        if self._layouts.single is not None:
            cells = self._flush_single(cells, self._layouts.single)
        for cell in cells:
            try:
                self._flush(cell)
            except SerializationError as error:
                raise self._named(cell, error) from error

    def measure(self, cells: list[Cell]) -> None:
        """Use the mean size of these cells as the mean of all. Cells that cannot be pickled are ignored."""
        sizes_bytes = [_CELL_BYTES]
        for cell in cells:
            with suppress(SerializationError):
                sizes_bytes.append(_CELL_BYTES + _BYTES_PER_BYTE * len(self._row(cell) or b""))
        self.cell_bytes = sum(sizes_bytes) / len(sizes_bytes)

    def _flush_single(self, cells: list[Cell], single: SingleColumn) -> list[Cell]:
        """Write the cells whose only column is the whole row; return the others."""
        position = iter(cells)
        try:
            count, size_bytes, others = single.write(position, self._rows.unwritten)
        except SerializationError as error:
            raise self._named(cells[len(cells) - length_hint(position) - 1], error) from error
        finally:
            if self.frames is not None:
                self._note([cell for cell in cells if cell[SAVED] == cell[GENERATION]], self.frames)
        if count:
            mean_bytes = size_bytes / count
            self._rows.adapt(mean_bytes)
            self.cell_bytes += (_CELL_BYTES + _BYTES_PER_BYTE * mean_bytes - self.cell_bytes) / 8
        return others

    def _note(self, cells: list[Cell], frames: Frames) -> None:
        """Add the values of cells with a single column to the changelog.

        A value may fit into its row, and not into a frame, which pickles it some levels deeper. Then each cell gets a
        frame of its own, and the cell at fault counts as changed.
        """
        try:
            self._add_to(frames, cells)
        except SerializationError:
            failure = None
            for cell in cells:
                try:
                    self._add_to(frames, [cell])
                except SerializationError as error:
                    cell[SAVED] = 0
                    failure = failure or self._named(cell, error)
            if failure is not None:
                raise failure from None

    def _add_to(self, frames: Frames, cells: list[Cell]) -> None:
        entries: dict[int, list[Entry]] = {}
        for group, cell in zip(self._items.groups.of([cell[KEY] for cell in cells]), cells, strict=True):
            entries.setdefault(cell[GENERATION], []).append([group, cell[KEY], cell[FIRST]])
        for generation, piece in entries.items():
            frames.add(piece, generation)

    def _flush(self, cell: Cell) -> None:
        row, rows = self._row(cell), self._rows
        key = cell[KEY]
        if self._dropped:
            for dropped in self._dropped.pop(key, {}).values():
                dropped.erase()
        if self.frames is not None:
            self.frames.add([self._entry(cell)], cell[GENERATION])
        size_bytes = _CELL_BYTES if row is None else _CELL_BYTES + _BYTES_PER_BYTE * len(row)
        for column, _ in self._layouts.containers:
            content = cell[column]
            if content is not None:
                content.write()
                size_bytes += _BYTES_PER_BYTE * content.size_bytes
        if row is not None or rows.is_known(key):
            rows.put(key, row)
        self.cell_bytes += (size_bytes - self.cell_bytes) / 256
        cell[SAVED] = cell[GENERATION]

    def _row(self, cell: Cell) -> bytes | None:
        values = cell[FIRST:]
        for column, _ in self._layouts.containers:
            content = cell[column]
            if content is not None:
                values[column - FIRST] = content.header()
        for value in values:
            if value is not None:
                break
        else:
            return None
        key = cell[KEY]
        return self._layouts.encode(values, None if type(key) in PLAIN else original_of(key))

    def _entry(self, cell: Cell) -> Entry:
        """Return the entry of the cell for a delta."""
        if cell[GROUP] is None:
            (cell[GROUP],) = self._items.groups.of([cell[KEY]])
        values = self._changes(cell)
        if all(value is None for value in values):
            return [cell[GROUP], cell[KEY]]
        return [cell[GROUP], cell[KEY], *values]

    def _changes(self, cell: Cell) -> list[Any]:
        values = cell[FIRST:]
        for column, _ in self._layouts.containers:
            content = cell[column]
            if content is not None:
                values[column - FIRST] = content.changes()
        return values

    def _named(self, cell: Cell, error: SerializationError) -> SerializationError:
        for versions, value in zip(self._layouts.columns, self._changes(cell), strict=True):
            try:
                pickled(value)
            except SerializationError as culprit:
                return SerializationError(f"state {versions[-1].meta.name!r} of key {cell[KEY]!r}: {culprit}")
        return SerializationError(f"state of key {cell[KEY]!r}: {error}")


_STORED: Final[dict[StoredForm, Callable[[Items, int, Any, Any], Container]]] = {LIST: StoredList, MAP: StoredMap}
"""The class of containers for each form whose items have rows.

An instance is made with the header in the cell's row.
"""


@final
class Frames:
    """The changes flushed in each generation, pickled, for deltas. Kept until the base contains them."""

    def __init__(self) -> None:
        self._frames: dict[int, list[bytes]] = {}

    @property
    def size_bytes(self) -> int:
        """Total size of all frames in bytes."""
        return sum(len(frame) for frames in self._frames.values() for frame in frames)

    def add(self, entries: list[Entry], generation: int) -> None:
        """Add entries of a generation."""
        self._frames.setdefault(generation, []).append(pickled(entries))

    def widen(self, columns: int) -> None:
        """Extend all entries to more columns. Slow, but states are rarely declared after the first entries."""
        for frames in self._frames.values():
            for index, frame in enumerate(frames):
                entries = pickle.loads(frame)  # noqa: S301  # ours
                frames[index] = pickled([_widened(entry, columns) for entry in entries])

    def between(self, since: int, until: int) -> list[bytes]:
        """Return the frames of the generations after `since` up to and including `until`, in order."""
        return [
            frame
            for generation in sorted(self._frames)
            if since < generation <= until
            for frame in self._frames[generation]
        ]

    def forget(self, until: int) -> None:
        """Remove the frames of the generations up to and including `until`."""
        self._frames = {generation: frames for generation, frames in self._frames.items() if generation > until}

    def any_after(self, generation: int) -> bool:
        """Return whether a later generation has frames."""
        return any(each > generation for each in self._frames)


def _widened(entry: Entry, columns: int) -> Entry:
    return entry + [None] * (VALUES + columns - len(entry)) if len(entry) > VALUES else entry
