"""The columns of a DataFrame as files hold them for a job: by number, with dates and timestamps as whole numbers.

How Spark writes dates and timestamps to Parquet depends on the session: settings move dates before 1900 to another
calendar, or cut microseconds, and no option of a writer overrules all of these settings. Numbers stay as they are.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as spark

READ_OPTIONS: Final = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
"""Options of a reader of the Parquet files: their dates are of the Gregorian calendar."""


def numbered(frame: DataFrame) -> DataFrame:
    """Return the rows of a DataFrame with columns c0, c1 and so on, whose dates are days and timestamps microseconds.

    Both count from 1970-01-01 UTC, also within structs, arrays and maps.
    """
    renamed = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    return renamed.select(*(as_number(f.col(own.name), own.dataType).alias(own.name) for own in renamed.schema.fields))


def as_number(column: Column, kind: spark.DataType) -> Column:
    """Return a column whose dates and timestamps are numbers; the column as it is, if it has none."""
    match kind:
        case spark.DateType():
            return f.unix_date(column)
        case spark.TimestampType():
            return f.unix_micros(column)
        case spark.ArrayType() if _has_times(kind):
            element = kind.elementType
            return f.transform(column, lambda each: as_number(each, element))
        case spark.MapType() if _has_times(kind):
            keys, values = kind.keyType, kind.valueType
            with_keys = f.transform_keys(column, lambda key, _: as_number(key, keys)) if _has_times(keys) else column
            if not _has_times(values):
                return with_keys
            return f.transform_values(with_keys, lambda _, value: as_number(value, values))
        case spark.StructType() if _has_times(kind):
            fields = [as_number(column.getField(own.name), own.dataType).alias(own.name) for own in kind.fields]
            return f.when(column.isNotNull(), f.struct(*fields))
    return column


def _has_times(kind: spark.DataType) -> bool:
    match kind:
        case spark.DateType() | spark.TimestampType():
            return True
        case spark.ArrayType():
            return _has_times(kind.elementType)
        case spark.MapType():
            return _has_times(kind.keyType) or _has_times(kind.valueType)
        case spark.StructType():
            return any(_has_times(own.dataType) for own in kind.fields)
    return False
