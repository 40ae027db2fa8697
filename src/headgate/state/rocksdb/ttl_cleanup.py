"""Clean-up of expired state in the background: checks some cells and rows at a time, round after round."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, final

from headgate.state.keyed.cells import FIRST
from headgate.state.kinds.forms import SINGLE, StoredForm
from headgate.state.kinds.kind import StateDescriptor
from headgate.state.rocksdb.row_keys import CELL_AT, ITEMS_AT, all_of, key_of, name_length
from headgate.state.rocksdb.store import Store

if TYPE_CHECKING:
    from headgate.state.rocksdb.cache import CellCache

PIECE_ROWS: Final = 512
PAUSE_MS: Final = 20.0
"""The pause between two pieces, in ms, so that a round uses a few per cent of the loop."""
ROUND_MS_MAX: Final = 3_600_000
_ROUND_MS_MIN: Final = 1000


@final
class BackgroundCleanup:
    """The rounds through the state of one backend. They start with the first state that has a time to live."""

    def __init__(self, owner: CellCache, store: Store, groups: range) -> None:
        self._owner = owner
        self._cell_rows = store.rows
        self._database = store.database
        self._layouts = store.layouts
        self._groups = groups
        self._expiring: dict[int, tuple[StoredForm, int]] = {}
        self._from: bytes | None = None
        self._cached: Iterator[Any] = iter(())
        self._next_ms: float | None = None
        self._next_round_ms = 0.0

    def add(self, descriptor: StateDescriptor, column: int) -> None:
        """Include a state in the rounds, if it has a time to live and is to be cleaned up in the background."""
        ttl = descriptor.ttl
        if ttl is None or ttl.get_cleanup_strategies().get_rocksdb_compact_filter_cleanup_strategy() is None:
            return
        self._expiring[column] = (descriptor.kind.form, ttl.get_ttl().to_milliseconds())

    def advance(self, now_ms: float, wall_ms: int) -> float | None:
        """Do a piece if one is due. Return the time of the next piece in ms, None if no state expires."""
        if not self._expiring:
            return None
        if self._next_ms is None:
            self._next_ms = now_ms + self._round_ms()
        if now_ms < self._next_ms:
            return self._next_ms
        if self._from is None:
            self._from = all_of(self._groups)[0]
            self._cached = iter(list(self._owner.cells))
            self._next_round_ms = now_ms + self._round_ms()
        more = self._piece(wall_ms)
        self._next_ms = now_ms + PAUSE_MS if more else max(now_ms + PAUSE_MS, self._next_round_ms)
        return self._next_ms

    def _round_ms(self) -> float:
        """Return the time between the starts of two rounds, in ms: the shortest time to live, within limits."""
        shortest = min(ttl_ms for _, ttl_ms in self._expiring.values())
        return float(min(max(shortest, _ROUND_MS_MIN), ROUND_MS_MAX))

    def _piece(self, wall_ms: int) -> bool:
        """Check some cells, or some rows after all cells. Return whether the round continues."""
        keys = list(islice(self._cached, PIECE_ROWS))
        for key in keys:
            cell = self._owner.cells.get(key)
            if cell is not None and self._has_expired(cell[FIRST:], wall_ms):
                self._check(key, wall_ms)
        return bool(keys) or self._rows(wall_ms)

    def _has_expired(self, values: list[Any], wall_ms: int) -> bool:
        """Return whether a value of a cell has expired. Lists and maps are checked in the rows of their items."""
        for column, (form, ttl_ms) in self._expiring.items():
            value = values[column - FIRST]
            if value is not None and not form.has_items and form.is_expired(value, wall_ms - ttl_ms):
                return True
        return False

    def _rows(self, wall_ms: int) -> bool:
        assert self._from is not None
        if not self._cell_rows.write():
            return True
        _, end = all_of(self._groups)
        found: dict[bytes, None] = {}
        row_key = None
        for row_key, row in islice(self._database.rows(self._from, end), PIECE_ROWS):
            cell_row = self._cell_with_expired(row_key, row, wall_ms)
            if cell_row is not None:
                found[cell_row] = None
        self._from = None if row_key is None else row_key + b"\0"
        for cell_row in found:
            self._check_row(cell_row, wall_ms)
        return self._from is not None

    def _cell_with_expired(self, row_key: bytes, row: bytes, wall_ms: int) -> bytes | None:
        """Return the key of the cell's row if the given row, of the cell or of an item, has an expired value."""
        if row_key[2] == 0:
            return row_key if self._has_expired(self._layouts.decode(row)[0], wall_ms) else None
        column = FIRST + (row_key[3] << 8 | row_key[4])
        if column not in self._expiring:
            return None
        item = self._layouts.decode_item(column - FIRST, row)
        if not SINGLE.is_expired(item, wall_ms - self._expiring[column][1]):
            return None
        return row_key[:2] + b"\0" + row_key[ITEMS_AT : ITEMS_AT + name_length(row_key, ITEMS_AT)]

    def _check_row(self, cell_row: bytes, wall_ms: int) -> None:
        """Remove expired values of the cell in a row. If the row is not written yet, the next round checks it."""
        row = self._database.get(cell_row)
        if row is not None:
            _, original = self._layouts.decode(row)
            self._check(key_of(cell_row[CELL_AT:], original, self._layouts.load), wall_ms)

    def _check(self, key: Any, wall_ms: int) -> None:
        """Remove the expired values of a key."""
        owner = self._owner
        cell = owner.cell_at(key)
        for column, (form, ttl_ms) in self._expiring.items():
            if cell[column] is not None:
                form.put_living(owner, cell, column, wall_ms - ttl_ms)
