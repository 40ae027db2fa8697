"""DataFrames as Parquet files: how Spark writes the rows of a DataFrame for a job, and reads files of headgate.

Columns are numbered, and dates and timestamps are whole numbers. How Spark writes dates and timestamps to Parquet
depends on the session: settings move dates before 1900 to another calendar, or cut microseconds, and no option of a
writer overrides all of these settings. Whole numbers do not change.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as spark

from headgate.connectors.files.spark_parquet import ROW_GROUP_BYTES

READ_OPTIONS: Final = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
"""Options of a reader of the Parquet files: their dates are of the Gregorian calendar."""

_SPARK_SCHEMES: Final = {"s3": "s3a", "gcs": "gs"}
"""Hadoop's names of file systems that have another name in Arrow."""
_PATTERN: Final = re.compile(r"[\\*?\[\]{}]")


def write_parquet(frame: DataFrame, folder: str) -> None:
    """Compute a DataFrame and write its rows into a new folder, in the form of `numbered`. Blocks."""
    writer = numbered(frame).write.option("parquet.block.size", ROW_GROUP_BYTES).option("compression", "snappy")
    writer.parquet(spark_uri(folder))


def numbered(frame: DataFrame) -> DataFrame:
    """Return a DataFrame with columns c0, c1 and so on. Dates are days, timestamps are microseconds.

    Both count from 1970-01-01 UTC, also inside structs, arrays and maps.
    """
    renamed = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    return renamed.select(*(as_number(f.col(own.name), own.dataType).alias(own.name) for own in renamed.schema.fields))


def as_number(column: Column, kind: spark.DataType) -> Column:
    """Return the column with numbers for dates and timestamps. A column without any is returned unchanged."""
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


def spark_uri(place: str) -> str:
    """Return the URI under which Spark writes to a local path or to a URI of pyarrow.

    The server and the credentials in the URI are left out: Spark has settings for them (`spark.hadoop.fs.s3a.*`).

    >>> spark_uri("s3://key:secret@bucket/streams?region=eu-central-1"), spark_uri("/data/streams")
    ('s3a://bucket/streams', 'file:///data/streams')
    """
    if place.startswith("file:"):
        return unquote(place)  # like Arrow, unlike Hadoop
    if "://" not in place:
        return f"file://{place}"
    parts = urlsplit(place)
    scheme = _SPARK_SCHEMES.get(parts.scheme, parts.scheme)
    # The part before the @ is a user for S3, but a container for Azure.
    host = parts.netloc.rpartition("@")[2] if scheme == "s3a" else parts.netloc
    return f"{scheme}://{host}{unquote(parts.path)}"


def spark_pattern(place: str) -> str:
    """Return the URI under which Spark reads a place. Spark's readers take patterns, so special characters are escaped.

    >>> spark_pattern("/data/runs[1]")
    'file:///data/runs\\\\[1\\\\]'
    """
    return _PATTERN.sub(r"\\\g<0>", spark_uri(place))
