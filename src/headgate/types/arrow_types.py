"""Types and their columns: type information as Arrow types and schemas, and back.

| type | Arrow | value in Python |
|---|---|---|
| a row, a tuple | struct | `Row`, with the names of its fields |
| a list, an array | list | list |
| a map | map | dict |
| `DECIMAL(p, s)` | decimal128(p, s) | `Decimal`; an int for (38, 0), which is `BIG_INT` |
| an instant | timestamp with a zone | `Instant` |
| a timestamp | timestamp without a zone | `datetime` without a zone |
| an interval | duration | `timedelta` |

From a schema to a type and back, only the unit of times changes. From a type to a schema and back, all lists and arrays
become lists, and tuples become rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from headgate.errors import ProgramError
from headgate.types.fold import NoForm, SequenceTypeInfo, TypeFold, always, fields_of
from headgate.types.sql_types import DecimalTypeInfo
from headgate.types.typeinfo import (
    BasicType,
    BasicTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

SINGLE_COLUMN: Final = "value"
"""Name of the column of a schema made from a type that has no fields."""

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
    pa.null(): Types.SQL_NULL(),
    pa.decimal128(38, 0): Types.BIG_INT(),
    pa.decimal128(38, 18): Types.BIG_DEC(),
}


class _ArrowTypes(TypeFold[pa.DataType]):
    """The Arrow types of all types."""

    def refusal(self, type_info: TypeInformation, path: str) -> ProgramError:
        return ProgramError(
            f"field {path!r} is a {type_info}, which no column can hold; "
            "map it to numbers, text, bytes, dates, times, or rows, lists and maps of these first"
        )

    string = always(pa.string())
    boolean = always(pa.bool_())

    def integer(self, type_info: BasicTypeInfo) -> pa.DataType:
        return _INTEGERS[type_info.basic_type]

    def floating(self, type_info: BasicTypeInfo) -> pa.DataType:
        return pa.float32() if type_info.basic_type is BasicType.FLOAT else pa.float64()

    def decimal(self, type_info: BasicTypeInfo | DecimalTypeInfo) -> pa.DataType:
        if isinstance(type_info, BasicTypeInfo):
            return pa.decimal128(38, 18)
        return pa.decimal128(type_info.precision, type_info.scale)

    instant = always(pa.timestamp("ns", tz="UTC"))
    date = always(pa.date32())
    time = always(pa.time64("us"))
    timestamp = always(pa.timestamp("us"))
    interval = always(pa.duration("us"))
    null = always(pa.null())
    binary = always(pa.binary())

    def pickled(self) -> pa.DataType:
        raise NoForm

    def sequence(self, type_info: SequenceTypeInfo, element: pa.DataType) -> pa.DataType:
        return pa.list_(element)

    def mapping(self, type_info: MapTypeInfo, key: pa.DataType, value: pa.DataType) -> pa.DataType:
        return pa.map_(key, value)

    def tuple(self, type_info: TupleTypeInfo | RowTypeInfo, fields: Sequence[pa.DataType]) -> pa.DataType:
        names = [name for name, _ in fields_of(type_info)]
        return pa.struct(list(map(pa.field, names, fields)))

    row = tuple


_INTEGERS: Final = {
    BasicType.BYTE: pa.int8(),
    BasicType.SHORT: pa.int16(),
    BasicType.INT: pa.int32(),
    BasicType.LONG: pa.int64(),
    BasicType.BIG_INT: pa.decimal128(38, 0),
}
_ARROW: Final = _ArrowTypes()


def arrow_type(type_info: TypeInformation, field: str) -> pa.DataType:
    """Return the Arrow type of a column. Raises ProgramError naming `field`, or a field in it, if there is none."""
    return _ARROW.of(type_info, field)


def arrow_schema(type_info: TypeInformation) -> pa.Schema:
    """Return the Arrow schema of a stream: a column per field of a row or tuple, else one column named "value".

    Raises ProgramError naming the field that no column can hold, with its path, such as `address.lines[]`.

    >>> arrow_schema(Types.TUPLE([Types.STRING(), Types.LIST(Types.LONG())])).types
    [DataType(string), ListType(list<item: int64>)]
    """
    fields = (
        fields_of(type_info) if isinstance(type_info, RowTypeInfo | TupleTypeInfo) else [(SINGLE_COLUMN, type_info)]
    )
    return pa.schema([pa.field(name, arrow_type(field, name)) for name, field in fields])


def schema_in_micros(type_info: TypeInformation) -> pa.Schema:
    """Return the schema of `arrow_schema` with instants in microseconds: they reach any year, and Spark needs them.

    Raises ProgramError as `arrow_schema` does.
    """
    return pa.schema([pa.field(field.name, _in_micros(field.type)) for field in arrow_schema(type_info)])


def _in_micros(data_type: pa.DataType) -> pa.DataType:
    is_a = pa.types
    if is_a.is_timestamp(data_type):
        return pa.timestamp("us", tz=data_type.tz)
    if is_a.is_struct(data_type):
        return pa.struct([field.with_type(_in_micros(field.type)) for field in data_type.fields])
    if is_a.is_map(data_type):
        return pa.map_(_in_micros(data_type.key_type), _in_micros(data_type.item_type))
    return pa.list_(_in_micros(data_type.value_type)) if is_a.is_list(data_type) else data_type


def type_of_arrow(data_type: pa.DataType, field: str) -> TypeInformation:
    """Return the type of an Arrow column. Raises ProgramError naming `field`, or a field in it, if there is none."""
    found = _TYPES.get(data_type)
    if found is not None:
        return found
    is_a = pa.types
    if is_a.is_dictionary(data_type):
        return type_of_arrow(data_type.value_type, field)
    if is_a.is_timestamp(data_type):
        return Types.SQL_TIMESTAMP() if data_type.tz is None else Types.INSTANT()
    if is_a.is_time(data_type):
        return Types.SQL_TIME()
    if is_a.is_duration(data_type):
        return Types.SQL_INTERVAL()
    if is_a.is_decimal(data_type):
        return _decimal(data_type)
    if is_a.is_fixed_size_binary(data_type):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    if is_a.is_struct(data_type):
        return row_type(data_type.fields, field)
    if is_a.is_map(data_type):
        key = type_of_arrow(data_type.key_type, f"{field}[key]")
        return Types.MAP(key, type_of_arrow(data_type.item_type, f"{field}[value]"))
    if is_a.is_list(data_type) or is_a.is_large_list(data_type) or is_a.is_fixed_size_list(data_type):
        return Types.LIST(type_of_arrow(data_type.value_type, f"{field}[]"))
    raise ProgramError(
        f"column {field!r} has the type {data_type}, which headgate has no type for; "
        "select or cast it to numbers, text, bytes, dates, times, or structs, lists and maps of these first"
    )


def _decimal(data_type: pa.DataType) -> TypeInformation:
    if data_type.scale < 0 or data_type.precision > 38:
        return Types.BIG_DEC()
    return Types.SQL_DECIMAL(data_type.precision, data_type.scale)


def type_of_schema(schema: pa.Schema) -> RowTypeInfo:
    """Return the row type of a schema. Raises ProgramError naming a column that headgate has no type for."""
    return row_type(list(schema), "")


def row_type(fields: Sequence[pa.Field], path: str) -> RowTypeInfo:
    """Return the type of rows with these fields. `path` is the column that holds the rows, "" for a whole schema.

    Raises ProgramError naming a field that headgate has no type for, or a name that two fields have.
    """
    names = [field.name for field in fields]
    inner = [f"{path}.{name}" if path else name for name in names]
    twice = next((place for place, name in zip(inner, names, strict=True) if names.count(name) > 1), None)
    if twice is not None:
        raise ProgramError(f"there are two columns {twice!r}: give them different names")
    return RowTypeInfo([type_of_arrow(field.type, place) for field, place in zip(fields, inner, strict=True)], names)
