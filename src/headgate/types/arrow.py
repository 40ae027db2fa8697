"""Arrow and records: batches of columns as rows, and records as batches of columns.

`headgate.types.arrow_types` says which column each type becomes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

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
