"""Panes in front of a database: memory holds a limited part of the values, and rows hold the rest.

The walk of a barrier writes the changed values, and memory keeps them as long as there is room. Without room, the
values of the oldest windows are evicted first. A value without a row is written before it is evicted. During a
snapshot, memory keeps new values, as the cache of cells does. After a window has closed, its rows are deleted piece by
piece, as soon as no snapshot under way needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final, final

from headgate.errors import SerializationError
from headgate.state.formats.codecs import pickled
from headgate.state.keyed.panes import Namespace, Pane, Panes, PaneTimers
from headgate.state.keyed.stored_values import StoredValues
from headgate.state.rocksdb.pane_rows import ClosedPanes, PaneRows, cell_keys, chunks

ENTRY_BYTES: Final = 120
"""Bytes in memory of an entry without its value: a key, and its place in a dictionary."""
BYTES_PER_BYTE: Final = 3
"""Bytes in memory of objects, roughly, for each byte of their stored form."""
MEASURED: Final = 64
"""Number of entries from which the size of all entries is estimated."""


@final
class PaneRoom:
    """The number of entries that fit into memory. The user of the panes holds `copies` values for each entry."""

    def __init__(self, limit_bytes: int, copies: int) -> None:
        self.limit_bytes = limit_bytes
        self.copies = copies
        self.left = 0
        """The number of entries that can be added before `excess` has to be called again."""
        self._entry_bytes = float(ENTRY_BYTES)

    @property
    def capacity(self) -> int:
        """The largest number of entries in memory."""
        return int(self.limit_bytes / self.copies / self._entry_bytes)

    def excess(self, entries: int) -> int:
        """Return the number of entries to evict, 0 if `entries` fit. It leaves an eighth of the capacity free."""
        capacity = self.capacity
        self.left = min(capacity - entries, max(entries, MEASURED))
        return entries - capacity + capacity // 8 if entries > capacity else 0

    def measure(self, some: list[tuple[Any, Any]]) -> None:
        """Use the mean size of these entries as the mean of all entries."""
        if some:
            with suppress(SerializationError):
                self._entry_bytes = ENTRY_BYTES + BYTES_PER_BYTE * len(pickled(some)) / len(some)


_PARTS: Final = 4
"""`parts` aims at parts of at most one in this many of the memory limit."""


@final
@dataclass(frozen=True, slots=True)
class _Due:
    """The changes of a pane that a walk writes."""

    namespace: Namespace
    pane: Pane
    timers_of: PaneTimers
    levels: list[tuple[int, dict[Any, Any]]]
    is_outdated: bool


@final
class StoredPanes(Panes):
    """The panes of one operator, which may use `limit_bytes` of memory.

    `copies` is the number of values that the user of the panes holds for each entry, including the value in the pane.
    """

    def __init__(self, rows: PaneRows, limit_bytes: int, copies: int) -> None:
        super().__init__(rows.columns, rows.timers)
        self._rows = rows
        self._room = PaneRoom(limit_bytes, copies)
        self.closed = ClosedPanes(rows)
        self._given = 0
        """The number of entries in the current part."""

    # --- restoring

    def restore(self, make: Callable[[Namespace], Pane]) -> None:
        """Make the panes of all rows, and load as many of their values as fit into memory."""
        self._rows.clip()
        free_bytes = float(self._room.limit_bytes)
        for found in chunks(self._rows.all()):
            missing: dict[tuple[int, int], list[Any]] = {}
            for cell_key, row_bytes, (value, timers) in found:
                _, key, namespace = cell_key
                pane = self.by_window.get(namespace)
                if pane is None:
                    pane = self.by_window[namespace] = make(namespace)
                stored = self._stored_of(namespace, pane)
                free_bytes -= self._room.copies * (ENTRY_BYTES + BYTES_PER_BYTE * row_bytes)
                if free_bytes > 0:
                    self._take(pane, key, value, timers)
                else:
                    stored.is_whole, self.is_spilled = False, True
                place = self._rows.place_of(namespace, pane)
                if not pane.timers or place[1] not in (timers or ()):
                    missing.setdefault(place, []).append(cell_key)
            for place, keys in missing.items():
                self._rows.index_keys(place, keys, ())

    def _stored_of(self, namespace: Namespace, pane: Pane) -> StoredValues:
        """Return the stored values of a pane that has rows or will have some."""
        if pane.stored is None:
            groups, place = self._rows.groups, self._rows.place_of(namespace, pane)

            def read(keys: list[Any]) -> None:
                for key, found in zip(keys, self._rows.fetch(cell_keys(keys, namespace)), strict=True):
                    self._take(pane, key, *found)

            def scan(some: range | None) -> Iterator[tuple[Any, Any, Any]]:
                return self._rows.values(namespace, place, groups if some is None else some)

            pane.stored = StoredValues(read, scan)
            pane.sealed.append((0, pane.stored))
        return pane.stored

    def _take(self, pane: Pane, key: Any, value: Any, timers: Any) -> None:
        """Keep the value in the row of a key, and note whether the key's window has been evaluated."""
        assert pane.stored is not None
        pane.stored[key] = value
        if value is not None:
            self._note_timers(pane, key, timers)

    def _note_timers(self, pane: Pane, key: Any, timers: Any) -> None:
        if not pane.is_evaluated and pane.was_evaluated(timers):
            pane.evaluated.add(key)

    # --- reading

    def load(self, keys: Iterable[Any], namespaces: Iterable[Namespace]) -> None:
        wanted: dict[Any, Pane] = {}
        with suppress(TypeError):  # a key is unhashable: the loop names its record
            for key, namespace in zip(keys, namespaces):  # noqa: B905  # as long as the shorter
                pane = self.by_window.get(namespace)
                if pane is not None and _lacks(pane, key):
                    wanted[cell_keys([key], namespace)[0]] = pane
        for (_, key, _), pane, found in zip(wanted, wanted.values(), self._rows.fetch(list(wanted)), strict=True):
            self._take(pane, key, *found)

    def parts(self) -> Iterator[Callable[[Pane], Iterable[tuple[Any, Any]]]]:
        left, count = self._rows.groups, 1
        while left:
            groups, left = left[:count], left[count:]
            self._given = 0
            yield partial(self._items_of, groups)
            count = max(1, int(len(groups) * self._room.capacity / _PARTS / max(1, self._given)))

    def _items_of(self, groups: range, pane: Pane) -> Iterator[tuple[Any, Any]]:
        """Yield the keys of a pane in these key groups, with their values."""
        in_memory, stored = pane.values(), pane.stored
        for items in chunks(in_memory.items()):
            self._given += len(items)
            for (key, value), group in zip(items, self._rows.groups_of([key for key, _ in items]), strict=True):
                if group in groups and value is not None:
                    yield key, value
        if stored is not None and not stored.is_whole:
            for key, value, timers in stored.scan(groups):
                self._given += 1
                if key not in in_memory:
                    self._note_timers(pane, key, timers)
                    yield key, value

    # --- writing

    @property
    def has_changes(self) -> bool:
        """Whether some values are in no row yet."""
        return bool(self.closed) or any(pane.open or _new_levels(pane) for pane in self.by_window.values())

    def walk(self, generation: int) -> Iterator[None]:
        """Return an iterator that writes the changes as of the end of this generation, just sealed, in pieces.

        Raises `SerializationError`. If the iterator is abandoned, the next walk writes the remaining changes.
        """
        due = []
        for namespace, pane in self.by_window.items():
            levels, stored = _new_levels(pane), pane.stored
            is_outdated = stored is not None and stored.is_outdated
            if levels or is_outdated:
                self._stored_of(namespace, pane)
                due.append(_Due(namespace, pane, pane.timers_of(), levels, is_outdated))
        return self._walk(generation, due)

    def _walk(self, generation: int, panes: list[_Due]) -> Iterator[None]:
        while self.closed.any_until(generation):
            self.closed.erase_some()
            yield
        for due in panes:
            if due.is_outdated:
                yield from self._renew(due, generation)
            yield from self._write(due, generation)
            self._settle(due.pane, generation)

    def _renew(self, due: _Due, generation: int) -> Iterator[None]:
        """Write the timers of all keys again."""
        place = self._rows.place_of(due.namespace, due.pane)
        for found in chunks(self._rows.values(due.namespace, place, self._rows.groups)):
            keys, values, _ = zip(*found, strict=True)
            renewed = list(zip(values, map(due.timers_of, keys), strict=True))
            self._rows.write(cell_keys(keys, due.namespace), renewed, generation)
            yield
        assert due.pane.stored is not None
        due.pane.stored.is_outdated = False

    def _write(self, due: _Due, generation: int) -> Iterator[None]:
        """Write the newest value of each key."""
        for number, (_, values) in enumerate(due.levels):
            newer = [each for _, each in due.levels[:number]]
            for items in chunks(values.items()):
                kept = [item for item in items if not any(item[0] in each for each in newer)] if newer else items
                if kept:
                    self._write_some(due.namespace, due.pane, due.timers_of, kept, generation)
                    yield

    def _write_some(
        self, namespace: Namespace, pane: Pane, timers_of: PaneTimers, items: list[tuple[Any, Any]], generation: int
    ) -> None:
        keys = cell_keys([key for key, _ in items], namespace)
        self._rows.write(keys, [(value, timers_of(key)) for key, value in items], generation)
        stored = self._stored_of(namespace, pane)
        fresh = [key for key in keys if stored.get(key[1]) is None]
        if fresh:
            self._rows.index_keys(self._rows.place_of(namespace, pane), fresh, [pane.timers])

    def _settle(self, pane: Pane, generation: int) -> None:
        """Move the dictionaries sealed until this generation to the stored values: they have been written."""
        stored = pane.stored
        assert stored is not None
        for sealed_in, values in reversed(_new_levels(pane)):
            if sealed_in <= generation:
                stored.update(values)
        newer = [level for level in _new_levels(pane) if level[0] > generation]
        pane.sealed = [*newer, (0, stored)]

    def drop(self, namespace: Namespace, generation: int) -> None:
        pane = self.by_window.pop(namespace)
        if pane.stored is not None:
            self.closed.add(namespace, pane, generation)
        if self.is_spilled:
            self.is_spilled = any(
                each.stored is not None and not each.stored.is_whole for each in self.by_window.values()
            )

    # --- making room

    def count(self, entries: int) -> None:
        self._room.left -= entries

    def excess(self) -> int:
        """Return the number of entries to evict, 0 if all fit into memory."""
        if self._room.left > 0:
            return 0
        newest = next(reversed(self.by_window.values()), None)
        if newest is not None:
            self._room.measure(list(islice(reversed(newest.open.items()), MEASURED)))
        return self._room.excess(len(self))

    def __len__(self) -> int:
        """Number of entries in memory."""
        return sum(len(pane.open) + sum(len(values) for _, values in pane.sealed) for pane in self.by_window.values())

    def evict(self, entries: int, generation: int, *, may_write: bool) -> None:
        """Evict about this many entries from memory. Raises `SerializationError`."""
        while may_write and self.closed.any_of(self.by_window):
            self.closed.erase_some()
        for namespace, pane in self.by_window.items():
            if entries > 0 and pane.stored is not None:
                entries -= self._forget(pane.stored, entries)
            if entries > 0 and may_write:
                entries -= self._spill(namespace, pane, entries, generation)
            if entries <= 0:
                break
        self._room.left = 0

    def _forget(self, stored: StoredValues, entries: int) -> int:
        keys = list(islice(stored, entries))
        if keys:
            stored.evict(keys)
            self.is_spilled = True
        return len(keys)

    def _spill(self, namespace: Namespace, pane: Pane, entries: int, generation: int) -> int:
        """Write the changes of a pane, the oldest first, and evict them."""
        timers_of, levels = pane.timers_of(), _new_levels(pane)
        if levels:
            for _ in self._write(_Due(namespace, pane, timers_of, levels, is_outdated=False), generation):
                pass
            self._settle(pane, generation)
            return self._forget(self._stored_of(namespace, pane), entries)
        items = list(islice(pane.open.items(), entries))
        for some in chunks(items):
            self._write_some(namespace, pane, timers_of, some, generation)
        keys = [key for key, _ in items]
        # A new dict, because an evaluation of the window may iterate over the old one.
        pane.open = dict(islice(pane.open.items(), entries, None))
        if keys:
            self._stored_of(namespace, pane).evict(keys)
            self.is_spilled = True
        return len(keys)


def _new_levels(pane: Pane) -> list[tuple[int, dict[Any, Any]]]:
    """Return the sealed dictionaries whose values are in no row."""
    return [level for level in pane.sealed if level[1] is not pane.stored]


def _lacks(pane: Pane, key: Any) -> bool:
    """Return whether the value of a key is not in memory, but may be in a row."""
    stored = pane.stored
    if stored is None or stored.is_whole or stored.has(key) or key in pane.open:
        return False
    return not any(key in values for _, values in _new_levels(pane))
