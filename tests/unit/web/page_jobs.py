"""Jobs that the tests of the page make up: their figures are what a test says, their plan is a real one."""

from __future__ import annotations

from typing import Any

from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import SubtaskAcked
from headgate.elements import Barrier
from headgate.functions.metrics import MetricReport
from headgate.graph.logical import Partitioning
from headgate.graph.placement import as_programmed
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.operators.collect import CollectFactory
from headgate.operators.record_guard import FAILED_COUNT
from headgate.runtime.control.subtask_metrics import Rates, SubtaskMetrics, TimeShares, Traffic
from headgate.runtime.monitoring.progress import JobProgress
from headgate.runtime.monitoring.statistics import CheckpointStatistics
from headgate.web.page.findings import Seen
from headgate.web.page.history import JobHistory
from headgate.web.page.overview_json import overview
from headgate.web.question import ServedJob
from tests.unit.runtime.plans import Step, line_plan
from tests.unit.web.test_job_json import View

FAILED = MetricReport(name=FAILED_COUNT, kind="counter", groups=(), labels={}, values={"": 7.0})


def own(
    *, busy: float = 0.0, held: float = 0.0, records: float = 0.0, watermark: int | None = None, failed: bool = False
) -> SubtaskMetrics:
    """What a subtask reports: shares of time from 0 to 1, records in a second."""
    time = TimeShares(busy_ms=busy * 1000, back_pressured_ms=held * 1000, idle_ms=(1 - busy - held) * 1000)
    return SubtaskMetrics(
        traffic=Traffic(records_in=int(records)),
        time=time,
        rates=Rates(records_in=records, time=time),
        watermark_in=None,
        watermark_out=watermark,
        user=(("uid", FAILED),) if failed else (),
    )


class PageJob:
    """A source and what collects from it, and the history of what they report."""

    def __init__(self, parallelism: int = 2) -> None:
        plan = line_plan([1, 2], Step(CollectFactory(), Partitioning.REBALANCE, parallelism=parallelism))
        self.progress = JobProgress(placement=as_programmed(plan), running_since_ms=0, attempt=1)
        self.job = ServedJob(View(progress=self.progress, plan=plan), 0)
        self.history = JobHistory()
        self.now_ms = 0

    def reports(self, source: SubtaskMetrics, *collecting: SubtaskMetrics) -> None:
        """Have the source and the subtasks behind it report."""
        found = {SubtaskId(0, 0): source}
        self.progress.subtasks = found | {SubtaskId(1, index): each for index, each in enumerate(collecting)}

    def passes(self, ms: int) -> None:
        """Let time pass, and the history see it."""
        self.now_ms += ms
        self.history.add(overview(self.job, self.now_ms))

    def triggers(self, number: int) -> Barrier:
        """Have a checkpoint begin."""
        barrier = Barrier(CheckpointId(number), self.now_ms)
        self.progress.statistics.triggered(barrier, Attempt(1), self.progress.placement.parallelism, 0.0)
        return barrier

    def acks(self, number: int, subtask: SubtaskId, size_bytes: int = 0, **took: Any) -> None:
        """Have a subtask acknowledge a checkpoint after all that it took."""
        state = SubtaskState(operators=(), in_flight=(), processed_bytes=size_bytes, **took)
        acked = SubtaskAcked(attempt=Attempt(1), subtask=subtask, checkpoint_id=CheckpointId(number), state=state)
        self.progress.statistics.acked(acked, self.now_ms + int(sum(took.values()) - took.get("upload_ms", 0)))

    def checkpoint(self, number: int, size_bytes: int = 0, failure: str | None = None, **took: Any) -> None:
        """Have a checkpoint of the second vertex end so."""
        statistics: CheckpointStatistics = self.progress.statistics
        barrier = self.triggers(number)
        if failure is not None:
            statistics.failed(barrier.checkpoint_id, failure, self.now_ms)
            return
        self.acks(number, SubtaskId(1, 0), size_bytes, **took)
        statistics.completed(barrier.checkpoint_id, None, 1.0)

    def seen(self) -> Seen:
        """All that the rules look at."""
        return Seen(self.job, self.history, self.now_ms)
