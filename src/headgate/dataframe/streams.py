"""DataFrames of the streams of the DataStream API and of Spark's DataFrames, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headgate.columns.schema import Schema
from headgate.dataframe.connectors.files import read_columns, schema_of
from headgate.dataframe.data_type import DataType
from headgate.dataframe.dataframe import DataFrame
from headgate.dataframe.planner.logical import Stream
from headgate.dataframe.session import get_or_create_table_environment
from headgate.errors import ProgramError
from headgate.types.arrow_types import arrow_schema
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
    return Schema.of_arrow(arrow_schema(declared))


def from_spark(  # noqa: PLR0913  # the settings of a query, by name
    frame: SparkDataFrame,
    *,
    checkpoint_location: str | None = None,
    output_mode: str = "append",
    processing_time: str | None = None,
    available_now: bool = False,
    free_cores: int = 1,
    watermark: tuple[str, str] | None = None,
) -> DataFrame:
    """Return a DataFrame of the rows of a Spark DataFrame, in columns. Only the columns that the plan uses are read.

    Spark computes a bounded DataFrame once, when a job starts. A streaming DataFrame needs a `checkpoint_location`, a
    folder or URI that only this DataFrame uses: there Spark stores its position, and each row is read exactly once.
    `output_mode`, `processing_time` and `available_now` are Spark's output mode and triggers, and `free_cores` is the
    number of cores that Spark needs besides the slots, as for `from_spark_stream` of a stream environment.

    Raises ProgramError for another object, a wrong setting, or a column whose type SQL does not have; ValueError for a
    streaming DataFrame without `checkpoint_location`, or a bounded one with it.
    """
    from headgate.dataframe.connectors.spark_tables import spark_scan, spark_stream_scan  # noqa: PLC0415  # pyspark is optional

    environment = get_or_create_table_environment()
    is_streaming = getattr(frame, "isStreaming", False)
    if is_streaming is not (checkpoint_location is not None):
        raise ValueError(
            "a streaming DataFrame needs a checkpoint_location, a folder that only it uses"
            if is_streaming
            else "checkpoint_location is for streaming DataFrames, but this one is bounded"
        )
    if checkpoint_location is None:
        return read_columns(spark_scan(frame, environment), "spark", None, watermark)
    scan = spark_stream_scan(
        frame,
        checkpoint_location,
        output_mode=output_mode,
        processing_time=processing_time,
        available_now=available_now,
        free_cores=free_cores,
    )
    return read_columns(scan, f"spark {checkpoint_location}", None, watermark)
