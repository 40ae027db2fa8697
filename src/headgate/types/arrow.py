"""Arrow and records: type information as Arrow schemas, batches of columns as rows, and both ways back.

Flat types only: a column holds numbers, text, bytes, dates and times, no lists, maps or rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from headgate.errors import ProgramError, SerializationError
from headgate.types.instant import Instant
from headgate.types.row import Row, make_row
from headgate.types.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

SINGLE_COLUMN: Final = "value"
"""Name of the column of a schema made from a type that has no fields."""

_ARROW: Final[dict[TypeInformation, pa.DataType]] = {
    BasicTypeInfo(BasicType.STRING): pa.string(),
    BasicTypeInfo(BasicType.CHAR): pa.string(),
    BasicTypeInfo(BasicType.BOOLEAN): pa.bool_(),
    BasicTypeInfo(BasicType.BYTE): pa.int8(),
    BasicTypeInfo(BasicType.SHORT): pa.int16(),
    BasicTypeInfo(BasicType.INT): pa.int32(),
    BasicTypeInfo(BasicType.LONG): pa.int64(),
    BasicTypeInfo(BasicType.FLOAT): pa.float32(),
    BasicTypeInfo(BasicType.DOUBLE): pa.float64(),
    BasicTypeInfo(BasicType.BIG_INT): pa.decimal128(38, 0),
    BasicTypeInfo(BasicType.BIG_DEC): pa.decimal128(38, 18),
    Types.INSTANT(): pa.timestamp("ns", tz="UTC"),
    DateTypeInfo(): pa.date32(),
    TimeTypeInfo(): pa.time64("us"),
    TimestampTypeInfo(): pa.timestamp("us"),
    PrimitiveArrayTypeInfo(BasicTypeInfo(BasicType.BYTE)): pa.binary(),
}

# Unsigned integers go to the next wider type, so that every value fits.
_TYPES: Final[dict[pa.DataType, TypeInformation]] = {
    pa.string(): Types.STRING(),
    pa.large_string(): Types.STRING(),
    pa.string_view(): Types.STRING(),
    pa.bool_(): Types.BOOLEAN(),
    pa.int8(): Types.BYTE(),
    pa.int16(): Types.SHORT(),
    pa.int32(): Types.INT(),
    pa.int64(): Types.LONG(),
    pa.uint8(): Types.SHORT(),
    pa.uint16(): Types.INT(),
    pa.uint32(): Types.LONG(),
    pa.uint64(): Types.BIG_INT(),
    pa.float16(): Types.FLOAT(),
    pa.float32(): Types.FLOAT(),
    pa.float64(): Types.DOUBLE(),
    pa.binary(): Types.PRIMITIVE_ARRAY(Types.BYTE()),
    pa.large_binary(): Types.PRIMITIVE_ARRAY(Types.BYTE()),
    pa.date32(): Types.SQL_DATE(),
    pa.date64(): Types.SQL_DATE(),
}


def arrow_type(type_info: TypeInformation, field: str) -> pa.DataType:
    """Return the Arrow type of one column. Raises ProgramError naming `field` when there is none."""
    found = _ARROW.get(type_info)
    if found is None:
        raise ProgramError(
            f"field {field!r} is a {type_info}, which has no flat Arrow column; "
            "map it to numbers, text, bytes, dates or times first"
        )
    return found


def arrow_schema(type_info: TypeInformation) -> pa.Schema:
    """Return the Arrow schema of a stream: a column per field of a row or tuple, else one column named "value".

    Raises ProgramError naming the field that has no flat Arrow column.

    >>> arrow_schema(Types.TUPLE([Types.STRING(), Types.LONG()])).names
    ['f0', 'f1']
    """
    if isinstance(type_info, RowTypeInfo):
        fields = list(zip(type_info.field_names, type_info.field_types, strict=True))
    elif isinstance(type_info, TupleTypeInfo):
        fields = [(f"f{place}", field) for place, field in enumerate(type_info.field_types)]
    else:
        fields = [(SINGLE_COLUMN, type_info)]
    return pa.schema([pa.field(name, arrow_type(field, name)) for name, field in fields])


def type_of_arrow(data_type: pa.DataType, field: str) -> TypeInformation:
    """Return the type of one Arrow column's values. Raises ProgramError naming `field` when there is none."""
    if pa.types.is_dictionary(data_type):
        return type_of_arrow(data_type.value_type, field)
    found = _TYPES.get(data_type)
    if found is not None:
        return found
    if pa.types.is_timestamp(data_type):
        return Types.SQL_TIMESTAMP()
    if pa.types.is_time(data_type):
        return Types.SQL_TIME()
    if pa.types.is_decimal(data_type):
        return Types.BIG_DEC()
    raise ProgramError(
        f"column {field!r} has the type {data_type}, which is not flat; "
        "select or cast it to numbers, text, bytes, dates or times first"
    )


