"""A source of record batches that generators compute from the indexes of rows, as Flink's connector `datagen` does.

Random values are a function of the index of the row and of the seed of the generator. So a restored job, and another
parallelism, have the same rows. Only times depend on the clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.connectors.datagen import IndexReader, IndexSplit, index_splits
from headgate.connectors.rate import RateLimitedReader
from headgate.functions.source import Source, SourceContext, SourceReader

Generator = Callable[[Any], pa.Array]
"""Returns the values of the rows with these indexes, a numpy array of int64. Picklable."""


@final
class GeneratedColumnsSource(Source[IndexSplit]):
    """Rows with the indexes from 0, up to `count` of them or for ever, `rows_per_second` in all subtasks together."""

    watermarks_per_split = True

    def __init__(
        self, schema: pa.Schema, generators: Sequence[Generator], count: int | None, rows_per_second: float
    ) -> None:
        self._schema = schema
        self._generators = generators
        self._rows_per_second = rows_per_second
        self.records_total = count
        self.bounded = count is not None

    def splits(self, parallelism: int) -> list[IndexSplit]:
        return index_splits(parallelism, self.records_total)

    def split_id(self, split: IndexSplit) -> str:
        return split.name

    def reader(self, context: SourceContext) -> SourceReader[IndexSplit]:
        return RateLimitedReader(
            IndexReader(self._rows), context.monotonic_ms, self._rows_per_second / context.parallelism
        )

    def _rows(self, indexes: range) -> pa.RecordBatch:
        places = np.arange(indexes.start, indexes.stop, indexes.step)
        return pa.RecordBatch.from_arrays([generate(places) for generate in self._generators], schema=self._schema)


# --- random bits

_STEP: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB
_HEX: Final = np.frombuffer(b"0123456789abcdef", np.uint8)


def random_bits(indexes: Any, seed: str, words: int = 1) -> Any:
    """Return `words` random integers of 64 bits for each index: SplitMix64 of index, seed and place."""
    start = int.from_bytes(hashlib.blake2s(seed.encode(), digest_size=8).digest())
    places = np.arange(words, dtype=np.uint64)
    with np.errstate(over="ignore"):
        own = (indexes.astype(np.uint64)[:, None] * np.uint64(words) + places + np.uint64(1)) * np.uint64(_STEP)
        own += np.uint64(start)
        own = (own ^ (own >> np.uint64(30))) * np.uint64(_FIRST)
        own = (own ^ (own >> np.uint64(27))) * np.uint64(_SECOND)
        return own ^ (own >> np.uint64(31))


def _fractions(indexes: Any, seed: str) -> Any:
    """Return random numbers from 0 to below 1."""
    return (random_bits(indexes, seed)[:, 0] >> np.uint64(11)) * 2.0**-53


# --- generators, which `functools.partial` gives their settings


def sequence(start: int, kind: pa.DataType, indexes: Any) -> pa.Array:
    """Return consecutive integers."""
    made = pa.array(indexes + start, pa.int64())
    if pa.types.is_decimal(kind):
        made = made.cast(pa.decimal128(38, 0))  # Arrow casts integers to no shorter decimal
    return made.cast(kind)


def integers(seed: str, least: int, most: int, kind: pa.DataType, indexes: Any) -> pa.Array:
    """Return integers from `least` to `most`, both included."""
    bits = random_bits(indexes, seed)[:, 0]
    width = most - least + 1
    within = bits if width == 1 << 64 else bits % np.uint64(width)
    with np.errstate(over="ignore"):
        return pa.array((within + np.uint64(least % (1 << 64))).view(np.int64)).cast(kind)


def floats(seed: str, least: float, most: float, kind: pa.DataType, indexes: Any) -> pa.Array:
    """Return numbers from `least` to `most`."""
    share = _fractions(indexes, seed)
    return pa.array(least * (1 - share) + most * share).cast(kind, safe=False)


def decimals(seed: str, least: Decimal, most: Decimal, kind: pa.DataType, indexes: Any) -> pa.Array:
    """Return decimals from `least` to `most`, with about 15 random digits."""
    unit = Decimal(1).scaleb(-kind.scale)
    steps = int((most - least) / unit)
    shares = (random_bits(indexes, seed)[:, 0] >> np.uint64(11)).tolist()
    return pa.array([least + unit * ((steps + 1) * share >> 53) for share in shares], kind)


def booleans(seed: str, indexes: Any) -> pa.Array:
    """Return TRUE and FALSE."""
    return pa.array((random_bits(indexes, seed)[:, 0] & np.uint64(1)).astype(bool))


def texts(seed: str, length: int, varies: bool, indexes: Any) -> pa.Array:
    """Return hexadecimal texts of `length` characters, or of 1 to `length`."""
    return _packed(pa.string(), _HEX[_bytes(seed, length, indexes) & 15], _lengths(seed, length, varies, indexes))


def binaries(seed: str, length: int, varies: bool, indexes: Any) -> pa.Array:
    """Return `length` bytes, or 1 to `length`."""
    return _packed(pa.binary(), _bytes(seed, length, indexes), _lengths(seed, length, varies, indexes))


def _bytes(seed: str, length: int, indexes: Any) -> Any:
    return random_bits(indexes, seed, -(-length // 8)).view(np.uint8)[:, :length]


def _lengths(seed: str, length: int, varies: bool, indexes: Any) -> Any:
    if not varies:
        return np.full(len(indexes), length)
    return (random_bits(indexes, f"{seed} length")[:, 0] % np.uint64(length)).astype(np.int64) + 1


def _packed(kind: pa.DataType, values: Any, lengths: Any) -> pa.Array:
    """Return texts or bytes: the first bytes of each row of a matrix."""
    kept = values[np.arange(values.shape[1]) < lengths[:, None]]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.Array.from_buffers(kind, len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(kept.tobytes())])


def times(seed: str, past_ms: int, now_ms: Callable[[], int], kind: pa.DataType, indexes: Any) -> pa.Array:
    """Return dates, times of day or timestamps in UTC: now, or up to `past_ms` milliseconds ago."""
    ago = (_fractions(indexes, seed) * past_ms).astype(np.int64)
    return pa.array(now_ms() - ago).cast(pa.timestamp("ms")).cast(kind, safe=False)


def lists(element: Generator, length: int, kind: pa.DataType, indexes: Any) -> pa.Array:
    """Return lists of `length` elements."""
    inner = (indexes[:, None] * length + np.arange(length)).ravel()
    offsets = pa.array(np.arange(len(indexes) + 1) * length, pa.int32())
    return pa.ListArray.from_arrays(offsets, element(inner), type=kind)


def maps(key: Generator, value: Generator, length: int, kind: pa.DataType, indexes: Any) -> pa.Array:
    """Return maps with up to `length` keys; a key that is drawn again has its last value."""
    inner = (indexes[:, None] * length + np.arange(length)).ravel()
    pairs = zip(key(inner).to_pylist(), value(inner).to_pylist(), strict=True)
    rows = [dict(next(pairs) for _ in range(length)) for _ in indexes]
    return pa.array([list(own.items()) for own in rows], kind)


def rows(fields: Sequence[Generator], kind: pa.DataType, indexes: Any) -> pa.Array:
    """Return rows."""
    return pa.StructArray.from_arrays([own(indexes) for own in fields], fields=list(kind.fields))


def some(seed: str, null_rate: float, inner: Generator, indexes: Any) -> pa.Array:
    """Return values, NULL for a share `null_rate` of the rows."""
    kept = pa.array(_fractions(indexes, f"{seed} null") >= null_rate)
    return pc.if_else(kept, inner(indexes), None)
