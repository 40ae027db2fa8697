"""Items: the rows of list elements and of map entries."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, final

from headgate.state.formats.key_codec import decode_map_key, encode_map_key, original
from headgate.state.keyed.cells import FIRST
from headgate.state.rocksdb.database import RocksDatabase
from headgate.state.rocksdb.layouts import Layouts, item_original
from headgate.state.rocksdb.row_keys import KeyGroups, items_prefix, name_of

_NUMBER: Final = struct.Struct(">Q")
_AFTER_ALL: Final = b"\xff"
_RANGE_MIN: Final = 64
"""From this many rows, a range is deleted at once, which slows down reads nearby; fewer rows are deleted singly."""

MISSING: Final = object()
"""Marks a missing value, because None is a valid value."""


@final
class Items:
    """The items of all cells of a backend. `column` is the index in a cell."""

    def __init__(self, database: RocksDatabase, layouts: Layouts, groups: KeyGroups) -> None:
        self.database = database
        self.layouts = layouts
        self.groups = groups
        self.heavy: set[Any] = set()
        """Keys of cells with many collected changes, which are written before the next snapshot."""

    def prefix(self, column: int, key: Any) -> bytes:
        """Return the prefix of the keys of a cell's items in a column."""
        (group,) = self.groups.of([key])
        return items_prefix(group, column - FIRST, name_of(key))

    # --- elements of lists

    def elements(self, column: int, prefix: bytes, first: int, end: int) -> tuple[list[Any], int]:
        """Return the elements with numbers from `first` up to `end`, not included, and their size in bytes."""
        decode = self.layouts.decode_item
        size_bytes = 0
        found = []
        for _, row in self.database.rows(prefix + _NUMBER.pack(first), prefix + _NUMBER.pack(end)):
            size_bytes += len(row)
            found.append(decode(column - FIRST, row))
        return found, size_bytes

    def put_element(self, column: int, prefix: bytes, number: int, element: Any) -> int:
        """Write an element. Return its size in bytes."""
        row = self.layouts.encode_item(column - FIRST, element)
        self.database.put(prefix + _NUMBER.pack(number), row)
        return len(row)

    def delete_elements(self, prefix: bytes, first: int, end: int) -> None:
        """Delete the elements with numbers from `first` up to `end`, not included."""
        if end - first > _RANGE_MIN:
            self.database.delete_range(prefix + _NUMBER.pack(first), prefix + _NUMBER.pack(end))
        else:
            for number in range(first, end):
                self.database.delete(prefix + _NUMBER.pack(number))

    # --- entries of maps

    def value(self, column: int, row: bytes | None) -> Any:
        """Return the value in the row of an entry, `MISSING` if there is no row."""
        return MISSING if row is None else self.layouts.decode_item(column - FIRST, row)

    def entries(self, column: int, prefix: bytes) -> Iterator[tuple[Any, Any, int]]:
        """Yield the keys of a map with their values and sizes in bytes."""
        layouts, at = self.layouts, len(prefix)
        for name, row in self.database.rows(prefix, prefix + _AFTER_ALL):
            key = decode_map_key(name[at:], item_original(row), layouts.load)
            yield key, layouts.decode_item(column - FIRST, row), len(row)

    def put_entry(self, column: int, prefix: bytes, key: Any, value: Any) -> int:
        """Write an entry. Return its size in bytes."""
        row = self.layouts.encode_item(column - FIRST, value, original(key))
        self.database.put(prefix + encode_map_key(key), row)
        return len(row)

    def delete_entry(self, prefix: bytes, key: Any) -> None:
        """Delete an entry, if it exists."""
        self.database.delete(prefix + encode_map_key(key))

    def delete_entries(self, prefix: bytes) -> None:
        """Delete all entries of a map."""
        names = [name for name, _ in islice(self.database.rows(prefix, prefix + _AFTER_ALL), _RANGE_MIN + 1)]
        if len(names) > _RANGE_MIN:
            self.database.delete_range(prefix, prefix + _AFTER_ALL)
        else:
            for name in names:
                self.database.delete(name)
