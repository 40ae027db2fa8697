"""Lists and maps whose elements and entries have their own rows. A column holds such an object.

Changes are collected in memory until the cell is written. Content that was read stays in memory while it is small. So
appending to a list reads nothing, and a map is read entry by entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias, final

from headgate.state.formats.key_codec import encode_map_key
from headgate.state.formats.patch import ListPatch, MapPatch
from headgate.state.rocksdb.items import MISSING, Items

KEPT_BYTES_MAX: Final = 16 * 1024
"""Content of more bytes than this leaves memory after it was written."""

KEPT_ITEMS_MAX: Final = 1024
HEAVY_ITEMS: Final = 4096
"""With this many changes, a container writes them without waiting for a snapshot."""


@final
class StoredList:
    """A list: the elements from `first` up to `end`, not included, have rows; the elements of the tail do not yet."""

    __slots__ = ("_column", "_end", "_first", "_items", "_kept", "_key", "_prefix", "_tail", "size_bytes")

    def __init__(self, items: Items, column: int, key: Any, span: tuple[int, int]) -> None:
        self._items = items
        self._column = column
        self._key = key
        self._first, self._end = span
        self._kept: list[Any] | None = None if self._end > self._first else []
        self._tail: list[Any] = []
        self._prefix = b""
        self.size_bytes = 0
        """The approximate size of the elements in memory, as written."""

    def append(self, element: Any) -> None:
        self._tail.append(element)
        if len(self._tail) >= HEAVY_ITEMS:
            self._items.heavy.add(self._key)

    def extend(self, elements: Iterable[Any]) -> None:
        for element in elements:
            self.append(element)

    def __iter__(self) -> Iterator[Any]:
        kept = self._kept
        if kept is None:
            kept, size_bytes = self._items.elements(self._column, self._rows(), self._first, self._end)
            if size_bytes <= KEPT_BYTES_MAX and len(kept) <= KEPT_ITEMS_MAX:
                self._kept, self.size_bytes = kept, size_bytes
        return iter(kept + self._tail)

    def __len__(self) -> int:
        return self._end - self._first + len(self._tail)

    def _rows(self) -> bytes:
        if not self._prefix:
            self._prefix = self._items.prefix(self._column, self._key)
        return self._prefix

    @property
    def has_rows(self) -> bool:
        """Whether the list may have rows."""
        return self._end > self._first

    def header(self) -> tuple[int, int]:
        """Return the value for the cell's row after `write`."""
        return self._first, self._end + len(self._tail)

    def changes(self) -> list[Any] | ListPatch:
        """Return the value for a delta: the changes that are not written yet."""
        return ListPatch(self._tail) if self.has_rows else self._tail

    def write(self) -> None:
        """Write the changes. Raises `SerializationError`."""
        if not self._tail:
            return
        prefix, number = self._rows(), self._end
        for element in self._tail:
            self.size_bytes += self._items.put_element(self._column, prefix, number, element)
            number += 1
        if self._kept is not None:
            self._kept += self._tail
            if self.size_bytes > KEPT_BYTES_MAX or len(self._kept) > KEPT_ITEMS_MAX:
                self._kept = None
        if self._kept is None:
            self.size_bytes = 0
        self._end, self._tail = number, []

    def erase(self) -> None:
        """Delete the rows of the list."""
        self._items.delete_elements(self._rows(), self._first, self._end)


