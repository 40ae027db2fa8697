"""Walk: takes cells as they were at the end of a generation, piece by piece, while the loop continues to change them.

The walk takes a cell in one of its pieces, or just before the first change of the cell after the barrier. So a snapshot
delays the loop only by the keys that records touch, and it has the values of the barrier even if user code changes
lists in place. Cells that the loop had taken reduce the next piece of the walk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, final

from headgate.errors import SerializationError
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.snapshot import Entry, SnapshotWriter
from headgate.state.keyed.cells import (
    CHUNK_CELLS,
    DEAD,
    FIRST,
    GENERATION,
    GROUP,
    KEY,
    NEVER_SAVED,
    SAVED,
    Cell,
    CellIndex,
)
from headgate.state.keyed.panes import PanePiece
from headgate.types.record_copies import is_immutable

_PIECE_LEAST: Final = 32
"""The cost of taking a chunk, in cells, however few cells it has."""

LOOSE_MAX: Final = 128
"""The number of entries that `save_one` collects before it pickles them together."""

Filter = Callable[[Any], Any]
"""Returns the part of a value that a snapshot keeps, None for nothing."""


@final
@dataclass(frozen=True, slots=True)
class PaneEntries:
    """The entries of panes for a snapshot, and a function that returns the key group of a key."""

    pieces: Iterator[PanePiece]
    group_of: Callable[[Any], int]


class Walk(ABC):
    """A walk under way. If there are several, each must be finished before the next younger one advances.

    The walk takes `panes` after the cells: nothing changes their pieces meanwhile.
    """

    panes: PaneEntries | None = None

    def __init__(self, generation: int, states: Sequence[StateMeta], *, delta: bool) -> None:
        self.generation = generation
        self._end = FIRST + len(states)
        self._writer = SnapshotWriter(states, delta=delta)
        self._loose: list[Entry] = []
        self._failure: SerializationError | None = None
        self._ahead = 0

    def save(self, cells: Iterable[Cell]) -> None:
        """Take each given cell that the walk still needs, because the cells are about to change.

        A cell may be given twice. `advance` raises the error if a value cannot be pickled.
        """
        due = self._claim(cells)
        if due:
            self._ahead += len(due)
            self._try(partial(self._write, [cell[GROUP] for cell in due], due))

    def save_one(self, cell: Cell) -> None:
        """Take one cell if the walk still needs it, because the cell is about to change."""
        if not self._claim((cell,)):
            return
        self._ahead += 1
        entry = cell[GROUP : self._end]
        if all(map(is_immutable, entry)):
            self._loose.append(entry)
            if len(self._loose) >= LOOSE_MAX:
                self._try(self._write_loose)
        else:
            self._try(partial(self._write, [cell[GROUP]], [cell]))

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except SerializationError as error:
            self._failure = self._failure or error

    def _write(self, groups: int | list[int], cells: list[Cell]) -> None:
        columns = [[cell[column] for cell in cells] for column in range(FIRST, self._end)]
        self._put(groups, [cell[KEY] for cell in cells], columns)

    def _write_loose(self) -> None:
        loose, self._loose = self._loose, []
        if loose:
            groups, keys, *columns = map(list, zip(*loose, strict=True))
            self._put(groups, keys, columns)

    def _put(self, groups: int | list[int], keys: list[Any], columns: list[list[Any]]) -> None:
        self._writer.add_columns(groups, keys, columns)

    @abstractmethod
    def _claim(self, cells: Iterable[Cell]) -> list[Cell]:
        """Mark the cells that the walk needs as taken, and return them."""

    def advance(self) -> bool:
        """Take about a thousand more cells; return whether all are taken.

        Raises `SerializationError` if a value cannot be pickled, and again in all later calls.
        """
        room, self._ahead = CHUNK_CELLS - self._ahead, 0
        has_more = True
        try:
            has_more = self._take_piece(room) or (self.panes is not None and self._take_panes(self.panes, room))
            if not has_more:
                self._write_loose()
        except SerializationError as error:
            self._failure = self._failure or error
        if self._failure is not None:
            raise self._failure
        return not has_more

    def _take_panes(self, panes: PaneEntries, room: int) -> bool:
        """Take some entries of panes if `room` is positive. Return False if none were left."""
        piece = next(panes.pieces, None) if room > 0 else None
        if piece is None:
            return room <= 0
        groups = list(map(panes.group_of, piece.keys))
        if piece.columns is None:
            for group, key in zip(groups, piece.keys, strict=True):
                self._writer.remove(group, key)
        else:
            nothing = [None] * len(groups)
            columns = [piece.columns.get(column, nothing) for column in range(FIRST, self._end)]
            self._put(groups, piece.keys, columns)
        return True

    @abstractmethod
    def _take_piece(self, room: int) -> bool:
        """Take about `room` cells, none if it is not positive. Return False if none were left."""

    def finish(self) -> list[bytes]:
        """Return the file as pieces of bytes, after `advance` has returned True. Any thread may call it."""
        return self._writer.finish()


@final
class WholeWalk(Walk):
    """Takes all live cells. `filters` maps columns to functions that return the part of a value to write."""

    def __init__(
        self, generation: int, states: Sequence[StateMeta], index: CellIndex, filters: dict[int, Filter]
    ) -> None:
        super().__init__(generation, states, delta=False)
        self._chunks = index.chunks()[::-1]
        self._left = index.live
        self._filters = {column - FIRST: filter_ for column, filter_ in filters.items()}

    def _claim(self, cells: Iterable[Cell]) -> list[Cell]:
        generation = self.generation
        claimed = []
        for cell in cells:
            if cell[SAVED] < generation and cell[GENERATION] <= generation:
                cell[SAVED] = generation
                claimed.append(cell)
        self._left -= len(claimed)
        return claimed

    def _put(self, groups: int | list[int], keys: list[Any], columns: list[list[Any]]) -> None:
        if not self._filters:
            super()._put(groups, keys, columns)
            return
        for index, filter_ in self._filters.items():
            if index < len(columns):
                columns[index] = [None if value is None else filter_(value) for value in columns[index]]
        kept = [
            at for at, values in enumerate(zip(*columns, strict=True)) if any(value is not None for value in values)
        ]
        if kept:
            own = groups if isinstance(groups, int) else [groups[at] for at in kept]
            super()._put(own, [keys[at] for at in kept], [[column[at] for at in kept] for column in columns])

    def _take_piece(self, room: int) -> bool:
        if not self._left:
            self._chunks.clear()
        if not self._chunks:
            return False
        while self._chunks and room > 0:
            group, chunk = self._chunks.pop()
            room -= max(len(chunk), _PIECE_LEAST)
            due = self._claim(chunk)
            if due:
                self._write(group, due)
        return True


@final
class DeltaWalk(Walk):
    """Takes the cells of `changed`, which were touched after the generation `since`. A cell may be in `changed` twice.

    For a dead cell it notes the removal, unless no snapshot has ever taken the cell: then no file has it.
    """

    def __init__(self, generation: int, states: Sequence[StateMeta], since: int, changed: list[list[Cell]]) -> None:
        super().__init__(generation, states, delta=True)
        self._since = since
        self._changed = changed[::-1]
        self._position = 0

    def _claim(self, cells: Iterable[Cell]) -> list[Cell]:
        generation, since = self.generation, self._since
        claimed = []
        for cell in cells:
            if cell[SAVED] < generation and since < cell[GENERATION] <= generation:
                cell[SAVED] = generation
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
        due = self._claim(piece)
        if due:
            self._write([cell[GROUP] for cell in due], due)
        for cell in piece:
            if cell[GENERATION] == DEAD and NEVER_SAVED < cell[SAVED] < self.generation:
                cell[SAVED] = self.generation
                self._writer.remove(cell[GROUP], cell[KEY])
