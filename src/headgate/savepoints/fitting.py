"""Fitting: rows of one part of a table become rows of the table's columns, or are refused."""

from __future__ import annotations

import pyarrow as pa

from headgate.errors import RestoreError
from headgate.state.canonical.layout import NAMESPACE, pickle_of

_MAY_LACK = (NAMESPACE, pickle_of(NAMESPACE))


def fitted(batch: pa.RecordBatch, schema: pa.Schema, where: str) -> pa.RecordBatch:
    """Return the columns of a schema, which may leave some out. No value is changed.

    Raises `RestoreError` naming the column and `where`, when there is none of this name, or its values are of another
    type.
    """
    return pa.RecordBatch.from_arrays([_column(batch, field, where) for field in schema], schema=schema)


def _column(batch: pa.RecordBatch, field: pa.Field, where: str) -> pa.Array:
    if field.name not in batch.schema.names and field.name in _MAY_LACK:
        return pa.nulls(batch.num_rows, field.type)
    if field.name not in batch.schema.names:
        raise RestoreError(f"there is no column {field.name!r} in {where}; there are: {', '.join(batch.schema.names)}")
    column = batch.column(field.name)
    if column.null_count == len(column):
        return pa.nulls(len(column), field.type)
    if _plain(column.type) != _plain(field.type):
        raise RestoreError(
            f"column {field.name!r} is {column.type} in {where}, but {field.type} in the table: it is of several "
            "types, or the schema that was given is wrong. Give a schema with this type, or without this column, or "
            "read the state with SavepointReader"
        )
    return column.cast(field.type)


def _plain(data_type: pa.DataType) -> pa.DataType:
    """Return a type with the usual names of the fields within lists and maps, which tell nothing."""
    is_a = pa.types
    if is_a.is_list(data_type):
        return pa.list_(_plain(data_type.value_type))
    if is_a.is_map(data_type):
        return pa.map_(_plain(data_type.key_type), _plain(data_type.item_type))
    if is_a.is_struct(data_type):
        return pa.struct([(field.name, _plain(field.type)) for field in data_type.fields])
    return data_type
