"""How a CAST converts columns: a function that tells which values it could not convert."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Converted = tuple[pa.Array, pa.Array | None]
"""The new values, and whether each could not be converted; None if all could."""

Convert = Callable[[pa.Array], Converted]
"""Converts a column. It is a function of a module, or a partial of one, as a kernel is."""


@final
@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversion between two types. `fails` tells that some values cannot be converted.

    `nulls` tells that a value that can be converted may become NULL, as a DECIMAL with too many digits does.
    """

    convert: Convert
    fails: bool = False
    nulls: bool = False


def always(compute: Callable[[pa.Array], pa.Array], values: pa.Array) -> Converted:
    """Convert with a function that can convert every value."""
    return compute(values), None


def null_if_failed(compute: Callable[[pa.Array], pa.Array], values: pa.Array) -> Converted:
    """Convert with a function that returns NULL for what it cannot convert."""
    made = compute(values)
    if made.null_count == values.null_count:
        return made, None
    return made, pc.and_(pc.is_valid(values), pc.is_null(made))


def read_by_arrow(texts: pa.Array, kind: pa.DataType, *, unless: bytes = b"") -> pa.Array | None:
    """Return what Arrow reads from texts, which is fast; None if one is in no form that Arrow reads.

    None too if a text has one of the characters `unless`: Arrow reads more than Flink there.
    """
    if unless:
        first, last = (texts.offset + at for at in (0, len(texts)))
        offsets = np.frombuffer(texts.buffers()[1], np.int32)[[first, last]]
        data = texts.buffers()[2]
        used = b"" if data is None else data[int(offsets[0]) : int(offsets[1])].to_pybytes()
        if any(bytes([character]) in used for character in unless):
            return None
    try:
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return None
