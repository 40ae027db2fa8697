"""Rows of cells, with a buffer in front of the database.

The buffer is a dictionary from keys to rows. A row that was written or read lately is found there without its key being
encoded, and rows go to the database many at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, final

from headgate.state.rocksdb.database import Database
from headgate.state.rocksdb.groups import KeyGroups
from headgate.state.rocksdb.row_keys import cell_rows

PIECE_ROWS: Final = 2048
_OVERHEAD_BYTES: Final = 180
"""What a row takes in the buffer, besides its own bytes."""


@final
class CellRows:
    """The rows of all cells of a backend. None stands for the row of a cell without any value: there is none."""

    def __init__(self, database: Database, groups: KeyGroups, buffer_bytes: int) -> None:
        self.is_empty = True
        """Whether the database holds no rows of cells."""
        self._database = database
        self._groups = groups
        self._buffer_bytes = buffer_bytes
        self._rows: dict[Any, bytes | None] = {}
        self._unwritten: dict[Any, None] = {}
        self._mean_bytes = 64.0

    def fetch(self, keys: Sequence[Any]) -> list[bytes | None]:
        """Return the rows of these cells."""
        buffered = self._rows
        found = [buffered.get(key, _ABSENT) for key in keys]
        wanted = [index for index, row in enumerate(found) if row is _ABSENT]
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
        self._rows[key] = row
        self._unwritten[key] = None

    def put_all(self, rows: dict[Any, bytes]) -> None:
        """Set the rows of cells."""
        if rows:
            self._rows.update(rows)
            self._unwritten.update(dict.fromkeys(rows))
            self._mean_bytes += (sum(map(len, rows.values())) / len(rows) - self._mean_bytes) / 8

    def is_known(self, key: Any) -> bool:
        """Whether the cell may have a row."""
        return not self.is_empty or key in self._rows

    def write(self, rows_max: int = PIECE_ROWS) -> bool:
        """Write some rows to the database; return whether all are written."""
        piece = list(islice(self._unwritten, rows_max))
        self._write(piece)
        return not self._unwritten

    def _write(self, keys: list[Any]) -> None:
        if not keys:
            return
        rows = self._rows
        named = list(zip(cell_rows(self._groups.of(keys), keys), map(rows.__getitem__, keys), strict=True))
        named.sort()
        self._database.put_all(named)
        self.is_empty = False
        for key in keys:
            del self._unwritten[key]

    def trim(self) -> None:
        """Forget some rows, if the buffer is too large; those that are not in the database are written first."""
        excess = len(self._rows) - int(self._buffer_bytes / (self._mean_bytes + _OVERHEAD_BYTES))
        while excess > 0:
            oldest = list(islice(self._rows, min(excess, PIECE_ROWS)))
            self._write([key for key in oldest if key in self._unwritten])
            for key in oldest:
                del self._rows[key]
            excess -= len(oldest)

    def unwritten(self) -> list[Any]:
        """Return the keys of cells whose rows are not in the database yet."""
        return list(self._unwritten)


_ABSENT: Final = object()
