"""Rows of cells, with a buffer in front of the database.

The buffer consists of two dictionaries from keys to rows: rows that are not in the database yet, and rows that were
written recently. Finding a row in the buffer needs no encoding of its key, and the buffer writes many rows at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, final

from headgate.state.rocksdb.database import RocksDatabase
from headgate.state.rocksdb.groups import KeyGroups
from headgate.state.rocksdb.row_keys import cell_rows

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
        self._unwritten: dict[Any, bytes | None] = {}
        self._written: dict[Any, bytes | None] = {}
        """Rows written recently. If `_unwritten` has the key as well, the row here is out of date."""
        self._mean_bytes = 64.0

    def fetch(self, keys: Sequence[Any]) -> list[bytes | None]:
        """Return the rows of the cells with these keys."""
        buffered, written = self._unwritten, self._written
        found = [buffered.get(key, _ABSENT) for key in keys]
        wanted = [index for index, row in enumerate(found) if row is _ABSENT]
        if wanted and written:
            for index in wanted:
                found[index] = written.get(keys[index], _ABSENT)
            wanted = [index for index in wanted if found[index] is _ABSENT]
        if wanted:
            self._read(keys, found, wanted)
        return found  # type: ignore[return-value]

    def _read(self, keys: Sequence[Any], found: list[Any], wanted: list[int]) -> None:
        if self.is_empty:
            for index in wanted:
                found[index] = None
            return
        missing = [keys[index] for index in wanted]
        names = cell_rows(self._groups.of(missing), missing)
        for index, row in zip(wanted, self._database.get_many(names), strict=True):
            found[index] = row

    def put(self, key: Any, row: bytes | None) -> None:
        """Set the row of a cell."""
        self._unwritten[key] = row

    def put_all(self, rows: dict[Any, bytes]) -> None:
        """Set the rows of cells."""
        if rows:
            self._unwritten.update(rows)
            self._mean_bytes += (sum(map(len, rows.values())) / len(rows) - self._mean_bytes) / 8

    def is_known(self, key: Any) -> bool:
        """Return whether the cell may have a row."""
        return not self.is_empty or key in self._unwritten

    def write(self, rows_max: int = PIECE_ROWS) -> bool:
        """Write some rows to the database. Return whether all are written."""
        self._written.update(self._write(rows_max))
        return not self._unwritten

    def _write(self, rows_max: int) -> dict[Any, bytes | None]:
        unwritten = self._unwritten
        if len(unwritten) <= rows_max:
            piece, self._unwritten = unwritten, {}
        else:
            piece = dict(islice(unwritten.items(), rows_max))
            for key in piece:
                del unwritten[key]
        if piece:
            keys = list(piece)
            named = list(zip(cell_rows(self._groups.of(keys), keys), piece.values(), strict=True))
            named.sort()
            self._database.put_all(named)
            self.is_empty = False
        return piece

    def trim(self) -> None:
        """Remove rows from the buffer until it is within its limit."""
        room = int(self._buffer_bytes / (self._mean_bytes + _OVERHEAD_BYTES))
        written = self._written
        excess = len(self._unwritten) + len(written) - room
        if excess > 0:
            for key in list(islice(written, excess)):
                del written[key]
        while len(self._unwritten) > room:
            self._write(PIECE_ROWS)


_ABSENT: Final = object()
