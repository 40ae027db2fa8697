"""DataFrames of Spark as sources of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from headgate.columns.schema import Schema
from headgate.deploy.spark.dataframes import frames, streams
from headgate.functions.source import Source
from headgate.table.table_environment import TableEnvironment
from headgate.types.arrow_types import schema_in_micros
from headgate.types.typeinfo import RowTypeInfo

if TYPE_CHECKING:
    from pyspark.sql import DataFrame as SparkDataFrame


@final
@dataclass(frozen=True, slots=True, eq=False)
class SparkScan:
    """The rows of a bounded DataFrame. Spark computes only the columns that are read."""

    frame: SparkDataFrame
    environment: TableEnvironment
    schema: Schema
    conforms = False

    def source(self, columns: Sequence[str]) -> Source[Any]:
        quoted = ["`" + name.replace("`", "``") + "`" for name in columns]
        settings = self.environment.stream_environment()._settings()
        return frames.DataFrameSource(self.frame.select(*quoted), "DataFrame", frames.storage_of(settings))


def spark_scan(frame: SparkDataFrame, environment: TableEnvironment) -> SparkScan:
    """Return the rows of a bounded DataFrame. Raises ProgramError for another object or a type that SQL lacks."""
    checked = frames.DataFrameSource(frame, "DataFrame", None)
    return SparkScan(frame, environment, _schema_of(checked.row_type))


@final
@dataclass(frozen=True, slots=True, eq=False)
class SparkStreamScan:
    """The rows of a streaming DataFrame. The query has all columns, so that a changed program can continue it."""

    frame: SparkDataFrame
    location: str
    options: streams.StreamOptions
    schema: Schema
    conforms = False

    def source(self, columns: Sequence[str]) -> Source[Any]:
        return streams.source_of(self.frame, self.location, self.options, columns)[0]


def spark_stream_scan(frame: SparkDataFrame, location: str, **settings: Any) -> SparkStreamScan:
    """Return the rows of a streaming DataFrame. `settings` are the fields of `StreamOptions`.

    Raises ProgramError for a wrong setting, or a column whose type SQL does not have.
    """
    options = streams.StreamOptions(**settings)
    _, row_type = streams.source_of(frame, location, options)
    return SparkStreamScan(frame, location, options, _schema_of(row_type))


def _schema_of(row_type: RowTypeInfo) -> Schema:
    return Schema.of_arrow(schema_in_micros(row_type))  # Spark's times