@final
class StoredMap:
    """A map: `_kept` has known entries, `MISSING` for a missing key; entries in `_changed` have no current row yet."""

    __slots__ = ("_changed", "_column", "_items", "_kept", "_key", "_prefix", "_whole", "has_rows", "size_bytes")

    def __init__(self, items: Items, column: int, key: Any, has_rows: bool) -> None:
        self._items = items
        self._column = column
        self._key = key
        self._kept: dict[Any, Any] = {}
        self._changed: dict[Any, None] = {}
        self._whole = not has_rows
        self._prefix = b""
        self.has_rows = has_rows
        """Whether the map may have rows."""
        self.size_bytes = 0
        """The approximate size of the entries in memory, as written."""

    def get(self, key: Any) -> Any:
        value = self._value(key)
        return None if value is MISSING else value

    def _value(self, key: Any) -> Any:
        kept = self._kept
        if key in kept:
            return kept[key]
        if self._whole:
            return MISSING
        return self.keep(key, self._items.database.get(self.row_of(key)))

    def lacks(self, key: Any) -> bool:
        """Return whether the value of the key must be read from the database."""
        return not self._whole and key not in self._kept

    def row_of(self, key: Any) -> bytes:
        """Return the key of an entry's row."""
        return self._rows() + encode_map_key(key)

    def keep(self, key: Any, row: bytes | None) -> Any:
        """Keep the value of a row that was read, None if there is no such row. Return the value."""
        if len(self._kept) - len(self._changed) >= KEPT_ITEMS_MAX:
            self._shrink()
        self._kept[key] = value = self._items.value(self._column, row)
        return value

    def __contains__(self, key: Any) -> bool:
        return self._value(key) is not MISSING

    def __setitem__(self, key: Any, value: Any) -> None:
        self._kept[key] = value
        self._changed[key] = None
        if len(self._changed) >= HEAVY_ITEMS:
            self._items.heavy.add(self._key)

    def __delitem__(self, key: Any) -> None:
        self._kept[key] = MISSING
        self._changed[key] = None
        if len(self._changed) >= HEAVY_ITEMS:
            self._items.heavy.add(self._key)

    def items(self) -> Iterable[tuple[Any, Any]]:
        return [(key, value) for key, value in self._all().items() if value is not MISSING]

    def keys(self) -> Iterable[Any]:
        return [key for key, _ in self.items()]

    def values(self) -> Iterable[Any]:
        return [value for _, value in self.items()]

    def __len__(self) -> int:
        return sum(1 for value in self._all().values() if value is not MISSING)

    def __iter__(self) -> Iterator[Any]:
        """Yield the keys, those in memory first. Rows are read only as far as the caller iterates."""
        yield from [key for key, value in self._kept.items() if value is not MISSING]
        if not self._whole:
            yield from (key for key, _, _ in self._items.entries(self._column, self._rows()) if key not in self._kept)

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def _all(self) -> dict[Any, Any]:
        """Return all entries, with `MISSING` for some missing keys."""
        if self._whole:
            return self._kept
        found, size_bytes = {}, 0
        for key, value, entry_bytes in self._items.entries(self._column, self._rows()):
            found[key] = value
            size_bytes += entry_bytes
        found.update(self._kept)
        if size_bytes <= KEPT_BYTES_MAX and len(found) <= KEPT_ITEMS_MAX:
            self._kept, self._whole, self.size_bytes = found, True, size_bytes
        return found

    def _shrink(self) -> None:
        self._kept = {key: self._kept[key] for key in self._changed}
        self._whole = not self.has_rows
        self.size_bytes = 0

    def _rows(self) -> bytes:
        if not self._prefix:
            self._prefix = self._items.prefix(self._column, self._key)
        return self._prefix

    def header(self) -> bool:
        """Return the value for the cell's row."""
        return True

    def changes(self) -> dict[Any, Any] | MapPatch:
        """Return the value for a delta: the changes that are not written yet."""
        changed = {key: self._kept[key] for key in self._changed}
        put = {key: value for key, value in changed.items() if value is not MISSING}
        return MapPatch(put, [key for key in changed if key not in put]) if self.has_rows else put

    def write(self) -> None:
        """Write the changes. Raises `SerializationError`."""
        if not self._changed:
            return
        prefix, items = self._rows(), self._items
        for key in self._changed:
            value = self._kept[key]
            if value is not MISSING:
                self.size_bytes += items.put_entry(self._column, prefix, key, value)
            elif self.has_rows:
                items.delete_entry(prefix, key)
        self._changed = {}
        self.has_rows = True
        if self.size_bytes > KEPT_BYTES_MAX or len(self._kept) > KEPT_ITEMS_MAX:
            self._shrink()

    def erase(self) -> None:
        """Delete the rows of the map."""
        self._items.delete_entries(self._rows())


Container: TypeAlias = StoredList | StoredMap
