"""Rows of cells, with a buffer in front of the database.

The buffer consists of two dictionaries from keys to rows: rows that are not in the database yet, and rows that were
written recently. Finding a row in the buffer needs no encoding of its key, and the buffer writes many rows at a time.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final, final

from headgate.state.rocksdb.database import RocksDatabase
from headgate.state.rocksdb.row_keys import KeyGroups

PIECE_ROWS: Final = 2048
_OVERHEAD_BYTES: Final = 180
"""Memory of a row in the buffer, in bytes, besides the row itself."""


@final
class CellRows:
    """The rows of all cells of a backend. None is the row of a cell without values: the database has no such row."""

    def __init__(self, database: RocksDatabase, groups: KeyGroups, buffer_bytes: int) -> None:
        self.is_empty = True
        """Whether the database holds no rows of cells."""
        self._database = database
        self._groups = groups
        self._buffer_bytes = buffer_bytes
        self.unwritten: dict[Any, bytes | None] = {}
        """Rows that are not in the database yet. A loop that writes many cells adds their rows here."""
        self._written: dict[Any, bytes | None] = {}
        """Rows written recently. If `unwritten` has the key as well, the row here is out of date."""
        self._mean_bytes = 64.0
        self._buffered = _buffered if groups.native is None else groups.native.buffered

    def fetch(self, keys: list[Any]) -> list[bytes | None]:
        """Return the rows of the cells with these keys."""
        found, wanted = self._buffered(keys, self.unwritten, self._written)
        if wanted and not self.is_empty:
            missing = [keys[index] for index in wanted]
            for index, row in zip(wanted, self._database.get_many(self._groups.cell_rows(missing)), strict=True):
                found[index] = row
        return found

    def put(self, key: Any, row: bytes | None) -> None:
        """Set the row of a cell."""
        self.unwritten[key] = row

    def adapt(self, mean_bytes: float) -> None:
        """Update the estimated mean size of rows with the mean of further rows."""
        self._mean_bytes += (mean_bytes - self._mean_bytes) / 8

    def is_known(self, key: Any) -> bool:
        """Return whether the cell may have a row."""
        return not self.is_empty or key in self.unwritten

    def write(self, rows_max: int = PIECE_ROWS) -> bool:
        """Write some rows to the database. Return whether all are written."""
        self._written.update(self._write(rows_max))
        return not self.unwritten

    def _write(self, rows_max: int) -> dict[Any, bytes | None]:
        unwritten = self.unwritten
        if len(unwritten) <= rows_max:
            piece, self.unwritten = unwritten, {}
        else:
            piece = dict(islice(unwritten.items(), rows_max))
            for key in piece:
                del unwritten[key]
        if piece:
            keys = list(piece)
            named = list(zip(self._groups.cell_rows(keys), piece.values(), strict=True))
            named.sort()
            self._database.put_all(named)
            self.is_empty = False
        return piece

    def trim(self) -> None:
        """Remove rows from the buffer until it is within its limit."""
        room = int(self._buffer_bytes / (self._mean_bytes + _OVERHEAD_BYTES))
        written = self._written
        excess = len(self.unwritten) + len(written) - room
        if excess > 0:
            for key in list(islice(written, excess)):
                del written[key]
        while len(self.unwritten) > room:
            self._write(PIECE_ROWS)


def _buffered(
    keys: list[Any], newest: dict[Any, bytes | None], older: dict[Any, bytes | None]
) -> tuple[list[bytes | None], list[int]]:
    """Return the rows of keys in the first of two dictionaries that has the key, and the places of keys in neither."""
    rows: list[bytes | None] = []
    wanted = []
    for index, key in enumerate(keys):
        row = newest.get(key, _ABSENT)
        if row is _ABSENT and (row := older.get(key, _ABSENT)) is _ABSENT:
            wanted.append(index)
            row = None
        rows.append(row)  # type: ignore[arg-type]
    return rows, wanted


_ABSENT: Final = object()
