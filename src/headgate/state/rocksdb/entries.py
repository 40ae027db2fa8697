"""Entries: converts the rows of key groups to entries in the file format of keyed state, which all backends read.

The rows of cells have the same order as the rows of the items of each column, so one pass over each is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, final

from headgate.state.formats.key_codec import decode_map_key
from headgate.state.formats.snapshot import Entry
from headgate.state.keyed.cells import FIRST, GROUP
from headgate.state.rocksdb.database import Row
from headgate.state.rocksdb.layouts import Layouts, item_original
from headgate.state.rocksdb.row_keys import CELL_AT, ITEMS_AT, cells_of, items_of, key_of, name_length


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
