"""The key groups of the values of an Arrow column. As Python objects, the values have the same key groups.

A dictionary-encoded column has the key groups of its values. `docs/reference/key-hash.md` describes hash codes and key
groups.
"""

from __future__ import annotations

from types import ModuleType
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.errors import SerializationError
from headgate.state.keygroups import key_group
from headgate.types.keys import hash_code

_TEXTS: Final = {
    pa.string().id: ("s", 4),
    pa.large_string().id: ("s", 8),
    pa.binary().id: ("b", 4),
    pa.large_binary().id: ("b", 8),
}
"""The first canonical byte of values, and the bytes of each offset, by the number of the type."""


def column_groups(column: pa.Array | pa.ChunkedArray, max_parallelism: int, native: ModuleType | None) -> pa.Array:
    """Return the key group of each value as an int32 column without nulls: null has the key group of None.

    Compiled for integers, booleans, strings and bytes; other values become Python objects. Raises `SerializationError`
    for a value that cannot be a key.

    >>> column_groups(pa.array(["a", "b", None]), 128, None).to_pylist()
    [75, 114, 11]
    """
    if isinstance(column, pa.ChunkedArray):
        pieces = [column_groups(chunk, max_parallelism, native) for chunk in column.chunks]
        return pa.concat_arrays(pieces) if pieces else pa.array([], pa.int32())
    if isinstance(column, pa.DictionaryArray):
        try:
            of_value = column_groups(column.dictionary, max_parallelism, native)
        except SerializationError:  # of a value that the column may not have
            return column_groups(column.dictionary_decode(), max_parallelism, native)
        return pc.fill_null(of_value.take(column.indices), key_group(hash_code(None), max_parallelism))
    kind = column.type
    if native is not None and kind.id in _TEXTS:
        letter, width = _TEXTS[kind.id]
        validity, sizes, data = column.buffers()
        return _groups(native.column_groups(letter, width, validity, sizes, data, *_range(column), max_parallelism))
    if native is not None and (pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and kind != pa.uint64())):
        validity, data = (numbers := column.cast(pa.int64())).buffers()
        return _groups(native.column_groups("i", 0, validity, None, data, *_range(numbers), max_parallelism))
    return pa.array([key_group(hash_code(value), max_parallelism) for value in column.to_pylist()], pa.int32())


def _range(column: pa.Array) -> tuple[int, int]:
    return column.offset, len(column)


def _groups(groups: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.int32(), len(groups) // 4, [None, pa.py_buffer(groups)])
