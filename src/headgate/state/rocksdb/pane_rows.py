"""Rows of panes in the database: the values of a pane, and which keys a pane has.

A key of a pane has the same row as a cell of its key and namespace, so that snapshots and restores need to know nothing
of panes. The keys of a pane are found by timer rows. For a pane with timers these are the rows of the last timer of its
entries. For a pane without timers they are rows of the state's own column, at a time that is computed from the
namespace.
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
    """Reads and writes the rows of the panes whose values lie in `columns`, and whose timers in `timers`."""

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
        """Return where there is a row for each key of a pane."""
        if pane.timers:
            return self.timers, max(pane.timers)
        return self.columns[0], zlib.crc32(encode_map_key(namespace))

    # --- reading

    def fetch(self, keys: list[Any]) -> list[Found]:
        """Return what the rows of cells with these keys have."""
        return [(self._value_of(cell), cell[self.timers]) for cell in self._store.cells.load(keys, 0)]

    def _value_of(self, cell: Cell) -> Any:
        contents = [
            None if cell[column] is None else form.plain(cell[column])
            for column, form in zip(self.columns, self._forms, strict=True)
        ]
        return contents[0] if len(contents) == 1 or contents[0] is None else tuple(contents)

    def keys(self, namespace: Namespace, place: Place, groups: range) -> Iterator[Any]:
        """Yield the keys of a pane that belong to these key groups, perhaps some that it has no more."""
        column, time = place
        first, end = (timer_row(column - FIRST, time, group, b"") for group in (groups.start, groups.stop))
        load = self._store.layouts.load
        for row, original in self._store.database.rows(first, end):
            key = key_of(row[TIMER_CELL_AT:], original or None, load)
            if namespace_of(key) == namespace:
                yield key[1]

    def values(self, namespace: Namespace, place: Place, groups: range) -> Iterator[tuple[Any, Any, Any]]:
        """Yield the keys of a pane that belong to these key groups, with their values and timers."""
        for keys in chunks(self.keys(namespace, place, groups)):
            for key, (value, timers) in zip(keys, self.fetch(cell_keys(keys, namespace)), strict=True):
                if value is not None:
                    yield key, value, timers

    def all(self) -> Iterator[tuple[Any, int, Found]]:
        """Yield all rows that have a value: the key of the cell, how long the row is, and what it has."""
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
        """Delete what leads to keys of other subtasks, after a restore of more key groups."""
        database = self._store.database
        for row, _ in database.rows(*timers_of(self.columns[0] - FIRST)):
            if time_and_group(row)[1] not in self.groups:
                database.delete(row)

    # --- writing

    def write(self, keys: list[Any], found: list[Found], generation: int) -> None:
        """Write what the rows of cells with these keys are to have as of a generation. Raises `SerializationError`."""
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
        """Return what a value is in each column."""
        if value is None:
            return (None,) * len(self.columns)
        return (value,) if len(self.columns) == 1 else value

    def lead_to(self, place: Place, keys: list[Any], timers: Iterable[Any]) -> None:
        """Have the keys of cells found in the pane at this place, and where a timer of one of them is due."""
        places = {place, *((self.timers, time) for times in timers for time in times or ())}
        for column, time in places:
            self._store.timers.put_all(column, time, keys)

    def lead_no_more(self, place: Place, pane: Pane, keys: list[Any]) -> None:
        """Delete what `lead_to` has written."""
        rows = self._store.timers
        for column, time in {place, *((self.timers, each) for each in pane.timers or ())}:
            rows.delete_all(column, time, keys)

    @property
    def _has_items(self) -> bool:
        return any(form.has_items for form in self._forms)

    def _shares_rows(self) -> bool:
        """Whether a key's row in a namespace may have more than what the pane has, or rows of items."""
        if self._has_items:
            return True
        own = [column - FIRST for column in (*self.columns, self.timers)]
        columns = self._store.layouts.columns
        return any(each[-1].meta.namespaced for at, each in enumerate(columns) if at not in own)

    def _write_shared(self, keys: list[Any], groups: list[int], found: list[Found], generation: int) -> None:
        """Write entries into rows that have more, and into the cells of those rows that are in the cache."""
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
class _Gone:
    namespace: Namespace
    generation: int
    pane: Pane
    keys: Iterator[Any]


@final
class ClosedPanes:
    """The panes of windows that are over and still have rows, in the order in which the windows ended."""

    def __init__(self, rows: PaneRows) -> None:
        self._rows = rows
        self._gone: deque[_Gone] = deque()

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._gone)

    def add(self, namespace: Namespace, pane: Pane, generation: int) -> None:
        """Add a pane that has rows, whose window was over in this generation."""
        keys = self._rows.keys(namespace, self._rows.place_of(namespace, pane), self._rows.groups)
        self._gone.append(_Gone(namespace, generation, pane, keys))

    def any_until(self, generation: int) -> bool:
        """Whether there are panes whose windows were over in this generation or before."""
        return bool(self._gone) and self._gone[0].generation <= generation

    def any_of(self, namespaces: Container[Namespace]) -> bool:
        """Whether there are panes of these windows, which have come again."""
        return any(gone.namespace in namespaces for gone in self._gone)

    def erase_some(self) -> None:
        """Delete some rows of the first pane; there must be one."""
        gone = self._gone[0]
        keys = cell_keys(islice(gone.keys, CHUNK_CELLS), gone.namespace)
        if keys:
            self._rows.write(keys, [(None, None)] * len(keys), gone.generation)
            self._rows.lead_no_more(self._rows.place_of(gone.namespace, gone.pane), gone.pane, keys)
        else:
            self._gone.popleft()


def cell_keys(keys: Iterable[Any], namespace: Namespace) -> list[Any]:
    """Return the keys of the cells of keys in a namespace."""
    return [(NAMESPACED, key, namespace) for key in keys]


def chunks(items: Iterable[Any]) -> Iterator[list[Any]]:
    """Return the items, so many together as a piece of work may have."""
    rest = iter(items)
    while chunk := list(islice(rest, CHUNK_CELLS)):
        yield chunk
