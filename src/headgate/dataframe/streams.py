"""DataFrames of the streams of the DataStream API and of Spark's DataFrames, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from headgate.columns import logical_types as types
from headgate.columns.schema import Schema
from headgate.dataframe.data_type import DataType
from headgate.dataframe.dataframe import DataFrame
from headgate.dataframe.files import schema_of
from headgate.dataframe.planner.logical import Stream
from headgate.dataframe.session import get_or_create_table_environment
from headgate.errors import ProgramError
from headgate.types.arrow_types import arrow_schema, schema_in_micros
from headgate.types.typeinfo import RowTypeInfo

if TYPE_CHECKING:
    from pyspark.sql import DataFrame as SparkDataFrame

    from headgate.datastream.data_stream import DataStream


def from_data_stream(
    stream: DataStream,
    *,
    schema: Mapping[str, DataType] | None = None,
    watermark: tuple[str, str] | None = None,
) -> DataFrame:
    """Return a DataFrame of the records of a stream, which becomes part of the same job.

    A record is a `Row`, a dict, a tuple or a list. `schema` names its fields and their types, by default those of the
    stream's declared row type. A record that does not fit fails the job, which names field and record. An action of the
    DataFrame runs the program of the stream's environment. Raises TypeError for another object, and ProgramError for a
    stream without a declared row type and without `schema`.
    """
    from headgate.datastream.data_stream import DataStream  # noqa: PLC0415  # it loads all operators

    if not isinstance(stream, DataStream):
        raise TypeError(f"from_data_stream() takes a DataStream, not {stream!r:.100}")
    own = _declared(stream) if schema is None else schema_of(schema)
    frame = DataFrame(Stream(stream, own), get_or_create_table_environment())
    return frame._with_time(watermark)


def _declared(stream: DataStream) -> Schema:
    declared = stream.get_type()
    if not isinstance(declared, RowTypeInfo):
        raise ProgramError(
            f"from_data_stream() needs to know the columns, but the stream's type is {declared}: give schema, or the "
            "operator before it output_type=Types.ROW_NAMED([...], [...])"
        )
    return _schema_of(arrow_schema(declared))


def _schema_of(columns: pa.Schema) -> Schema:
    return Schema((field.name, types.of_arrow(field.type, field.name)) for field in columns)


def from_spark(frame: SparkDataFrame, *, watermark: tuple[str, str] | None = None) -> DataFrame:
    """Return a DataFrame of the rows of a bounded Spark DataFrame, which Spark computes once, when a job starts.

    The rows stay in columns. Raises ProgramError for a streaming DataFrame, or a column whose type SQL does not have.
    """
    environment = get_or_create_table_environment()
    run = environment.stream_environment()
    stream = run.from_spark(frame)
    own = _schema_of(schema_in_micros(stream.get_type()))  # Spark's times
    return DataFrame(Stream(stream, own), environment)._with_time(watermark)