def type_of_schema(schema: pa.Schema) -> RowTypeInfo:
    """Return the row type of a schema. Raises ProgramError naming the column that is not flat."""
    return RowTypeInfo([type_of_arrow(field.type, field.name) for field in schema], schema.names)


def rows_from_batch(batch: pa.RecordBatch) -> list[Row]:
    """Return the batch as rows with the columns' names."""
    names = tuple(batch.schema.names)
    columns = [column.to_pylist() for column in batch.columns]
    # map() runs the loop in C; the names are one tuple that all rows share.
    return list(map(make_row, zip(*columns, strict=True), itertools.repeat(names)))


def batch_from_rows(records: Sequence[Any], schema: pa.Schema) -> pa.RecordBatch:
    """Return records as a batch of columns: rows, tuples or lists, dicts, or plain values when there is one column.

    A row or dict is read by name if it has names, else by position. Raises SerializationError naming the column and
    the record when a value does not fit the schema.
    """
    columns = _columns(records, schema.names)
    arrays = [_array(column, field) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns(records: Sequence[Any], names: list[str]) -> list[list[Any]]:
    wanted = tuple(names)
    rows = [_values(record, wanted) for record in records]
    if not rows:
        return [[] for _ in names]
    if any(len(row) != len(names) for row in rows):
        raise _wrong_width(records, rows, wanted)
    return [list(column) for column in zip(*rows, strict=True)]


def _values(record: Any, names: tuple[str, ...]) -> Sequence[Any]:
    kind = type(record)
    if kind is Row:
        if record._fields is None or record._fields == names:
            return record._values  # type: ignore[no-any-return]
        return _by_name(record.as_dict(), names, record)
    if isinstance(record, dict):
        return _by_name(record, names, record)
    if isinstance(record, (tuple, list)):
        return record
    return (record,)


def _by_name(values: dict[str, Any], names: tuple[str, ...], record: object) -> list[Any]:
    if values.keys() != set(names):
        raise SerializationError(
            f"the record {record!r} has the fields {sorted(values)}, but the schema has {sorted(names)}; "
            "give every record exactly the fields of the schema"
        )
    return [values[name] for name in names]


def _wrong_width(records: Sequence[Any], rows: Sequence[Sequence[Any]], names: tuple[str, ...]) -> SerializationError:
    culprit = next(record for record, row in zip(records, rows, strict=True) if len(row) != len(names))
    return SerializationError(
        f"the record {culprit!r} does not have the {len(names)} fields of the schema: {', '.join(names)}"
    )


def _array(column: list[Any], field: pa.Field) -> pa.Array:
    try:
        if pa.types.is_timestamp(field.type) and any(isinstance(value, Instant) for value in column):
            return _instants(column, field.type)
        return pa.array(column, type=field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        culprit = next((value for value in column if not _fits(value, field.type)), None)
        raise SerializationError(
            f"column {field.name!r} has the type {field.type}, but a record holds {culprit!r} "
            f"({type(culprit).__name__}) there: {error}"
        ) from error


def _instants(column: list[Any], data_type: pa.DataType) -> pa.Array:
    """Return instants as a column of any unit. Raises `ArrowInvalid` for one that the unit is too coarse for."""
    nanos = [_nanos(value) if isinstance(value, Instant) else value for value in column]
    return pa.array(nanos, type=pa.timestamp("ns", tz=data_type.tz)).cast(data_type)


def _nanos(instant: Instant) -> int:
    return instant.seconds * 1_000_000_000 + instant.nanos


def _fits(value: object, data_type: pa.DataType) -> bool:
    try:
        pa.array([value], type=data_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True
