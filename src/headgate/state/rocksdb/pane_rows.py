"""Rows of panes in the database: the values of a pane, and which keys a pane has.

A key of a pane has the same row as a cell of its key and namespace, so snapshots and restores do not depend on panes.
Timer rows list the keys of a pane. For a pane with timers, these are the rows of the last timer of its entries. For a
pane without timers, they are rows of the state's own column, at a time that is computed from the namespace.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

from headgate.state.formats.key_codec import encode_map_key
from headgate.state.keyed.cells import CHUNK_CELLS, FIRST, GENERATION, GROUP, NAMESPACED, SAVED, Cell, namespace_of
from headgate.state.keyed.panes import Namespace, Pane
from headgate.state.kinds.owner import CellOwner
from headgate.state.rocksdb.row_keys import (
    CELL_AT,
    TIMER_CELL_AT,
    cells_of,
    key_of,
    time_and_group,
    timer_row,
    timers_of,
)
from headgate.state.rocksdb.store import Store

Place = tuple[int, int]
"""A column and a time: the timer row of each key of a pane has both."""

Found = tuple[Any, Any]
"""The value in the row of a key, or None, and its timers. With several columns a value is a tuple."""


@final
class PaneRows:
    """Reads and writes the rows of panes.

    `columns` are the columns of the values, `timers` is the column of the timers.
    """

    def __init__(
        self, store: Store, cells: dict[Any, Cell], owner: CellOwner, columns: tuple[int, ...], timers: int
    ) -> None:
        self.columns = columns
        self.timers = timers
        self._store = store
        self._cells = cells
        self._owner = owner
        self._forms = [store.layouts.columns[column - FIRST][-1].meta.form for column in columns]

    @property
    def groups(self) -> range:
        """The key groups of the subtask."""
        return self._store.groups.owned

    def groups_of(self, keys: list[Any]) -> list[int]:
        """Return the key groups of keys."""
        return self._store.groups.of(keys)

    def place_of(self, namespace: Namespace, pane: Pane) -> Place:
        """Return the column and the time of the timer rows that list the keys of a pane."""
        if pane.timers:
            return self.timers, max(pane.timers)
        return self.columns[0], zlib.crc32(encode_map_key(namespace))

    # --- reading

    def fetch(self, keys: list[Any]) -> list[Found]:
        """Return the values and timers in the rows of cells with these keys."""
        return [(self._value_of(cell), cell[self.timers]) for cell in self._store.cells.load(keys, 0)]

    def _value_of(self, cell: Cell) -> Any:
        contents = [
            None if cell[column] is None else form.plain(cell[column])
            for column, form in zip(self.columns, self._forms, strict=True)
        ]
        return contents[0] if len(contents) == 1 or contents[0] is None else tuple(contents)

    def keys(self, namespace: Namespace, place: Place, groups: range) -> Iterator[Any]:
        """Yield the keys of a pane in these key groups. Some of them may not be in the pane any more."""
        column, time = place
        first, end = (timer_row(column - FIRST, time, group, b"") for group in (groups.start, groups.stop))
        load = self._store.layouts.load
        for row, original in self._store.database.rows(first, end):
            key = key_of(row[TIMER_CELL_AT:], original or None, load)
            if namespace_of(key) == namespace:
                yield key[1]

    def values(self, namespace: Namespace, place: Place, groups: range) -> Iterator[tuple[Any, Any, Any]]:
        """Yield the keys of a pane in these key groups, with their values and timers."""
        for keys in chunks(self.keys(namespace, place, groups)):
            for key, (value, timers) in zip(keys, self.fetch(cell_keys(keys, namespace)), strict=True):
                if value is not None:
                    yield key, value, timers

    def all(self) -> Iterator[tuple[Any, int, Found]]:
        """Yield each row with a value: the key of the cell, the length of the row, and its value and timers."""
        while not self._store.rows.write():
            pass
        layouts, index = self._store.layouts, self.columns[0] - FIRST
        for group in self.groups:
            for rows in chunks(self._store.database.rows(*cells_of(group))):
                found = []
                for name, row in rows:
                    values, original = layouts.decode(row)
                    key = key_of(name[CELL_AT:], original, layouts.load)
                    if values[index] is not None and namespace_of(key) is not None:
                        found.append((key, len(row), (values[index], values[self.timers - FIRST])))
                if len(self.columns) > 1 or self._has_items:
                    fetched = self.fetch([key for key, _, _ in found])
                    found = [(key, size, each) for (key, size, _), each in zip(found, fetched, strict=True)]
                yield from found

    def clip(self) -> None:
        """Delete the timer rows of keys that belong to other subtasks, after a restore of more key groups."""
        database = self._store.database
        for row, _ in database.rows(*timers_of(self.columns[0] - FIRST)):
            if time_and_group(row)[1] not in self.groups:
                database.delete(row)

    # --- writing

    def write(self, keys: list[Any], found: list[Found], generation: int) -> None:
        """Write values and timers to the rows of cells with these keys, as of a generation.

        Raises `SerializationError`.
        """
        groups = self._store.groups.of(keys)
        if self._shares_rows():
            self._write_shared(keys, groups, found, generation)
            return
        width = len(self._store.layouts.columns)
        cells: list[Cell] = []
        for key, group, (value, timers) in zip(keys, groups, found, strict=True):
            cell = [generation, 0, group, key, *[None] * width]
            for column, content in zip(self.columns, self._contents(value), strict=True):
                cell[column] = content
            cell[self.timers] = timers
            cells.append(cell)
        self._store.cells.flush(cells)

    def _contents(self, value: Any) -> tuple[Any, ...]:
        """Return the content of each column for a value."""
        if value is None:
            return (None,) * len(self.columns)
        return (value,) if len(self.columns) == 1 else value

    def index_keys(self, place: Place, keys: list[Any], timers: Iterable[Any]) -> None:
        """Write the timer rows that list these keys of cells at a place and at the times of `timers`."""
        places = {place, *((self.timers, time) for times in timers for time in times or ())}
        for column, time in places:
            self._store.timers.put_all(column, time, keys)

    def unindex_keys(self, place: Place, pane: Pane, keys: list[Any]) -> None:
        """Delete the timer rows that `index_keys` has written."""
        rows = self._store.timers
        for column, time in {place, *((self.timers, each) for each in pane.timers or ())}:
            rows.delete_all(column, time, keys)

    @property
    def _has_items(self) -> bool:
        return any(form.has_items for form in self._forms)

    def _shares_rows(self) -> bool:
        """Return whether the row of a key in a namespace may also have values of other states, or rows of items."""
        if self._has_items:
            return True
        own = [column - FIRST for column in (*self.columns, self.timers)]
        columns = self._store.layouts.columns
        return any(each[-1].meta.namespaced for at, each in enumerate(columns) if at not in own)

    def _write_shared(self, keys: list[Any], groups: list[int], found: list[Found], generation: int) -> None:
        """Write entries to rows that other states share, and to the cells of these rows in the cache."""
        cached = [self._cells.get(key) for key in keys]
        due = [cell for cell in cached if cell is not None and cell[SAVED] != cell[GENERATION] <= generation]
        self._store.cells.flush(due)
        cells = self._store.cells.load(keys, generation)
        for cell, group, (value, times) in zip(cells, groups, found, strict=True):
            cell[GROUP] = group
            for column, form, content in zip(self.columns, self._forms, self._contents(value), strict=True):
                form.put(self._owner, cell, column, content)
            cell[self.timers] = times
        self._store.cells.flush(cells)
        for old, cell in zip(cached, cells, strict=True):
            if old is not None:
                for column in (*self.columns, self.timers):
                    old[column] = cell[column]


@final
@dataclass(frozen=True, slots=True)
class _ClosedPane:
    namespace: Namespace
    generation: int
    pane: Pane
    keys: Iterator[Any]


@final
class ClosedPanes:
    """The panes of closed windows that still have rows, in the order in which the windows closed."""

    def __init__(self, rows: PaneRows) -> None:
        self._rows = rows
        self._closed: deque[_ClosedPane] = deque()

    def __bool__(self) -> bool:
        """Whether there are closed panes."""
        return bool(self._closed)

    def add(self, namespace: Namespace, pane: Pane, generation: int) -> None:
        """Add a pane with rows, whose window closed in this generation."""
        keys = self._rows.keys(namespace, self._rows.place_of(namespace, pane), self._rows.groups)
        self._closed.append(_ClosedPane(namespace, generation, pane, keys))

    def any_until(self, generation: int) -> bool:
        """Return whether a window of the panes closed in this generation or an earlier one."""
        return bool(self._closed) and self._closed[0].generation <= generation

    def any_of(self, namespaces: Container[Namespace]) -> bool:
        """Return whether the panes include one of these windows, which were opened again."""
        return any(closed.namespace in namespaces for closed in self._closed)

    def erase_some(self) -> None:
        """Delete some rows of the first pane. There must be a pane."""
        closed = self._closed[0]
        keys = cell_keys(islice(closed.keys, CHUNK_CELLS), closed.namespace)
        if keys:
            self._rows.write(keys, [(None, None)] * len(keys), closed.generation)
            self._rows.unindex_keys(self._rows.place_of(closed.namespace, closed.pane), closed.pane, keys)
        else:
            self._closed.popleft()


def cell_keys(keys: Iterable[Any], namespace: Namespace) -> list[Any]:
    """Return the keys of the cells for keys in a namespace."""
    return [(NAMESPACED, key, namespace) for key in keys]


def chunks(items: Iterable[Any]) -> Iterator[list[Any]]:
    """Return the items in lists of the size of a piece of work."""
    rest = iter(items)
    while chunk := list(islice(rest, CHUNK_CELLS)):
        yield chunk
