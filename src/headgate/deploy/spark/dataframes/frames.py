"""DataFrames as input and result of a program: `from_spark` and `to_spark`.

Spark writes a DataFrame as Parquet before the job's slots start. So Spark has all cores while it computes the
DataFrame, and a restarted job reads exactly the same rows again. The files are deleted when the job has ended, unless a
retained snapshot still needs them. The job writes results as Parquet, exactly once. Spark reads them when the job has
ended, and they are deleted when the program exits.
"""

from __future__ import annotations

import atexit
import contextlib
import tempfile
import uuid
from collections.abc import Callable
from typing import Any, Final, final

from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession

from headgate.checkpoint.paths import TASK_OWNED, absolute, below
from headgate.config import Settings
from headgate.connectors.files.parquet_source import RowGroupSplit
from headgate.connectors.files.places import Place, list_files, name_of
from headgate.connectors.files.spark_parquet import ROW_GROUP_BYTES, SparkParquetFormat
from headgate.deploy.spark import session as sessions
from headgate.deploy.spark.dataframes.parquet import READ_OPTIONS, spark_pattern
from headgate.deploy.spark.dataframes.schemas import row_type_of, struct_type_of
from headgate.deploy.spark.dataframes.writing import FrameWriting
from headgate.deploy.spark.shared_storage import check_shared
from headgate.errors import EnvironmentFault, ProgramError, SourceError, StorageError
from headgate.functions.source import Source, SourceContext, SourceReader
from headgate.ids import JobId
from headgate.options import CHECKPOINT_DIR, STORAGE_DIR
from headgate.types.typeinfo import RowTypeInfo, TypeInformation

FRAMES: Final = f"{TASK_OWNED}/frames"
"""Folder for DataFrames, below the folder of the job."""
KEPT: Final = "_kept"
"""File in the folder. It exists if a retained snapshot still needs the DataFrames."""


@final
class DataFrameSource(Source[RowGroupSplit]):
    """The rows of a bounded DataFrame, partition by partition. A split is a row group of the Parquet files.

    Raises ProgramError for other objects than bounded DataFrames, and for a column that no record can hold.
    """

    one_split_at_a_time = True

    def __init__(self, frame: DataFrame, name: str, location: str | None) -> None:
        """`location` is the folder or URI that contains the job's folder, None for a temporary folder."""
        if not isinstance(frame, DataFrame):
            raise ProgramError(f"from_spark() takes a Spark DataFrame, not {frame!r}")
        if type(frame).__module__.startswith("pyspark.sql.connect"):
            raise ProgramError(
                "from_spark() takes a DataFrame of a classic SparkSession, but this one is of Spark Connect"
            )
        if frame.isStreaming:
            raise ProgramError(
                "from_spark() takes a bounded DataFrame, but this one is streaming: use from_spark_stream(), or "
                "spark.read"
            )
        self.row_type: RowTypeInfo = row_type_of(frame.schema)
        self._frame: DataFrame | None = frame
        self._format = SparkParquetFormat(self.row_type)
        self._what = f"the DataFrame {name!r}"
        self._writing: FrameWriting | None = FrameWriting(frame, self._what)
        self._location = location
        self._temporary: str | None = None
        self._folder = ""

    @property
    def frame(self) -> DataFrame:
        """The DataFrame. Raises EnvironmentFault outside the driver."""
        if self._frame is None:
            raise EnvironmentFault("only the driver that made a DataFrame can read it")
        return self._frame

    def prepare(self, job_id: JobId) -> None:
        if self._frame is None:
            raise EnvironmentFault("only the driver that made a DataFrame can write it")
        if self._location is None:
            self._temporary = tempfile.mkdtemp(prefix="headgate-frames-")
        self._folder = below(below(absolute(self._temporary or self._location or ""), job_id), FRAMES)

    def splits(self, parallelism: int) -> list[RowGroupSplit]:
        """Compute and write the DataFrame. Return the row groups. Raises `SourceError` with the cause."""
        assert self._frame is not None
        assert self._writing is not None
        folder = below(self._folder, uuid.uuid4().hex)
        try:
            check_shared(self._frame.sparkSession, self._folder)
            self._writing.write(folder)
        except BaseException:
            _remove(folder)
            raise
        return self._format.cut(list_files(Place.of(folder, SourceError), SourceError), ROW_GROUP_BYTES)

    def interrupt(self) -> None:
        if self._writing is not None:
            self._writing.cancel()

    def keep(self) -> None:
        place = Place.of(self._folder, StorageError)
        with contextlib.suppress(OSError):
            place.system.create_dir(place.path)
        place.system.open_output_stream(place.child(KEPT).path).close()

    def discard(self, job_id: JobId) -> None:
        if not self._is_kept():
            _remove(self._folder)

    def release(self, job_id: JobId) -> None:
        if self._frame is not None:
            self._writing = FrameWriting(self._frame, self._what)  # for the program's next job
        if self._temporary is not None and not self._is_kept():
            _remove(self._temporary)  # a job without configured storage has no checkpoints left

    def _is_kept(self) -> bool:
        place = Place.of(self._folder, StorageError).child(KEPT)
        return bool(place.system.get_file_info(place.path).is_file)

    def split_id(self, split: RowGroupSplit) -> str:
        return name_of(split)

    def reader(self, context: SourceContext) -> SourceReader[RowGroupSplit]:
        return self._format.reader(context)

    def __getstate__(self) -> dict[str, Any]:
        """Drop the DataFrame from the pickle: slots need only splits."""
        return {**self.__dict__, "_frame": None, "_writing": None}


