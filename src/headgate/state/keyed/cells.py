"""Cells: how keyed state lies in memory.

A cell holds everything one operator knows of one key: `[generation, saved, key group, key, value of state 0, of state
1, ...]`. None stands for "no value". The generation counts snapshots: `GENERATION` is the last one in which the cell
was touched, `SAVED` the last snapshot that took it, so that a comparison tells whether a running snapshot still needs
the cell as it is, and whether an increment needs it at all.

State of a namespace (of a window) lies in a cell of its own, whose key is `(NAMESPACED, key, namespace)`.

The cell index lists the cells of each key group in chunks, so that a snapshot finds them in bounded pieces while keys
come and go.
"""

from __future__ import annotations

import sys
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
"""Generation of a cell whose key has no state any more."""

NEVER_SAVED: Final = -1
"""In the place of `SAVED`, while no snapshot has taken the cell, nor was it restored from one."""

CHUNK_CELLS: Final = 1024


@final
class _Namespaced:
    """Marks the key of a cell that belongs to a namespace. There is one, in every process."""

    __slots__ = ()

    def __reduce__(self) -> str:
        return "NAMESPACED"

    def __repr__(self) -> str:
        return "NAMESPACED"


NAMESPACED: Final = _Namespaced()


def plain_key(key: Any) -> Any:
    """Return the user's key that the key of a cell stands for.

    >>> plain_key((NAMESPACED, "a", 60_000)), plain_key(("a", 1))
    ('a', ('a', 1))
    """
    return untyped(key[1] if type(key) is tuple and len(key) == 3 and key[0] is NAMESPACED else key)


def cell_key(key: Any) -> Any:
    """Return a key of a snapshot, perhaps an old one's, as the key of a cell: the user's key as it is looked up."""
    if type(key) is tuple and len(key) == 3 and key[0] is NAMESPACED:
        return (NAMESPACED, typed(key[1]), key[2])
    return typed(key)


def namespace_of(key: Any) -> Any:
    """Return the namespace that the key of a cell belongs to, None when it belongs to none."""
    return key[2] if type(key) is tuple and len(key) == 3 and key[0] is NAMESPACED else None


class NoCell(list[Any]):
    """Stands for the current cell where there is no current key: every access is an error."""

    def __getitem__(self, index: Any) -> NoReturn:
        raise _no_key()

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise _no_key()


NO_CELL: Final = NoCell()


def _no_key() -> StateAccessError:
    return StateAccessError(
        "keyed state was used without a current key; read and write it only while a record is processed, or a timer "
        "fires, not in open() or close(); in process_broadcast_element(), by ctx.apply_to_keyed_state(...)"
    )


@final
class CellIndex:
    """The cells of a backend, by key group, in chunks of at most `CHUNK_CELLS`."""

    __slots__ = ("_chunks", "_dead", "_open", "_sweep", "live")

    def __init__(self) -> None:
        self._chunks: dict[int, list[Chunk]] = {}
        self._open: dict[int, list[Chunk]] = {}
        self._dead = 0
        self._sweep: list[tuple[int, Chunk]] = []
        self.live = 0

    def add(self, cell: Cell) -> None:
        """List a new cell."""
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
        """Mark a listed cell as dead; it leaves its chunk in a later `tidy`."""
        cell[GENERATION] = DEAD
        self.live -= 1
        self._dead += 1

    def tidy(self) -> None:
        """Clear the dead out of some chunks, if there are many dead.

        A piece of work: bounded, but growing with the number of the dead, so that they cannot pile up however many keys
        come and go between two calls.
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
        """Return all chunks with their key groups, in the order of the groups."""
        return [(group, chunk) for group in sorted(self._chunks) for chunk in self._chunks[group]]

    def cells(self) -> list[Cell]:
        """Return all live cells."""
        return [cell for _, chunk in self.chunks() for cell in chunk if cell[GENERATION] != DEAD]
