"""Writing a DataFrame: one group of Spark's jobs, watched while it runs, and cancelled with the job that it is for."""

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
"""How often to look for a cancellation that Spark has not seen, and for what is due to be said."""
_GROUP: Final = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@final
class FrameWriting:
    """The writing of one DataFrame, once. `cancel` may be called from any thread, also before it begins."""

    def __init__(self, frame: DataFrame, what: str) -> None:
        """`what` names the DataFrame for people."""
        self._frame = frame
        self._context = frame.sparkSession.sparkContext
        self._what = what
        self._group = f"headgate-write-{uuid.uuid4().hex}"
        self._stir = threading.Event()
        self._cancelled = False
        self._over = False

    def cancel(self) -> None:
        """Have Spark give it up. Does not block."""
        self._cancelled = True
        self._stir.set()

    def write(self, folder: str) -> None:
        """Compute the DataFrame and write it as Parquet into a new folder, its columns by number.

        Blocks until that is done. What takes long is told on standard error. Raises `SourceError` with the cause when
        it fails, or is cancelled; the folder may then hold some of it.
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
        """Have Spark's jobs of this thread show as what they are, and be cancelled together."""
        before: list[str | None] = [self._context.getLocalProperty(name) for name in _GROUP]
        self._context.setJobGroup(self._group, f"headgate: {self._what}", interruptOnCancel=True)
        try:
            yield
        finally:
            for name, value in zip(_GROUP, before, strict=True):
                self._context.setLocalProperty(name, value)  # type: ignore[arg-type]  # None: as it was not set

    def _watch(self, began_s: float) -> None:
        reports = Reports(self._what, began_s)
        try:
            while not self._over:
                self._stir.wait(LOOK_S)
                if self._cancelled and not self._over:
                    self._context.cancelJobGroup(self._group)  # again and again: a job may begin just now
                    self._stir.clear()
                elif time.monotonic() >= reports.due_s:
                    self.tell(reports)
        except (PySparkException, Py4JError, OSError):
            return  # the session is gone, and the writing with it

    def tell(self, reports: Reports) -> None:
        """Say how far Spark is, if a report is due."""
        text = reports.report(observe_group(self._context, self._group), time.monotonic())
        if text is not None:
            print(f"headgate: {text}", file=sys.stderr, flush=True)
