"""Timers in rows: finds due timers without all timers in memory.

The rows are derived from the cells. A row may exist for a timer that was deleted, so code that fires a timer checks the
cell. But a checkpoint must not lack a row. So a row is written when its timer is registered, and deleted only while no
checkpoint is under way that may need it.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, Final, final

from headgate.state.keyed.cells import FIRST
from headgate.state.keyed.timer_index import NEVER, Due
from headgate.state.rocksdb.database import RocksDatabase
from headgate.state.rocksdb.layouts import Layouts
from headgate.state.rocksdb.row_keys import (
    TIMER_CELL_AT,
    KeyGroups,
    key_of,
    name_of,
    names_of,
    original_of,
    time_and_group,
    timer_row,
    timers_of,
)

NEAR_MAX: Final = 8192
"""The number of timers that are kept in memory, the earliest first. At times twice as many are kept."""


@final
class TimerRows:
    """The rows of all timers of a backend. `column` is the index in a cell."""

    def __init__(self, database: RocksDatabase, layouts: Layouts, groups: KeyGroups) -> None:
        self._database = database
        self._layouts = layouts
        self._groups = groups
        self._deleted: dict[bytes, None] = {}

    def name(self, column: int, timestamp_ms: int, key: Any) -> bytes:
        """Return the key of a timer's row."""
        (group,) = self._groups.of([key])
        return timer_row(column - FIRST, timestamp_ms, group, name_of(key))

    def put(self, row: bytes, key: Any) -> None:
        """Write a timer."""
        self._deleted.pop(row, None)
        self._database.put(row, original_of(key) or b"")

    def put_all(self, column: int, timestamp_ms: int, keys: list[Any]) -> None:
        """Write timers of one time."""
        for row, key in zip(self._names(column, timestamp_ms, keys), keys, strict=True):
            self.put(row, key)

    def delete(self, row: bytes) -> None:
        """Mark a timer for deletion by the next `settle`."""
        self._deleted[row] = None

    def delete_all(self, column: int, timestamp_ms: int, keys: list[Any]) -> None:
        """Delete timers of one time at once. Call it only for timers that no checkpoint under way needs."""
        for row in self._names(column, timestamp_ms, keys):
            self._deleted.pop(row, None)
            self._database.delete(row)

    def _names(self, column: int, timestamp_ms: int, keys: list[Any]) -> list[bytes]:
        groups = self._groups.of(keys)
        return [
            timer_row(column - FIRST, timestamp_ms, group, name)
            for group, name in zip(groups, names_of(keys), strict=True)
        ]

    def settle(self) -> None:
        """Delete the timers that were marked for deletion."""
        for row in self._deleted:
            self._database.delete(row)
        self._deleted.clear()

    def near(self, column: int, start: bytes) -> tuple[dict[bytes, Any], bytes | None]:
        """Return the next timers with their keys, in order, and the row after them, None if these are all.

        No timer is before `start`. Starting there avoids reading over deleted rows.
        """
        first, end = timers_of(column - FIRST)
        near: dict[bytes, Any] = {}
        load, owned = self._layouts.load, self._groups.owned
        for row, stored in self._database.rows(max(first, start), end):
            if len(near) >= NEAR_MAX:
                return near, row
            if row in self._deleted:
                continue
            if time_and_group(row)[1] in owned:
                near[row] = key_of(row[TIMER_CELL_AT:], stored or None, load)
            else:
                self._deleted[row] = None
        return near, None


@final
class StoredTimerIndex:
    """The timers of one clock. The next timers are also in memory."""

    __slots__ = ("_column", "_far", "_heap", "_near", "_rows", "_start", "head_ms")

    def __init__(self, rows: TimerRows, column: int) -> None:
        self._rows = rows
        self._column = column
        self._near: dict[bytes, Any] = {}
        self._heap: list[bytes] = []
        self._far: bytes | None = None
        self._start = b""
        self.head_ms = NEVER
        self._reload()

    def _reload(self) -> None:
        self._near, self._far = self._rows.near(self._column, self._start)
        self._heap = list(self._near)
        self._find_head()

    def _find_head(self) -> None:
        heap, near = self._heap, self._near
        while heap and heap[0] not in near:
            heappop(heap)
        self.head_ms = time_and_group(heap[0])[0] if heap else NEVER

    def add(self, timestamp_ms: int, key: Any) -> None:
        row = self._rows.name(self._column, timestamp_ms, key)
        self._rows.put(row, key)
        self._start = min(self._start, row)
        if self._far is not None and row >= self._far:
            return
        if row not in self._near:
            self._near[row] = key
            heappush(self._heap, row)
            if timestamp_ms < self.head_ms:
                self.head_ms = timestamp_ms
            if len(self._heap) > 2 * NEAR_MAX:
                self._reload()

    def remove(self, timestamp_ms: int, key: Any) -> None:
        row = self._rows.name(self._column, timestamp_ms, key)
        self._rows.delete(row)
        if self._near.pop(row, None) is not None and not self._near:
            self._next()

    def pop(self, limit: int) -> Due:
        timestamp_ms = self.head_ms
        keys: list[Any] = []
        while self.head_ms == timestamp_ms and len(keys) < max(limit, 1):
            row = self._start = heappop(self._heap)
            if row in self._near:
                keys.append(self._near.pop(row))
                self._rows.delete(row)
            self._next()
        return timestamp_ms, keys

    def _next(self) -> None:
        self._find_head()
        if not self._heap and self._far is not None:
            self._reload()
