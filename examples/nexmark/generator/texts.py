"""Random texts, a column at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from generator.draws import Draws, Longs

_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
_LENGTH_MIN = 3
_OTHERS = 13  # one character of so many is no letter


def letters(draws: Draws, lengths: Longs) -> pa.StringArray:
    """Return texts of letters with these lengths."""
    return _texts(_characters(draws, int(lengths.max(initial=0)), _LETTERS), lengths)


def words(draws: Draws, limit: int, other: bytes = b" ") -> pa.StringArray:
    """Return texts of three to below `limit` characters, letters and the `other` one, without blanks at the ends."""
    alphabet = np.concatenate([np.full(len(_LETTERS), other[0], np.uint8), np.tile(_LETTERS, _OTHERS - 1)])
    lengths = _LENGTH_MIN + draws.below(limit - _LENGTH_MIN)
    return pc.utf8_trim_whitespace(_texts(_characters(draws, limit - 1, alphabet), lengths))


def joined(*parts: Any) -> pa.StringArray:
    """Return the columns and constant texts, one behind the other."""
    return pc.binary_join_element_wise(*parts, "")


def extra(draws: Draws, sizes: Longs, size_mean: int) -> pa.StringArray:
    """Return texts that bring events of these sizes, in bytes, up to the mean, give or take a fifth of what lacks."""
    lacking = np.maximum(size_mean - sizes, 0)
    spread = np.rint(lacking * 0.2).astype(np.int64)
    return letters(draws, lacking - spread + draws.below(np.maximum(2 * spread, 1)))


def lengths_of(*columns: pa.StringArray) -> Longs:
    """Return how many characters the columns have together, for each event."""
    lengths: Longs = np.sum([pc.utf8_length(column).to_numpy() for column in columns], axis=0, dtype=np.int64)
    return lengths


def _characters(draws: Draws, count: int, alphabet: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    in_word = int(63 / math.log2(len(alphabet)))
    found = np.empty((len(draws), count), np.uint8)
    for first in range(0, count, in_word):
        words = draws.words()
        for place in range(first, min(first + in_word, count)):
            words, digits = np.divmod(words, np.uint64(len(alphabet)))
            found[:, place] = alphabet[digits]
    return found


def _texts(characters: npt.NDArray[np.uint8], lengths: Longs) -> pa.StringArray:
    kept = characters[np.arange(characters.shape[1]) < lengths[:, None]]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(kept))