def storage_of(settings: Settings) -> str | None:
    """Return the folder or URI that contains the job's folder, None if the job uses a temporary folder."""
    return settings.get(CHECKPOINT_DIR) or settings.get(STORAGE_DIR)


@final
class DataFrameResult:
    """The records of a stream as a DataFrame: the job writes them to `folder`, and `read` returns them."""

    def __init__(self, type_info: TypeInformation, location: str | None, spark: SparkSession | None) -> None:
        """Raises ProgramError for a type that no DataFrame holds, EnvironmentFault if Spark cannot read the folder."""
        self._struct = struct_type_of(type_info)
        self._spark = spark
        base = location or tempfile.mkdtemp(prefix="headgate-frames-")
        self.folder = below(absolute(base), f"to-spark-{uuid.uuid4().hex}")
        self._remove_at_exit(base if location is None else self.folder)
        try:
            self._check()
        except BaseException:
            self.discard()
            raise

    def _check(self) -> None:
        found = sessions.active(self._spark)
        if found is not None:
            _check_times(found, self._struct.json())
            check_shared(found, self.folder)

    def _remove_at_exit(self, folder: str) -> None:
        self._remove: Callable[[], None] = lambda: _remove(folder)
        atexit.register(self._remove)

    def discard(self) -> None:
        """Delete the files."""
        atexit.unregister(self._remove)
        self._remove()

    def read(self) -> DataFrame:
        """Return the DataFrame, in the given session or the active session.

        Raises EnvironmentFault without a session.
        """
        session = sessions.active(self._spark)
        if session is None:
            raise EnvironmentFault(
                "to_spark() needs a Spark session to make a DataFrame: pass one to "
                "get_execution_environment(spark=...), or use execute_and_collect()"
            )
        if not _has_files(Place.of(self.folder, StorageError)):
            return session.createDataFrame([], self._struct)
        return session.read.options(**READ_OPTIONS).schema(self._struct).parquet(spark_pattern(self.folder))


def _has_files(place: Place) -> bool:
    # An object store has no empty folders.
    return place.system.get_file_info(place.path).type != fs.FileType.NotFound and bool(list_files(place, StorageError))


def _check_times(spark: SparkSession, columns: str) -> None:
    if '"type":"time(' in columns and spark.conf.get("spark.sql.timeType.enabled", "false") != "true":
        raise ProgramError(
            "to_spark() has a field of the type Time, and Spark has times of day only with "
            "spark.sql.timeType.enabled=true: set that, or map the field to text"
        )


def _remove(folder: str) -> None:
    place = Place.of(folder, StorageError)
    try:
        place.system.delete_dir(place.path)
    except OSError:  # it does not exist
        return
