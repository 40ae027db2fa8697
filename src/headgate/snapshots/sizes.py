"""Sizes of states: the share of each state in the bytes of an operator's keyed state.

The files of an operator hold a key's values of all states side by side, so the size of one state is not stored. It is
estimated from the pickled size of its values, plus an equal share of each key, which all states of a cell have in
common. In a canonical savepoint, each state has its own files.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, final

from headgate.snapshots.stand_ins import is_stand_in
from headgate.state.canonical.reader import CanonicalFile
from headgate.state.formats.snapshot import VALUES, Entry
from headgate.state.keyed.cells import CHUNK_CELLS
from headgate.state.keyed.saved_files import SavedFile

_AROUND: Final = len(pickle.dumps([None, None], 5)) - 2
"""The bytes of a pickled list besides its elements."""


@final
@dataclass(slots=True)
class Amount:
    """The number and the size of entries that were read. `is_known` is False if an object had lost its content."""

    entries: int = 0
    size: float = 0.0
    is_known: bool = True

    def add(self, other: Amount) -> None:
        """Add another amount of the same state."""
        self.entries += other.entries
        self.size += other.size
        self.is_known = self.is_known and other.is_known


def amounts(file: SavedFile, groups: range) -> list[Amount]:
    """Return the amount of each state of a file in these key groups; for a canonical file, in all groups. Blocks."""
    if isinstance(file, CanonicalFile):
        return [Amount(file.rows, file.size_bytes)]
    found = [Amount() for _ in file.states]
    entries = file.entries(groups)
    while cells := list(islice(entries, CHUNK_CELLS)):
        for amount, more in zip(found, _of_cells(cells, len(found)), strict=True):
            amount.add(more)
    return found


def shared_out(size_bytes: int, found: Mapping[str, Amount]) -> dict[str, int | None]:
    """Return the bytes of each state, which add up to `size_bytes`; None if they are unknown.

    >>> shared_out(1000, {"large": Amount(5, 30.0), "small": Amount(5, 10.0)})
    {'large': 750, 'small': 250}
    >>> shared_out(1000, {"only": Amount(5, 30.0, is_known=False)})
    {'only': 1000}
    """
    if len(found) == 1:
        return dict.fromkeys(found, size_bytes)
    total = sum(amount.size for amount in found.values())
    if not total or not all(amount.is_known for amount in found.values()):
        return dict.fromkeys(found)
    return {name: round(size_bytes * amount.size / total) for name, amount in found.items()}


def _of_cells(cells: list[Entry], states: int) -> Iterator[Amount]:
    key_size = _pickled([cell[1] for cell in cells]).size / len(cells)
    values: list[list[Any]] = [[] for _ in range(states)]
    keys = [0.0] * states
    for cell in cells:
        present = [at for at, value in enumerate(cell[VALUES:]) if value is not None]
        for at in present:
            values[at].append(cell[VALUES + at])
            keys[at] += 1 / len(present)
    for own, parts in zip(values, keys, strict=True):
        amount = _pickled(own) if own else Amount()
        amount.size += parts * key_size
        yield amount


def _pickled(values: list[Any]) -> Amount:
    """Return the size of values that are pickled together. Only a part of the pickle is in memory."""
    counter = _Counter()
    pickler = _Pickler(counter, 5)
    pickler.dump(values)
    return Amount(len(values), counter.size - _AROUND, pickler.is_whole)


@final
class _Counter:
    """A file that only counts its bytes."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, data: Any) -> int:
        self.size += len(data)
        return len(data)


@final
class _Pickler(pickle.Pickler):
    """Notes whether the objects contain a stand-in, because the original object was larger."""

    is_whole = True

    def reducer_override(self, obj: Any) -> Any:
        self.is_whole = self.is_whole and not is_stand_in(obj)
        return NotImplemented
