"""DataFrames at both ends of a program: `from_spark` and `to_spark`.

A DataFrame is written as Parquet before the job's slots start, so that Spark has its cores to itself while it computes
it, and a restarted job reads again exactly what it read before. Results are written as Parquet, exactly once, and read
when the job has ended. The folders are removed when the program exits.
"""

from __future__ import annotations

import atexit
import tempfile
import uuid
from typing import Any, final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from headgate.config import Settings
from headgate.connectors.files.bulk_format import ParquetFormat
from headgate.connectors.files.parquet_source import RowGroupSplit
from headgate.connectors.files.places import Place, list_files
from headgate.errors import EnvironmentFault, ProgramError, SourceError, StorageError
from headgate.functions.source import Source, SourceContext, SourceReader
from headgate.options import CHECKPOINT_DIR, STORAGE_DIR
from headgate.types.arrow import type_of_schema
from headgate.types.typeinfo import RowTypeInfo

_ROW_GROUP_BYTES = 16 << 20


@final
class DataFrameSource(Source[RowGroupSplit]):
    """The rows of a bounded DataFrame, partition by partition; a split is a row group of what was written.

    Raises ProgramError for what is not a bounded DataFrame, or has a column that is not flat.
    """

    def __init__(self, frame: DataFrame, folder: str) -> None:
        if not isinstance(frame, DataFrame):
            raise ProgramError(f"from_spark() takes a Spark DataFrame, not {frame!r}")
        if frame.isStreaming:
            raise ProgramError("from_spark() takes a bounded DataFrame, but this one is streaming: use spark.read")
        self.row_type: RowTypeInfo = type_of_schema(to_arrow_schema(frame.schema))
        self._frame: DataFrame | None = frame
        self._folder = folder
        self._format = ParquetFormat()

    def splits(self, parallelism: int) -> list[RowGroupSplit]:
        """Compute and write the DataFrame; return the row groups."""
        if self._frame is None:
            raise EnvironmentFault("a DataFrame can only be written by the driver that made it")
        written = self._frame.write.option("parquet.block.size", _ROW_GROUP_BYTES).mode("overwrite")
        written.parquet(self._folder)
        return self._format.cut(list_files(Place.of(self._folder, SourceError), SourceError), _ROW_GROUP_BYTES)

    def reader(self, context: SourceContext) -> SourceReader[RowGroupSplit]:
        return self._format.reader(context)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the DataFrame behind: slots need only splits."""
        return {**self.__dict__, "_frame": None}


def new_folder(settings: Settings) -> str:
    """Return a folder for one DataFrame in the job's storage; it is removed when the program exits."""
    base = settings.get(STORAGE_DIR) or settings.get(CHECKPOINT_DIR)
    if base is None:
        base = tempfile.mkdtemp(prefix="headgate-frames-")
        atexit.register(_remove, base)
        return f"{base}/frame"
    folder = f"{base.rstrip('/')}/frame-{uuid.uuid4().hex}"
    atexit.register(_remove, folder)
    return folder


def read(folder: str, schema: pa.Schema, spark: SparkSession | None) -> DataFrame:
    """Return what a job wrote into the folder as a DataFrame of `spark`, else of the active session."""
    session = spark or SparkSession.getActiveSession()
    if session is None:
        raise EnvironmentFault(
            "to_spark() needs a Spark session to make a DataFrame: pass one to get_execution_environment(spark=...), "
            "or use execute_and_collect()"
        )
    return session.read.schema(from_arrow_schema(schema)).parquet(folder)


def _remove(folder: str) -> None:
    place = Place.of(folder, StorageError)
    try:
        place.system.delete_dir(place.path)
    except OSError:  # not there, or gone already
        return
