"""Streaming DataFrames as sources: `from_spark_stream`.

Spark runs the query, on cores of its own, and hands each micro-batch over by `foreachBatch`. The batch is written to
storage as Parquet, read by the job, and acknowledged when a complete checkpoint covers it: the call returns, and Spark
commits it in its own checkpoint location. What that says decides, with the job's snapshot, where both go on.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from dataclasses import dataclass
from typing import Final, final

from pyarrow import fs
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from headgate.checkpoint.paths import absolute, below
from headgate.connectors.files.places import Place
from headgate.connectors.files.spark_parquet import SparkParquetFormat
from headgate.connectors.micro_batches.feed import BatchFeed
from headgate.connectors.micro_batches.protocol import Record
from headgate.connectors.micro_batches.source import MicroBatchSource
from headgate.deploy.spark.dataframes.parquet import spark_uri, write_parquet
from headgate.deploy.spark.dataframes.schemas import row_type_of
from headgate.deploy.spark.jvm_loss import JVM_ERRORS
from headgate.deploy.spark.shared_storage import check_shared
from headgate.deploy.spark.spark_error import reason_of
from headgate.errors import ProgramError, SourceError, StorageError
from headgate.types.typeinfo import RowTypeInfo

_OUTPUT_MODES: Final = ("append", "update", "complete")
_INTERRUPTED: Final = (
    "py4j.protocol.Py4JJavaError: An error occurred while calling foreachBatch: java.lang.InterruptedException"
)
"""By these words Spark knows the interruption of a query that it stops: of all else it logs the whole Java stack."""
_STOP_S_MAX: Final = 10.0
_STOP_LOOK_S: Final = 0.02


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """How Spark runs a query: see `StreamExecutionEnvironment.from_spark_stream`. Raises ProgramError."""

    output_mode: str = "append"
    processing_time: str | None = None
    available_now: bool = False
    free_cores: int = 1

    def __post_init__(self) -> None:
        if self.output_mode not in _OUTPUT_MODES:
            raise ProgramError(f"output_mode is {self.output_mode!r}, but must be one of {', '.join(_OUTPUT_MODES)}")
        if self.processing_time is not None and self.available_now:
            raise ProgramError("processing_time and available_now are two triggers, but a query can have only one")
        if self.free_cores < 1:
            raise ProgramError(
                f"free_cores is {self.free_cores}, but Spark needs at least one core to make micro-batches"
            )


def source_of(
    frame: DataFrame, location: str | os.PathLike[str], options: StreamOptions
) -> tuple[MicroBatchSource, RowTypeInfo]:
    """Return the source of a streaming DataFrame, and the type of its records.

    Raises ProgramError for anything else, and for a column whose type has none here.
    """
    if not isinstance(frame, DataFrame) or type(frame).__module__.startswith("pyspark.sql.connect"):
        raise ProgramError(f"from_spark_stream() takes a streaming DataFrame of a classic Spark session, not {frame!r}")
    if not frame.isStreaming:
        raise ProgramError("from_spark_stream() takes a streaming DataFrame, but this one is bounded: use from_spark()")
    if not isinstance(location, str | os.PathLike) or not str(location):
        raise ProgramError(f"the checkpoint location of a streaming query must be a folder or URI, not {location!r}")
    row_type, ends = row_type_of(frame.schema), options.available_now
    folder = absolute(os.fspath(location))
    feed = BatchFeed(SparkQuery(frame, folder, options), below(folder, "batches"), ends=ends)
    format = SparkParquetFormat(row_type)
    return MicroBatchSource(feed, format, bounded=ends, free_cores=options.free_cores), row_type


@final
class SparkQuery:
    """A streaming query, and its record at `<location>/query`: a `Query` of `BatchFeed`."""

    def __init__(self, frame: DataFrame, location: str, options: StreamOptions) -> None:
        self._frame = frame
        self._location = below(location, "query")
        self._place = Place.of(self._location, ProgramError)
        self._options = options
        self._starting = threading.Lock()
        self._writing = threading.Lock()
        self._stopped = False
        self._running: StreamingQuery | None = None
        self._cause: str | None = None
        """Why a batch could not be taken: Spark would tell of it with a page of what is around."""

    def record(self) -> Record:
        try:
            return Record(query=self._id(), planned=self._newest("offsets"), acknowledged=self._newest("commits"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StorageError(f"cannot read the streaming query's record at {self._place}: {error}") from error

    def _id(self) -> str | None:
        place = self._place.child("metadata")
        try:
            with place.system.open_input_stream(place.path) as stream:
                return str(json.loads(stream.readall())["id"])
        except FileNotFoundError:
            return None

    def _newest(self, log: str) -> int:
        place = self._place.child(log)
        infos = place.system.get_file_info(fs.FileSelector(place.path, allow_not_found=True))
        return max((int(info.base_name) for info in infos if info.base_name.isdecimal()), default=-1)

    def start(self, feed: BatchFeed) -> None:
        check_shared(self._frame.sparkSession, self._location, "give from_spark_stream() a checkpoint location")

        def process(batch: DataFrame, number: int) -> None:
            self.hand_over(feed, batch, number)

        writer = self._frame.writeStream.foreachBatch(process).outputMode(self._options.output_mode)
        if self._options.available_now:
            writer = writer.trigger(availableNow=True)
        elif self._options.processing_time is not None:
            writer = writer.trigger(processingTime=self._options.processing_time)
        with self._starting:
            if not self._stopped:
                self._running = writer.option("checkpointLocation", spark_uri(self._location)).start()
                watch = threading.Thread(target=self.await_end, args=(self._running, feed), daemon=True)
                watch.start()

    def hand_over(self, feed: BatchFeed, batch: DataFrame, number: int) -> None:
        """Have the feed take a batch, as Spark asks; blocks as that does. Raises `SourceError` with the cause.

        After the end of the job it reports an interruption to Spark, which expects one from a query that is stopped.
        """
        try:
            feed.process(self._id() or "", number, lambda folder: self._write(batch, folder))
        except Exception as error:  # noqa: BLE001  # whatever it is, Spark and the job are told
            if feed.closed:
                self._await_stop()
                raise SourceError(_INTERRUPTED) from None
            self._cause = reason_of(error)
            # Without Java's pages of it: Spark runs out of stack when it looks through these for an interruption.
            raise SourceError(self._cause) from None

    def _write(self, batch: DataFrame, folder: str) -> None:
        with self._writing:
            write_parquet(batch, folder)

    def _await_stop(self) -> None:
        """Wait until Spark knows that the query is being stopped: before, an interruption would be an error as well."""
        due_s = time.monotonic() + _STOP_S_MAX
        with contextlib.suppress(*JVM_ERRORS):
            while time.monotonic() < due_s and (self._running is None or self._running.isActive):
                time.sleep(_STOP_LOOK_S)

    def await_end(self, running: StreamingQuery, feed: BatchFeed) -> None:
        """Block until the query runs no more, and tell the feed why."""
        try:
            running.awaitTermination()
        except Exception as error:  # noqa: BLE001  # whatever has ended the query, the job must not wait for more of it
            feed.ended(self._cause or reason_of(error))
        else:
            feed.ended(None)

    def stop(self) -> None:
        with self._starting:  # a job may end while its query is being started
            self._stopped = True
        if self._writing.acquire(timeout=_STOP_S_MAX):  # Spark would tell at length that it has interrupted a write
            self._writing.release()
        if self._running is not None:
            with contextlib.suppress(*JVM_ERRORS):  # it has failed, or the session is gone
                self._running.stop()
