"""Writes a DataFrame as one group of Spark jobs, reports the progress, and cancels them with the streaming job."""

from __future__ import annotations

import logging
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from headgate.deploy.spark.dataframes.parquet import write_parquet
from headgate.deploy.spark.dataframes.progress import Reports, observe_group
from headgate.deploy.spark.spark_error import reason_of
from headgate.errors import SourceError

_log = logging.getLogger(__name__)

LOOK_S: Final = 0.5
"""Seconds between checks for a cancellation that Spark has missed, and for a report that is due."""
_GROUP: Final = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@final
class FrameWriting:
    """Writes one DataFrame once. `cancel` may be called from any thread, also before `write`."""

    def __init__(self, frame: DataFrame, what: str) -> None:
        """`what` is the name of the DataFrame in messages."""
        self._frame = frame
        self._context = frame.sparkSession.sparkContext
        self._what = what
        self._group = f"headgate-write-{uuid.uuid4().hex}"
        self._stir = threading.Event()
        self._cancelled = False
        self._over = False

    def cancel(self) -> None:
        """Cancel the write. Does not block."""
        self._cancelled = True
        self._stir.set()

    def write(self, folder: str) -> None:
        """Compute the DataFrame and write it as Parquet into a new folder, its columns by number.

        Blocks. A long write reports its progress on standard error. Raises `SourceError` with the cause if the write
        fails or is cancelled; the folder may then contain some of the files.
        """
        began_s = time.monotonic()
        watch = threading.Thread(target=self._watch, args=(began_s,), name="headgate-write", daemon=True)
        watch.start()
        try:
            self._write(folder)
        except (PySparkException, Py4JError, OSError) as error:
            reason = "it was cancelled" if self._cancelled else reason_of(error)
            raise SourceError(f"Spark could not write {self._what}: {reason}") from error
        finally:
            self._over = True
            self._stir.set()
            watch.join()
        _log.info("Spark has written %s in %.1f s", self._what, time.monotonic() - began_s)

    def _write(self, folder: str) -> None:
        if self._cancelled:
            raise SourceError(f"Spark no longer writes {self._what}: the job was cancelled")
        with self._as_group():
            write_parquet(self._frame, folder)

    @contextmanager
    def _as_group(self) -> Iterator[None]:
        """Put the Spark jobs of this thread into a job group: they have a description and can be cancelled together."""
        before: list[str | None] = [self._context.getLocalProperty(name) for name in _GROUP]
        self._context.setJobGroup(self._group, f"headgate: {self._what}", interruptOnCancel=True)
        try:
            yield
        finally:
            for name, value in zip(_GROUP, before, strict=True):
                self._context.setLocalProperty(name, value)  # type: ignore[arg-type]  # None: not set

    def _watch(self, began_s: float) -> None:
        reports = Reports(self._what, began_s)
        try:
            while not self._over:
                self._stir.wait(LOOK_S)
                if self._cancelled and not self._over:
                    self._context.cancelJobGroup(self._group)  # repeated: it misses a job that is just starting
                    self._stir.clear()
                elif time.monotonic() >= reports.due_s:
                    self.tell(reports)
        except (PySparkException, Py4JError, OSError):
            return  # without a session there is nothing to watch

    def tell(self, reports: Reports) -> None:
        """Print the progress, if a report is due."""
        text = reports.report(observe_group(self._context, self._group), time.monotonic())
        if text is not None:
            print(f"headgate: {text}", file=sys.stderr, flush=True)
