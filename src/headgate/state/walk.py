"""Walk: takes cells as they were at the end of an epoch, in pieces, while the loop goes on changing them.

A cell is taken by the walk, or just before its first change after the barrier, whichever comes first. So a snapshot
costs the loop nothing but the keys it touches, and shows the values of the barrier even when user code changes lists in
place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, final

from headgate.errors import SerializationError
from headgate.state.cells import CHUNK_CELLS, DEAD, EPOCH, FIRST, GROUP, KEY, SAVED, Cell, Chunk
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
        self._failure: SerializationError | None = None

    @abstractmethod
    def needs(self, cell: Cell) -> bool:
        """Return whether the cell, which is about to change, has to be taken first."""

    def save(self, cell: Cell) -> None:
        """Take one cell, which is about to change. What cannot be pickled is for `advance` to raise."""
        cell[SAVED] = self.epoch
        entry = self._entry(cell)
        try:
            if entry is not None:
                self._writer.add_one(entry)
        except SerializationError as error:
            self._failure = self._failure or error

    def _entry(self, cell: Cell) -> Entry | None:
        """Return what is written of the cell, None for nothing."""
        return cell[GROUP : self._end]

    def advance(self) -> bool:
        """Take about a thousand more cells; return whether all are taken. Raises `SerializationError`."""
        if self._failure is not None:
            raise self._failure
        if self._take_piece():
            return False
        return self._writer.settle(CHUNK_CELLS)

    @abstractmethod
    def _take_piece(self) -> bool:
        """Take some cells; return False when there were none left."""

    def finish(self) -> list[bytes]:
        """Return the file as pieces of bytes, once `advance` has returned True. May be called elsewhere."""
        return self._writer.finish()


@final
class WholeWalk(Walk):
    """Takes all cells. `filters` maps columns to what is to be written of their values."""

    def __init__(
        self,
        epoch: int,
        states: Sequence[StateMeta],
        chunks: list[tuple[int, Chunk]],
        filters: dict[int, Filter],
    ) -> None:
        super().__init__(epoch, states, delta=False)
        self._chunks = chunks[::-1]
        self._filters = {column - GROUP: filter_ for column, filter_ in filters.items()}

    def needs(self, cell: Cell) -> bool:
        return cell[SAVED] < self.epoch and cell[EPOCH] <= self.epoch  # type: ignore[no-any-return]

    def _entry(self, cell: Cell) -> Entry | None:
        entry = cell[GROUP : self._end]
        for index, filter_ in self._filters.items():
            if index < len(entry) and entry[index] is not None:
                entry[index] = filter_(entry[index])
        if self._filters and all(value is None for value in entry[VALUES:]):
            return None
        return entry

    def _take_piece(self) -> bool:
        room = CHUNK_CELLS
        if not self._chunks:
            return False
        while self._chunks and room > 0:
            group, chunk = self._chunks.pop()
            room -= max(len(chunk), _PIECE_LEAST)
            self._take(group, chunk)
        return True

    def _take(self, group: int, chunk: Chunk) -> None:
        epoch, end = self.epoch, self._end
        due = [cell for cell in chunk if cell[SAVED] < epoch and cell[EPOCH] <= epoch]
        if not due:
            return
        if self._filters:
            entries = [entry for entry in map(self._entry, due) if entry is not None]
        else:
            entries = [cell[GROUP:end] for cell in due]
        if entries:
            self._writer.add(group, entries)
        for cell in due:
            cell[SAVED] = epoch


@final
class DeltaWalk(Walk):
    """Takes the cells that were touched after the epoch `since`: those of `changed`, where one may be twice."""

    def __init__(self, epoch: int, states: Sequence[StateMeta], since: int, changed: list[list[Cell]]) -> None:
        super().__init__(epoch, states, delta=True)
        self._since = since
        self._changed = changed[::-1]
        self._position = 0

    def needs(self, cell: Cell) -> bool:
        return cell[SAVED] < self.epoch and self._since < cell[EPOCH] <= self.epoch  # type: ignore[no-any-return]

    def _take_piece(self) -> bool:
        if not self._changed:
            return False
        cells = self._changed[-1]
        piece = cells[self._position : self._position + CHUNK_CELLS]
        self._position += CHUNK_CELLS
        if self._position >= len(cells):
            self._changed.pop()
            self._position = 0
        self._take(piece)
        return True

    def _take(self, piece: list[Cell]) -> None:
        epoch, end = self.epoch, self._end
        due = [cell for cell in piece if cell[SAVED] < epoch]
        entries = [cell[GROUP:end] for cell in due if cell[EPOCH] != DEAD]
        if entries:
            self._writer.add(entries[0][0], entries)
        for cell in due:
            cell[SAVED] = epoch
            if cell[EPOCH] == DEAD:
                self._writer.remove(cell[GROUP], cell[KEY])
