"""Cells: the layout of keyed state in memory.

A cell holds the state of one operator for one key: `[generation, saved, key group, key, value of state 0, of state 1,
...]`. None means "no value". Each snapshot starts a new generation. `GENERATION` is the generation of the last access
to the cell, `SAVED` the generation of the last snapshot that took the cell. Both together tell whether a snapshot under
way, or the next increment, still needs the cell.

The state of a namespace, such as a window, has its own cell with the key `(NAMESPACED, key, namespace)`.

The cell index lists the cells of each key group in chunks. A snapshot can visit them in bounded pieces while keys are
added and removed.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final, NoReturn, final

from headgate.errors import StateAccessError
from headgate.types.typed_key import typed, untyped

Cell = list[Any]
Chunk = list[Cell]

GENERATION: Final = 0
SAVED: Final = 1
GROUP: Final = 2
KEY: Final = 3
FIRST: Final = 4
"""Index of the first state's value."""

DEAD: Final = sys.maxsize
"""The generation of a cell whose key has no state any more."""

NEVER_SAVED: Final = -1
"""The value of `SAVED` for a cell that no snapshot has taken and that was not restored."""

CHUNK_CELLS: Final = 1024


@final
class _Namespaced:
    """Marks the key of a cell that belongs to a namespace. A process has one instance."""

    __slots__ = ()

    def __reduce__(self) -> str:
        return "NAMESPACED"

    def __repr__(self) -> str:
        return "NAMESPACED"


NAMESPACED: Final = _Namespaced()


def plain_key(key: Any) -> Any:
    """Return the user's key for the key of a cell.

    >>> plain_key((NAMESPACED, "a", 60_000)), plain_key(("a", 1))
    ('a', ('a', 1))
    """
    return untyped(key[1] if type(key) is tuple and len(key) == 3 and key[0] is NAMESPACED else key)


def cell_key(key: Any) -> Any:
    """Return a key of a snapshot of any version as the key of a cell, in the form that lookups use."""
    if type(key) is tuple and len(key) == 3 and key[0] is NAMESPACED:
        return (NAMESPACED, typed(key[1]), key[2])
    return typed(key)


def namespace_of(key: Any) -> Any:
    """Return the namespace in the key of a cell, None if the key has no namespace."""
    return key[2] if type(key) is tuple and len(key) == 3 and key[0] is NAMESPACED else None


class NoCell(list[Any]):
    """The current cell when there is no current key: every access raises `StateAccessError`."""

    def __getitem__(self, index: Any) -> NoReturn:
        raise _no_key()

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise _no_key()


NO_CELL: Final = NoCell()


@final
class Current:
    """The cell of the current key, as handles, timers and the loops of operators share it.

    `cell` is `NO_CELL` if there is no current key. `emptied` is the list to which a handle adds a cell after setting a
    column of the cell to None.
    """

    __slots__ = ("cell", "emptied")

    def __init__(self, cell: Cell, emptied: list[Cell]) -> None:
        self.cell = cell
        self.emptied = emptied


def make_current(native: ModuleType | None, emptied: list[Cell]) -> Current:
    """Return a `Current` without a current key. The object is compiled if the job runs compiled."""
    made: Current = (Current if native is None else native.Current)(NO_CELL, emptied)
    return made


def _no_key() -> StateAccessError:
    return StateAccessError(
        "keyed state was used without a current key; read and write it only while a record is processed, or a timer "
        "fires, not in open() or close(); in process_broadcast_element(), by ctx.apply_to_keyed_state(...)"
    )


@final
class CellIndex:
    """The cells of a backend by key group, in chunks of at most `CHUNK_CELLS`."""

    __slots__ = ("_chunks", "_dead", "_open", "_sweep", "live")

    def __init__(self) -> None:
        self._chunks: dict[int, list[Chunk]] = {}
        self._open: dict[int, list[Chunk]] = {}
        self._dead = 0
        self._sweep: list[tuple[int, Chunk]] = []
        self.live = 0

    def add(self, cell: Cell) -> None:
        """Add a new cell."""
        group = cell[GROUP]
        room = self._open.get(group)
        if not room:
            chunk: Chunk = []
            self._chunks.setdefault(group, []).append(chunk)
            room = self._open[group] = [chunk]
        chunk = room[-1]
        chunk.append(cell)
        if len(chunk) >= CHUNK_CELLS:
            room.pop()
        self.live += 1

    def bury(self, cell: Cell) -> None:
        """Mark a cell as dead. A later `tidy` removes it from its chunk."""
        cell[GENERATION] = DEAD
        self.live -= 1
        self._dead += 1

    def tidy(self) -> None:
        """Remove dead cells from some chunks, if there are many dead cells.

        The work of one call is bounded, but grows with the number of dead cells. So dead cells cannot accumulate,
        however many keys are added and removed between two calls.
        """
        if not self._sweep and self._dead <= self.live + CHUNK_CELLS:
            return
        room = max(2 * CHUNK_CELLS, self._dead // 8)
        self._sweep = self._sweep or self.chunks()
        while self._sweep and room > 0:
            group, chunk = self._sweep.pop()
            room -= max(len(chunk), 32)
            self._clear(group, chunk)

    def _clear(self, group: int, chunk: Chunk) -> None:
        before = len(chunk)
        chunk[:] = [cell for cell in chunk if cell[GENERATION] != DEAD]
        self._dead -= before - len(chunk)
        if before >= CHUNK_CELLS and len(chunk) < CHUNK_CELLS:
            self._open.setdefault(group, []).append(chunk)

    def chunks(self) -> list[tuple[int, Chunk]]:
        """Return all chunks with their key groups, ordered by key group."""
        return [(group, chunk) for group in sorted(self._chunks) for chunk in self._chunks[group]]

    def cells(self) -> list[Cell]:
        """Return all live cells."""
        return [cell for _, chunk in self.chunks() for cell in chunk if cell[GENERATION] != DEAD]
