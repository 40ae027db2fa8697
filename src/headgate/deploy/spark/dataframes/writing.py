"""Writes a DataFrame as one group of Spark jobs, reports the progress, and cancels the group with the streaming job."""

from __future__ import annotations

import logging
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, final

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from headgate.deploy.spark.dataframes.parquet import write_parquet
from headgate.deploy.spark.spark_error import reason_of
from headgate.errors import SourceError

QUIET_S: Final = 3.0
"""Seconds before the first report."""
BETWEEN_S: Final = 5.0
"""Seconds between the first two reports; the time doubles with each report."""
BETWEEN_S_MAX: Final = 60.0
_log = logging.getLogger(__name__)
LOOK_S: Final = 0.5
"""Seconds between checks for a cancellation that Spark has missed, and for a report that is due."""
_GROUP: Final = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WriteProgress:
    """Tasks of the stages that Spark has planned so far. Rows and bytes are None if Spark does not count them."""

    tasks_done: int = 0
    tasks_running: int = 0
    tasks: int = 0
    rows: int | None = None
    size_bytes: int | None = None

    def __str__(self) -> str:
        if not self.tasks:
            return "not yet begun"
        running = f", {self.tasks_running} running" if self.tasks_running else ""
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        size = "" if self.size_bytes is None else f", {self.size_bytes / 1e6:,.0f} MB"
        return f"{self.tasks_done} of {self.tasks} tasks{running}{rows}{size}"


@final
class Reports:
    """Decides when to report the progress: not at first, then less and less often. Times are monotonic, in seconds.

    >>> reports = Reports("the DataFrame 'orders'", 100.0)
    >>> reports.due_s
    103.0
    >>> reports.report(WriteProgress(tasks_done=3, tasks=8), 103.0)
    "writing the DataFrame 'orders': 3 of 8 tasks, 3 s"
    """

    def __init__(self, what: str, began_s: float) -> None:
        self._what = what
        self._began_s = began_s
        self._between_s = BETWEEN_S
        self.due_s = began_s + QUIET_S

    def report(self, progress: WriteProgress, now_s: float) -> str | None:
        """Return the report that is due, None if none is due. `due_s` is the time of the next report."""
        if now_s < self.due_s:
            return None
        self.due_s = now_s + self._between_s
        self._between_s = min(2 * self._between_s, BETWEEN_S_MAX)
        return f"writing {self._what}: {progress}, {now_s - self._began_s:.0f} s"


def observe_group(context: SparkContext, group: str) -> WriteProgress:
    """Return the progress of a job group. Asks the JVM, and blocks for some milliseconds."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    ids = sorted({stage for job in jobs if job is not None for stage in job.stageIds})
    stages = [stage for stage in map(tracker.getStageInfo, ids) if stage is not None]
    written = [_written(context, stage.stageId) for stage in stages]
    known = [each for each in written if each is not None]
    return WriteProgress(
        tasks_done=sum(stage.numCompletedTasks for stage in stages),
        tasks_running=sum(stage.numActiveTasks for stage in stages),
        tasks=sum(stage.numTasks for stage in stages),
        rows=sum(rows for rows, _ in known) if known else None,
        size_bytes=sum(size for _, size in known) if known else None,
    )


def _written(context: SparkContext, stage: int) -> tuple[int, int] | None:
    """Return the rows and bytes that a stage has written. Uses a part of Spark that is not public."""
    try:
        scala: Any = context._jsc.sc()
        told = scala.statusStore().lastStageAttempt(stage)
        return int(told.outputRecords()), int(told.outputBytes())
    except Exception:  # noqa: BLE001  # other releases of Spark may lack it; the counts are optional
        return None


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
