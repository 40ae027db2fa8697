"""The progress of writing a DataFrame, and the times at which to report it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from pyspark import SparkContext

QUIET_S: Final = 3.0
"""Seconds before the first report."""
BETWEEN_S: Final = 5.0
"""Seconds between the first two reports; the time doubles with each report."""
BETWEEN_S_MAX: Final = 60.0


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
