"""Entries: rows of key groups in the file format of keyed state, which all backends read, and snapshots of them.

The rows of cells have the same order as the rows of the items of each column, so one pass over each is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, final

from headgate.errors import StorageError
from headgate.state.backend import StateWriter
from headgate.state.files import KeyedState, StateFile
from headgate.state.formats.codecs import pickled
from headgate.state.formats.key_codec import decode_map_key
from headgate.state.formats.snapshot import VALUES, Entry, FileLayout
from headgate.state.keyed.cell_snapshot import FileTerms
from headgate.state.keyed.cells import CHUNK_CELLS, FIRST, GROUP
from headgate.state.keyed.walk import Filter
from headgate.state.rocksdb.database import Row, View
from headgate.state.rocksdb.layouts import Layouts, item_original, metas_of
from headgate.state.rocksdb.row_keys import CELL_AT, ITEMS_AT, cells_of, items_of, key_of, name_length
from headgate.state.rocksdb.snapshots import BarrierWalk, RowsSnapshot
from headgate.state.rocksdb.store import Store
from headgate.state.rocksdb.window_entries import WindowEntries


class Rows(Protocol):
    """A database, or a view of one."""

    def rows(self, first: bytes, end: bytes) -> Iterator[Row]:
        """Yield the rows from `first` up to, but not including, `end`, in order."""
        ...


def entries(source: Rows, layouts: Layouts, group: int, columns: int) -> Iterator[Entry]:
    """Yield the entries of a key group with the first `columns` columns, with plain lists and dicts in them.

    Raises `DamagedFileError`.
    """
    containers = [
        (index - GROUP, _ItemRows(source, layouts, group, index - FIRST), form)
        for index, form in layouts.containers
        if index < FIRST + columns
    ]
    for row_key, row in source.rows(*cells_of(group)):
        name = row_key[CELL_AT:]
        values, original = layouts.decode(row)
        entry = [group, key_of(name, original, layouts.load), *values[:columns]]
        for place, items, form in containers:
            if entry[place] is not None:
                entry[place] = form.of_items(items.of(name))
        yield entry


@final
class _ItemRows:
    """The items of one column of a key group, cell by cell."""

    def __init__(self, source: Rows, layouts: Layouts, group: int, column: int) -> None:
        self._layouts = layouts
        self._column = column
        self._has_keys = layouts.columns[column][-1].meta.form.has_item_keys
        self._rows = source.rows(*items_of(group, column))
        self._next: Row | None = next(self._rows, None)

    def of(self, name: bytes) -> list[tuple[Any, Any]]:
        """Return the items of a cell: values with their keys, if they are entries of a map. Ask for cells in order."""
        found = []
        while self._next is not None:
            row_key, row = self._next
            end = ITEMS_AT + name_length(row_key, ITEMS_AT)
            its_name = row_key[ITEMS_AT:end]
            if its_name > name:
                break
            if its_name == name:
                key = decode_map_key(row_key[end:], item_original(row), self._layouts.load) if self._has_keys else None
                found.append((key, self._layouts.decode_item(self._column, row)))
            self._next = next(self._rows, None)
        return found


@final
@dataclass(frozen=True, slots=True)
class EntriesTerms:
    """How to write the entries.

    `filters` return the part of a value to keep, by index in an entry. `file` is the path of a local file to use.
    `windows` writes the contents of panes as entries of windows, None to write them as they are.
    """

    filters: dict[int, Filter]
    file: Path
    windows: WindowEntries | None


@final
class EntriesSnapshot(RowsSnapshot):
    """All state as entries."""

    def __init__(self, walk: BarrierWalk, terms: FileTerms, store: Store, entries_terms: EntriesTerms) -> None:
        super().__init__(walk, None, terms)
        self._database, self._layouts = store.database, store.layouts
        self._filters, self._file, self._windows = entries_terms.filters, entries_terms.file, entries_terms.windows
        self._view: View | None = None

    def advance(self) -> bool:
        """Take about a thousand more cells, then the windows of panes. Raises `SerializationError`."""
        return super().advance() and (self._windows is None or self._windows.advance())

    def _walked(self) -> None:
        self._metas = list(metas_of(self._layouts))
        self._view = self._new_view()
        if self._windows is not None:
            view = self._new_view()
            first, last = self.key_groups
            found = (list(entries(view, self._layouts, group, len(self._metas))) for group in range(first, last + 1))
            self._windows.begin(found, len(self._metas))

    def _new_view(self) -> View:
        return self._database.view(1 + len(self._layouts.containers))

    def abort(self) -> None:
        super().abort()
        self._view = None
        if self._windows is not None:
            self._windows.close()

    def store(self, writer: StateWriter) -> KeyedState:
        name = f"base-{self.name}"
        try:
            with self._file.open("wb") as out:
                for piece in self._pieces():
                    out.write(piece)
            handle = writer.upload(name, self._file, shared=False)
        except OSError as error:
            raise StorageError(f"the snapshot could not be written to {self._file}: {error}") from error
        finally:
            self._file.unlink(missing_ok=True)
            self.abort()
        return KeyedState(key_groups=self.key_groups, kind="entries", base=(StateFile(name, handle),))

    def _pieces(self) -> Iterator[bytes]:
        assert self._view is not None
        layout = FileLayout(self._metas, delta=False)
        yield layout.begin()
        first, last = self.key_groups
        for group in range(first, last + 1):
            found = map(self._filtered, entries(self._view, self._layouts, group, len(self._metas)))
            kept = (entry for entry in found if entry is not None)
            while piece := list(islice(kept, CHUNK_CELLS)):
                yield layout.add(str(group), pickled(piece))
            for frame in self._windows.frames(group) if self._windows is not None else ():
                yield layout.add(str(group), frame)
        yield layout.end()

    def _filtered(self, entry: Entry) -> Entry | None:
        if self._windows is not None:
            self._windows.take_out(entry)
        for place, filter_ in self._filters.items():
            if place < len(entry) and entry[place] is not None:
                entry[place] = filter_(entry[place])
        return None if all(value is None for value in entry[VALUES:]) else entry
