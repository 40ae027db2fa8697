"""Columns of texts as numpy arrays: of their bytes, and of their code points."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def bytes_of(value: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of a column of texts or bytes, one value after the other, and where each begins and ends.

    >>> data, ends = bytes_of(pa.array(["ab", None, "c"]))
    >>> data.tobytes(), ends.tolist()
    (b'abc', [0, 2, 2, 3])
    """
    _, places, data = value.buffers()
    ends = np.frombuffer(places or bytes(4), np.int32, len(value) + 1, value.offset * 4 if places else 0)
    return np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]], ends - ends[0]


def column_of_bytes(data: np.ndarray, ends: np.ndarray, like: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the column of type string or binary that `bytes_of` describes, with NULL where `like` has it."""
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data))]
    made = pa.Array.from_buffers(kind, len(ends) - 1, buffers)
    return pc.if_else(like.is_valid(), made, None) if like.null_count else made


def characters_before(value: pa.Array, places: np.ndarray) -> np.ndarray:
    """Return how many code points of each text are before a byte of it."""
    data, ends = bytes_of(value)
    if is_ascii(data):
        return places
    before = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)])  # others go on a code point
    found: np.ndarray = before[ends[:-1] + places] - before[ends[:-1]]
    return found


def is_ascii(data: np.ndarray) -> bool:
    """Whether no byte is above 127, so that bytes are characters."""
    return len(data) == 0 or bool(data.max() < 0x80)


def code_points(value: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the code points of a column of texts, and where each text begins and ends among them.

    >>> points, ends = code_points(pa.array(["é€", "a"]))
    >>> points.tolist(), ends.tolist()
    ([233, 8364, 97], [0, 2, 3])
    """
    data, ends = bytes_of(value)
    if is_ascii(data):
        return data.astype(np.uint32), ends
    points = np.frombuffer(data.tobytes().decode().encode("utf-32-le"), np.uint32)
    before = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)])
    return points, before[ends]


def column_of_code_points(points: np.ndarray, ends: np.ndarray, like: pa.Array) -> pa.Array:
    """Return the column of texts that `code_points` describes, with NULL where `like` has it."""
    if len(points) == 0 or points.max() < 0x80:
        return column_of_bytes(points.astype(np.uint8), ends, like, pa.string())
    data = np.frombuffer(points.astype("<u4").tobytes().decode("utf-32-le").encode(), np.uint8)
    widths = 1 + (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)
    before = np.concatenate([[0], np.cumsum(widths)])
    return column_of_bytes(data, before[ends], like, pa.string())


def replaced_bytes(value: pa.Array, by: np.ndarray, widths: np.ndarray) -> pa.Array:
    """Return the texts with each byte replaced: byte b by the first `widths[b]` bytes of the row `by[b]`."""
    data, ends = bytes_of(value)
    before = np.concatenate([[0], np.cumsum(widths[data])])
    return column_of_bytes(rows_of_bytes(by[data], widths[data]), before[ends], value, pa.string())


def rows_of_bytes(rows: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Return the first `widths` bytes of each row, one after the other."""
    ends = np.cumsum(widths)
    made = np.empty(ends[-1] if len(ends) else 0, np.uint8)
    starts = ends - widths
    for place in range(rows.shape[1]):
        has = widths > place
        made[starts[has] + place] = rows[has, place]
    return made
