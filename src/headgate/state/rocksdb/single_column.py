"""Cells with a single column of values: their rows are short, and most jobs have many of them.

The row of such a cell is the tag of the layout and the encoded value. `SingleColumn` makes cells of rows and rows of
cells in one loop each. The class of the same name in `headgate._native` does the same, compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final, final

from headgate.state.formats.codecs import Codec
from headgate.state.keyed.cells import FIRST, GENERATION, KEY, SAVED, Cell

PLAIN: Final = frozenset({int, str, bytes})
"""The types of keys whose names restore the same object."""


@final
class SingleColumn:
    """Makes cells of rows, and rows of cells."""

    def __init__(self, tag: bytes, codec: Codec) -> None:
        self._tag = tag
        self._codec = codec

    def cells(
        self, keys: list[Any], rows: list[bytes | None], generation: int, other: Callable[[Any, bytes, int], Cell], /
    ) -> list[Cell]:
        """Return new cells for keys, from their rows.

        `other` makes the cells of rows with another tag, and of keys that are not plain.
        """
        decode, tag = self._codec.decode, self._tag
        made = []
        for key, row in zip(keys, rows, strict=True):
            if row is None:
                made.append([generation, 0, None, key, None])
            elif row[:2] == tag and type(key) in PLAIN:
                made.append([generation, 0, None, key, decode(row[2:])])
            else:
                made.append(other(key, row, generation))
        return made

    def write(self, position: Iterator[Cell], into: dict[Any, bytes | None], /) -> tuple[int, int, list[Cell]]:
        """Put the rows of cells into a dict, and mark the cells as saved.

        Return the number of these rows, their total size in bytes, and the cells not written: those without a value,
        and those with keys that are not plain. Raises `SerializationError`: its cell is the last one
        that `position` has returned.
        """
        encode, tag = self._codec.encode, self._tag
        rows = size_bytes = 0
        others = []
        for cell in position:
            key, value = cell[KEY], cell[FIRST]
            if value is None or type(key) not in PLAIN:
                others.append(cell)
                continue
            into[key] = row = tag + encode(value)
            cell[SAVED] = cell[GENERATION]
            rows += 1
            size_bytes += len(row)
        return rows, size_bytes, others


def single_column(codec: Codec, tag: bytes, native: ModuleType | None) -> SingleColumn:
    """Return the loops of a layout with one column. They are compiled if the job runs compiled."""
    if native is None:
        return SingleColumn(tag, codec)
    compiled: SingleColumn = native.SingleColumn(tag, codec.scalar, codec.encode, codec.decode)
    return compiled
