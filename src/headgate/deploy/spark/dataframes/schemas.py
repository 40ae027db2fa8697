"""Converts schemas of Spark to row types and back.

The table of types is in docs/guides/dataframes.md. A column that a record cannot hold is an error with the path of the
column, such as `address.lines[]`.
"""

from __future__ import annotations

from pyspark.sql import types as spark
from pyspark.sql.pandas.types import from_arrow_type

from headgate.deploy.spark.releases import arrow_schema
from headgate.errors import ProgramError
from headgate.types.arrow_types import SINGLE_COLUMN, arrow_type, type_of_arrow
from headgate.types.fold import BYTES, SequenceTypeInfo, fields_of
from headgate.types.typeinfo import MapTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation, Types


def row_type_of(schema: spark.StructType) -> RowTypeInfo:
    """Return the type of the rows of a DataFrame.

    Raises ProgramError naming a column that no record can hold, or a column that exists twice.
    """
    return _row_type(schema, "")


def _row_type(struct: spark.StructType, path: str) -> RowTypeInfo:
    names = [field.name for field in struct.fields]
    inner = [f"{path}.{name}" if path else name for name in names]
    twice = next((place for place, name in zip(inner, names, strict=True) if names.count(name) > 1), None)
    if twice is not None:
        raise ProgramError(
            f"there are two columns {twice!r} in the DataFrame: give them different names, for instance with toDF()"
        )
    if not names:
        raise ProgramError(f"{_whole(path)} has no columns, and Spark stores no rows without any: leave it out")
    types = [_type_of(field.dataType, place) for field, place in zip(struct.fields, inner, strict=True)]
    return RowTypeInfo(types, names)


def _type_of(data_type: spark.DataType, path: str) -> TypeInformation:
    match data_type:
        case spark.StructType():
            return _row_type(data_type, path)
        case spark.ArrayType():
            return Types.LIST(_type_of(data_type.elementType, f"{path}[]"))
        case spark.MapType():
            if not _may_be_key(data_type.keyType):
                raise ProgramError(
                    f"the keys of column {path!r} hold arrays, which the keys of a dict cannot be: turn it into an "
                    "array of structs with map_entries(), or leave it out"
                )
            key = _type_of(data_type.keyType, f"{path}[key]")
            return Types.MAP(key, _type_of(data_type.valueType, f"{path}[value]"))
        case spark.StringType() | spark.CharType() | spark.VarcharType():
            return Types.STRING()
        case spark.AtomicType() | spark.NullType():
            return _single(data_type, path)
    raise _unheld(data_type, path)


def _single(data_type: spark.DataType, path: str) -> TypeInformation:
    """Return the type of a column of single values: the type of Spark's Arrow column."""
    try:
        arrow = arrow_schema(spark.StructType([spark.StructField(path, data_type)])).field(0).type
    except Exception as error:
        raise _unheld(data_type, path) from error
    if arrow.num_fields:  # Spark writes a variant as a struct
        raise _unheld(data_type, path)
    return type_of_arrow(arrow, path)


def _unheld(data_type: spark.DataType, path: str) -> ProgramError:
    return ProgramError(
        f"column {path!r} of the DataFrame is {data_type.simpleString()!r}, which no record can hold: cast it, or "
        "leave it out (docs/guides/dataframes.md has the table of types)"
    )


def _may_be_key(data_type: spark.DataType) -> bool:
    if isinstance(data_type, spark.StructType):
        return all(_may_be_key(field.dataType) for field in data_type.fields)
    return not isinstance(data_type, spark.ArrayType)


def struct_type_of(type_info: TypeInformation) -> spark.StructType:
    """Return the columns of a DataFrame for records: one for each field, else a single column "value".

    Raises ProgramError naming a field that no column can hold.
    """
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        return _struct(fields_of(type_info), "")
    return _struct([(SINGLE_COLUMN, type_info)], "")


def _whole(path: str) -> str:
    return f"column {path!r}" if path else "the DataFrame"


def _struct(fields: list[tuple[str, TypeInformation]], path: str) -> spark.StructType:
    lower = [name.lower() for name, _ in fields]
    twice = next((name for name, _ in fields if lower.count(name.lower()) > 1), None)
    if twice is not None:
        place = f"{path}.{twice}" if path else twice
        raise ProgramError(f"there are two fields {place!r}: to Spark, names that differ only in case are the same")
    if not fields:
        raise ProgramError(f"{_whole(path)} has no columns, and Spark stores no rows without any: give it one")
    return spark.StructType(
        [spark.StructField(name, _spark_type(own, f"{path}.{name}" if path else name)) for name, own in fields]
    )


def _spark_type(type_info: TypeInformation, path: str) -> spark.DataType:
    match type_info:
        case RowTypeInfo() | TupleTypeInfo():
            return _struct(fields_of(type_info), path)
        case MapTypeInfo():
            key = _spark_type(type_info.key_type_info, f"{path}[key]")
            return spark.MapType(key, _spark_type(type_info.value_type_info, f"{path}[value]"))
    if isinstance(type_info, SequenceTypeInfo) and type_info != BYTES:
        return spark.ArrayType(_spark_type(type_info.element_type, f"{path}[]"))
    try:
        return from_arrow_type(arrow_type(type_info, path), True)
    except Exception as error:
        raise ProgramError(
            f"field {path!r} is a {type_info}, which no column of a DataFrame can hold; map it first "
            "(docs/guides/dataframes.md has the table of types)"
        ) from error
