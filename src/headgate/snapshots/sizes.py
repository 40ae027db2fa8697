"""Sizes of states: how the bytes of an operator's keyed state are shared out among its states.

The files of an operator hold a key's values of all states side by side, so what a state has of them cannot be read off.
It is taken to be as large, beside the others, as its entries are when they are pickled: each value, and of the key,
which all states of a cell share, an equal part. Of a canonical savepoint each state has files of its own.
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
from headgate.state.keyed.loading import SavedFile

_AROUND: Final = len(pickle.dumps([None, None], 5)) - 2
"""What a pickled list has around its elements."""


@final
@dataclass(slots=True)
class Amount:
    """How many entries of a state were read, and how large they are; `is_known`: none had lost what it held."""

    entries: int = 0
    size: float = 0.0
    is_known: bool = True

    def add(self, other: Amount) -> None:
        """Count another amount of the same state as well."""
        self.entries += other.entries
        self.size += other.size
        self.is_known = self.is_known and other.is_known


def amounts(file: SavedFile, groups: range) -> list[Amount]:
    """Return how much a file has of each of its states, in these key groups; of a canonical file, in all. Blocks."""
    if isinstance(file, CanonicalFile):
        return [Amount(file.rows, file.size_bytes)]
    found = [Amount() for _ in file.states]
    entries = file.entries(groups)
    while cells := list(islice(entries, CHUNK_CELLS)):
        for amount, more in zip(found, _of_cells(cells, len(found)), strict=True):
            amount.add(more)
    return found


def shared_out(size_bytes: int, found: Mapping[str, Amount]) -> dict[str, int | None]:
    """Return the bytes of each state, which together are `size_bytes`; None where they cannot be told.

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
    """Return how large values are together in a frame of a file; no more than a part of that is in memory."""
    counter = _Counter()
    pickler = _Pickler(counter, 5)
    pickler.dump(values)
    return Amount(len(values), counter.size - _AROUND, pickler.is_whole)


@final
class _Counter:
    """A file that keeps nothing but its size."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, data: Any) -> int:
        self.size += len(data)
        return len(data)


@final
class _Pickler(pickle.Pickler):
    """Notes whether there is a stand-in among the objects: what it stands for was larger."""

    is_whole = True

    def reducer_override(self, obj: Any) -> Any:
        self.is_whole = self.is_whole and not is_stand_in(obj)
        return NotImplemented
