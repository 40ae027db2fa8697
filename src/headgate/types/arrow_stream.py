"""A batch of columns as bytes: an Arrow IPC stream of one record batch, with event times as its last column."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

TIMESTAMP: Final = "headgate:timestamp"
"""The name of the last column of a stream, if there are event times."""


def stream_of(columns: pa.RecordBatch, timestamps: list[int] | None) -> bytes:
    """Return the columns, and the event times in milliseconds where there are some, as a stream.

    >>> of_stream(stream_of(pa.RecordBatch.from_pydict({"n": [1, 2]}), [10, 20]))[1]
    [10, 20]
    """
    if timestamps is not None:
        times = pa.array(timestamps, pa.int64())
        schema = columns.schema.append(pa.field(TIMESTAMP, pa.int64()))
        columns = pa.RecordBatch.from_arrays([*columns.columns, times], schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, columns.schema) as writer:
        writer.write_batch(columns)
    return bytes(sink.getvalue())


def of_stream(stream: bytes | memoryview) -> tuple[pa.RecordBatch, list[int] | None]:
    """Return the columns and event times of a stream. Raises ArrowInvalid for bytes that are not a stream."""
    columns = pa.ipc.open_stream(pa.py_buffer(stream)).read_next_batch()
    last = columns.num_columns - 1
    if last < 0 or columns.schema.names[last] != TIMESTAMP:
        return columns, None
    own = pa.RecordBatch.from_arrays(columns.columns[:last], schema=columns.schema.remove(last))
    return own, columns.column(last).to_pylist()


def concatenated(one: pa.RecordBatch, other: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of both, which have the same schema, as one batch."""
    arrays = [pa.concat_arrays(pair) for pair in zip(one.columns, other.columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=one.schema)


def taken(columns: pa.RecordBatch, positions: list[int]) -> pa.RecordBatch:
    """Return the rows at these positions."""
    return columns.take(pa.array(positions, pa.int64()))
