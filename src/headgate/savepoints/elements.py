"""Elements: lists of objects as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headgate.state.canonical.layout import pickle_of, refined_type
from headgate.state.canonical.pairs import ColumnPair
from headgate.types.typeinfo import TypeInformation


def element_table(types: Mapping[str, TypeInformation], columns: list[list[Any]]) -> pa.Table:
    """Return a table with a column for each type, and one with pickles where that does not show all values exactly.

    >>> from headgate.types.typeinfo import Types
    >>> element_table({"value": Types.LONG()}, [[1, 2]])["value"].to_pylist()
    [1, 2]
    """
    arrays: dict[str, pa.Array] = {}
    for (name, declared), values in zip(types.items(), columns, strict=True):
        pair = ColumnPair(name, refined_type(declared, values))
        for value in values:
            pair.add(value, value)
        taken = pair.take()
        exact = taken.pop(pickle_of(name))
        arrays |= taken if exact.null_count == len(exact) else {**taken, pickle_of(name): exact}
    return pa.table(arrays)
