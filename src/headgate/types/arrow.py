"""Arrow record batches: from rows and to rows, and as bytes for a channel.

`headgate.types.arrow_types` says which column each type becomes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from headgate.errors import SerializationError
from headgate.types.arrow_columns import WrongValueError, column_of, fields_of_record
from headgate.types.arrow_types import SINGLE_COLUMN, arrow_schema, arrow_type, type_of_arrow, type_of_schema
from headgate.types.arrow_values import values_of
from headgate.types.row import Row, make_rows

__all__ = [
    "SINGLE_COLUMN",
    "arrow_schema",
    "arrow_type",
    "batch_from_rows",
    "rows_from_batch",
    "type_of_arrow",
    "type_of_schema",
]


def rows_from_batch(batch: pa.RecordBatch) -> list[Row]:
    """Return the batch as rows with the columns' names; structs within it are rows, too.

    Raises SerializationError naming the column with a value that Python cannot hold, such as the year 10000.
    """
    names = tuple(batch.schema.names)
    columns = [_values(name, column) for name, column in zip(names, batch.columns, strict=True)]
    values = zip(*columns, strict=True) if columns else itertools.repeat((), batch.num_rows)
    return make_rows(values, names)


def _values(name: str, column: pa.Array) -> list[Any]:
    try:
        return values_of(column)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise SerializationError(
            f"column {name!r}, which is {column.type}, has a value that Python cannot hold: {error}"
        ) from error


def batch_from_rows(records: Sequence[Any], schema: pa.Schema) -> pa.RecordBatch:
    """Return records as a batch of columns: rows, tuples or lists, dicts, or plain values when there is one column.

    A dict or a row with names is read by name, any other record by position; the same holds for records within a
    column. Raises SerializationError naming the column, with the path within it, and the record when a value does not
    fit the schema.
    """
    columns = _columns(records, schema.names)
    arrays = [_array(column, field, records) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns(records: Sequence[Any], names: list[str]) -> list[list[Any]]:
    wanted = tuple(names)
    rows = [fields_of_record(record, wanted) for record in records]
    if not rows:
        return [[] for _ in names]
    if any(len(row) != len(names) for row in rows):
        raise _wrong_width(records, rows, wanted)
    return [list(column) for column in zip(*rows, strict=True)]


def _wrong_width(records: Sequence[Any], rows: Sequence[Sequence[Any]], names: tuple[str, ...]) -> SerializationError:
    culprit = next(record for record, row in zip(records, rows, strict=True) if len(row) != len(names))
    return SerializationError(
        f"the record {culprit!r} does not have the {len(names)} fields of the schema: {', '.join(map(repr, names))}"
    )


def _array(column: list[Any], field: pa.Field, records: Sequence[Any]) -> pa.Array:
    try:
        return column_of(column, field, field.name)
    except WrongValueError as error:
        raise _wrong_value(column, field, records, error) from error


def _wrong_value(
    column: list[Any], field: pa.Field, records: Sequence[Any], error: WrongValueError
) -> SerializationError:
    for value, record in zip(column, records, strict=True):
        try:
            column_of([value], field, field.name)
        except WrongValueError as own:
            return SerializationError(f"{own}; the record is {record!r}")
    return SerializationError(str(error))


TIMESTAMP: Final = "headgate:timestamp"
"""The name of the column of event times in a stream."""


def stream_of(columns: pa.RecordBatch, timestamps: list[int] | None) -> bytes:
    """Return an Arrow IPC stream of one record batch, with the event times in milliseconds, if any, as its last column.

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
    """Return the columns and the event times of an Arrow IPC stream. Raises ArrowInvalid for other bytes."""
    columns = pa.ipc.open_stream(pa.py_buffer(stream)).read_next_batch()
    last = columns.num_columns - 1
    if last < 0 or columns.schema.names[last] != TIMESTAMP:
        return columns, None
    own = pa.RecordBatch.from_arrays(columns.columns[:last], schema=columns.schema.remove(last))
    return own, columns.column(last).to_pylist()


def concatenated(one: pa.RecordBatch, other: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of two batches of the same schema as one batch."""
    arrays = [pa.concat_arrays(pair) for pair in zip(one.columns, other.columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=one.schema)


def compacted(columns: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows in memory of their own, if they are less than half of what they keep in memory.

    A slice keeps the whole batch. The copies of all slices that a batch is cut into are as large as the batch.

    >>> whole = pa.RecordBatch.from_pydict({"n": range(1000)})
    >>> [own.get_total_buffer_size() for own in (whole, whole.slice(0, 10), compacted(whole.slice(0, 10)))]
    [8000, 8000, 80]
    """
    if 2 * columns.nbytes >= columns.get_total_buffer_size():
        return columns
    return pa.RecordBatch.from_arrays([pa.concat_arrays([own]) for own in columns.columns], schema=columns.schema)


def taken(columns: pa.RecordBatch, positions: list[int]) -> pa.RecordBatch:
    """Return the rows at these positions."""
    return columns.take(pa.array(positions, pa.int64()))
