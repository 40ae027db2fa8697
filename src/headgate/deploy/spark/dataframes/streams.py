"""Streaming DataFrames as sources: `from_spark_stream`.

Spark runs the query on separate cores and calls `foreachBatch` with each micro-batch. The call writes the batch to
storage as Parquet, and the job reads it. When a complete checkpoint covers the batch, the call returns, and Spark
commits the batch in its checkpoint location. That location and the job's snapshot together determine where both
continue.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Sequence
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
"""Spark recognises an interrupted query by this text. For any other error it logs the whole Java stack."""
_STOP_S_MAX: Final = 10.0
_STOP_LOOK_S: Final = 0.02


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """Options of a query, see `StreamExecutionEnvironment.from_spark_stream`. Raises ProgramError for a wrong value."""

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
    frame: DataFrame, location: str | os.PathLike[str], options: StreamOptions, columns: Sequence[str] | None = None
) -> tuple[MicroBatchSource, RowTypeInfo]:
    """Return the source of a streaming DataFrame, and the type of its rows. `columns` are to be read, by default all.

    Raises ProgramError for other objects than streaming DataFrames, and for a column that no record can hold.
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
    format = SparkParquetFormat(row_type, columns)
    return MicroBatchSource(feed, format, bounded=ends, free_cores=options.free_cores), row_type


@final
class SparkQuery:
    """A streaming query, with Spark's checkpoint at `<location>/query`. Implements `Query` of `BatchFeed`."""

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
        """Reason why the feed refused a batch. Spark's own error would surround it with a page of text."""

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
        """Pass a batch to the feed. Blocks until a checkpoint covers the batch. Raises `SourceError` with the cause.

        After the end of the job it raises an interruption, which Spark expects from a query that it stops.
        """
        try:
            feed.process(self._id() or "", number, lambda folder: self._write(batch, folder))
        except Exception as error:  # noqa: BLE001  # Spark and the job both get the reason
            if feed.closed:
                self._await_stop()
                raise SourceError(_INTERRUPTED) from None
            self._cause = reason_of(error)
            # `from None`: Spark overflows its stack when it searches Java's long error for an interruption.
            raise SourceError(self._cause) from None

    def _write(self, batch: DataFrame, folder: str) -> None:
        with self._writing:
            write_parquet(batch, folder)

    def _await_stop(self) -> None:
        """Wait until Spark stops the query: before that, Spark would treat an interruption as an error."""
        due_s = time.monotonic() + _STOP_S_MAX
        with contextlib.suppress(*JVM_ERRORS):
            while time.monotonic() < due_s and (self._running is None or self._running.isActive):
                time.sleep(_STOP_LOOK_S)

    def await_end(self, running: StreamingQuery, feed: BatchFeed) -> None:
        """Block until the query has ended, and tell the feed the reason."""
        try:
            running.awaitTermination()
        except Exception as error:  # noqa: BLE001  # the job must not wait for batches of a query that ended
            feed.ended(self._cause or reason_of(error))
        else:
            feed.ended(None)

    def stop(self) -> None:
        with self._starting:  # the job may end while the query starts
            self._stopped = True
        if self._writing.acquire(timeout=_STOP_S_MAX):  # Spark logs an interrupted write at length
            self._writing.release()
        if self._running is not None:
            with contextlib.suppress(*JVM_ERRORS):  # the query has failed, or the session is gone
                self._running.stop()
