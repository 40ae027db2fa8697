"""Walk: takes cells as they were at the end of an epoch, in pieces, while the loop goes on changing them.

A cell is taken by the walk, or just before its first change after the barrier, whichever comes first. So a snapshot
costs the loop nothing but the keys it touches, and shows the values of the barrier even when user code changes lists in
place. What the loop takes counts for the walk: its next piece is smaller by as much.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, final

from headgate.errors import SerializationError
from headgate.state.bins import Bins
from headgate.state.cells import CHUNK_CELLS, DEAD, EPOCH, FIRST, GROUP, KEY, SAVED, Cell, Roster
from headgate.state.schema import StateMeta
from headgate.state.snapshot import VALUES, Entry, SnapshotWriter

_PIECE_LEAST: Final = 32
"""Taking a chunk costs at least as much as so many cells."""

Filter = Callable[[Any], Any]
"""Returns what of a column's value is to be written, None for nothing."""


class Walk(ABC):
    """A walk under way. Of several, the oldest is to be done wholly before the next one is begun."""

    def __init__(self, epoch: int, states: Sequence[StateMeta], *, delta: bool) -> None:
        self.epoch = epoch
        self._end = FIRST + len(states)
        self._writer = SnapshotWriter(states, delta=delta)
        self._bins = Bins(self._writer, by_group=not delta)
        self._failure: SerializationError | None = None
        self._ahead = 0

    def save(self, cells: Iterable[Cell]) -> None:
        """Take those of the cells that the walk still needs: they are about to change. A cell may be given twice.

        What cannot be pickled is for `advance` to raise.
        """
        due = self._claim(cells)
        if due:
            self._ahead += len(due)
            try:
                self._bins.add(self._entries(due))
            except SerializationError as error:
                self._failure = self._failure or error

    @abstractmethod
    def _claim(self, cells: Iterable[Cell]) -> list[Cell]:
        """Mark those of the cells that the walk needs as taken, and return them."""

    def _entries(self, cells: list[Cell]) -> list[Entry]:
        """Return what is written of the cells."""
        end = self._end
        return [cell[GROUP:end] for cell in cells]

    def advance(self) -> bool:
        """Take about a thousand more cells; return whether all are taken. Raises `SerializationError`."""
        if self._failure is not None:
            raise self._failure
        room, self._ahead = CHUNK_CELLS - self._ahead, 0
        if self._take_piece(room):
            return False
        return self._bins.empty(CHUNK_CELLS)

    @abstractmethod
    def _take_piece(self, room: int) -> bool:
        """Take about so many cells, none if it is not positive; return False when there were none left."""

    def finish(self) -> list[bytes]:
        """Return the file as pieces of bytes, once `advance` has returned True. May be called elsewhere."""
        return self._writer.finish()


@final
class WholeWalk(Walk):
    """Takes all `live` cells. `filters` maps columns to what is to be written of their values."""

    def __init__(self, epoch: int, states: Sequence[StateMeta], roster: Roster, filters: dict[int, Filter]) -> None:
        super().__init__(epoch, states, delta=False)
        self._chunks = roster.chunks()[::-1]
        self._left = roster.live
        self._filters = {column - GROUP: filter_ for column, filter_ in filters.items()}

    def _claim(self, cells: Iterable[Cell]) -> list[Cell]:
        epoch = self.epoch
        claimed = []
        for cell in cells:
            if cell[SAVED] < epoch and cell[EPOCH] <= epoch:
                cell[SAVED] = epoch
                claimed.append(cell)
        self._left -= len(claimed)
        return claimed

    def _entries(self, cells: list[Cell]) -> list[Entry]:
        entries = super()._entries(cells)
        return [entry for entry in entries if self._filter(entry)] if self._filters else entries

    def _filter(self, entry: Entry) -> bool:
        """Filter the values of an entry; return whether anything is left."""
        for index, filter_ in self._filters.items():
            if index < len(entry) and entry[index] is not None:
                entry[index] = filter_(entry[index])
        return any(value is not None for value in entry[VALUES:])

    def _take_piece(self, room: int) -> bool:
        if not self._left:
            self._chunks.clear()
        if not self._chunks:
            return False
        while self._chunks and room > 0:
            group, chunk = self._chunks.pop()
            room -= max(len(chunk), _PIECE_LEAST)
            entries = self._entries(self._claim(chunk))
            if entries:
                self._writer.add(group, entries)
        return True


@final
class DeltaWalk(Walk):
    """Takes the cells that were touched after the epoch `since`: those of `changed`, where one may be twice."""

    def __init__(self, epoch: int, states: Sequence[StateMeta], since: int, changed: list[list[Cell]]) -> None:
        super().__init__(epoch, states, delta=True)
        self._since = since
        self._changed = changed[::-1]
        self._position = 0

    def _claim(self, cells: Iterable[Cell]) -> list[Cell]:
        epoch, since = self.epoch, self._since
        claimed = []
        for cell in cells:
            if cell[SAVED] < epoch and since < cell[EPOCH] <= epoch:
                cell[SAVED] = epoch
                claimed.append(cell)
        return claimed

    def _take_piece(self, room: int) -> bool:
        if not self._changed:
            return False
        if room > 0:
            cells = self._changed[-1]
            self._take(cells[self._position : self._position + room])
            self._position += room
            if self._position >= len(cells):
                self._changed.pop()
                self._position = 0
        return True

    def _take(self, piece: list[Cell]) -> None:
        entries = self._entries(self._claim(piece))
        if entries:
            self._writer.add(entries[0][0], entries)
        for cell in piece:
            if cell[EPOCH] == DEAD and cell[SAVED] < self.epoch:
                cell[SAVED] = self.epoch
                self._writer.remove(cell[GROUP], cell[KEY])
