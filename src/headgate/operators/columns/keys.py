"""Keys of columns as Python values that are equal where SQL's values are, and back.

Floating numbers and times become the numbers that hold their bits: in SQL, NaN equals NaN, 0.0 equals -0.0, and a time
may have nanoseconds. NULL is None, and one key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.operators.base import UserCodeError
from headgate.types.arrow import rows_from_batch


def groupable(column: pa.Array, *, exact: bool = False) -> pa.Array:
    """Return numbers that are equal where SQL's values are: NaN equals NaN, and, unless `exact`, 0.0 equals -0.0."""
    kind = column.type
    if pa.types.is_floating(kind) and exact:
        return column.view(pa.int64() if pa.types.is_float64(kind) else pa.int32())
    if pa.types.is_floating(kind):
        plain = pc.add(column, pa.scalar(0.0, kind))
        one_nan = pc.if_else(pc.is_nan(plain), pa.scalar(float("nan"), kind), plain)
        return one_nan.view(pa.int64() if pa.types.is_float64(kind) else pa.int32())
    if pa.types.is_date(kind) or pa.types.is_time32(kind):
        return column.view(pa.int32())
    if pa.types.is_temporal(kind):
        return column.view(pa.int64())
    return column


def sortable(column: pa.Array) -> pa.Array:
    """Return values that sort as those of the column do in SQL, in which NaN is the greatest number."""
    numbers = groupable(column)
    if not pa.types.is_floating(column.type):
        return numbers
    bits = numbers.cast(pa.int64())
    smallest = pa.scalar(-(2 ** (column.type.bit_width - 1)), pa.int64())
    return pc.if_else(pc.less(bits, 0), pc.subtract(pc.subtract(smallest, bits), 1), bits)


def check_times(times: pa.Array, rows: pa.RecordBatch, before: str) -> None:
    """Raise `UserCodeError` naming the first of the rows whose event time is NULL, and the operation that needs it."""
    if times.null_count:
        row: int = pc.index(times.is_null(), True).as_py()  # a value, no flag
        raise UserCodeError(record=rows_from_batch(rows.slice(row, 1))[0]) from ValueError(
            f"the event time of a row is NULL: give it a value, or drop such rows before {before}"
        )


def keys_of(columns: Sequence[Any], rows: int) -> list[Any]:
    """Return the key of each row, of columns that `groupable` has made: a value, or a tuple of the values of several.

    Without columns, all rows have one key.
    """
    values = [column.to_pylist() for column in columns]
    if len(values) > 1:
        return list(zip(*values, strict=True))
    return values[0] if values else [0] * rows


def column_of_keys(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return the column of values of which `groupable` has made numbers."""
    if pa.types.is_floating(kind) or pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)  # bits
    return pa.array(values, kind)


def rows_of(columns: Sequence[Any], rows: int) -> list[tuple[Any, ...]]:
    """Return the values of each row, of which `columns_of_rows` makes the same columns."""
    values = [groupable(column, exact=True).to_pylist() for column in columns]
    return list(zip(*values, strict=True)) if values else [()] * rows


def columns_of_rows(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """Return the columns of rows, which `rows_of` has made. The schema has at least one column."""
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    made = [column_of_keys(own, field.type) for own, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(made, schema=schema)
