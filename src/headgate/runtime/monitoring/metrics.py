"""The metrics of a job: a table of all metrics, and their present values.

Names are Flink's. docs/reference/metrics.md and the text for Prometheus are generated from the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from headgate.functions.metrics import MetricReport
from headgate.graph.job_graph import JobGraph, OperatorPlan
from headgate.ids import SubtaskId
from headgate.operators.out_of_order import LATE_RECORDS
from headgate.operators.record_guard import FAILED_COUNT
from headgate.operators.windows.base import WINDOWS_OPEN
from headgate.runtime.control.subtask_metrics import SubtaskMetrics
from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord, totals
from headgate.runtime.monitoring.progress import JobProgress
from headgate.runtime.monitoring.statistics_json import Json


@final
@dataclass(frozen=True, slots=True)
class TaskMetric:
    """A metric of each subtask. `read` returns None while there is no value."""

    name: str
    kind: str
    unit: str
    meaning: str
    read: Callable[[SubtaskMetrics], float | None]


@final
@dataclass(frozen=True, slots=True)
class OperatorMetric:
    """A metric that an operator registers in the group of its function."""

    name: str
    kind: str
    unit: str
    meaning: str


@final
@dataclass(frozen=True, slots=True)
class JobMetric:
    """A metric of the whole job at a time of the driver's wall clock. `read` is as in `TaskMetric`."""

    name: str
    kind: str
    unit: str
    meaning: str
    read: Callable[[JobProgress, int], float | None]


TASK_METRICS: Final = (
    TaskMetric(
        "numRecordsIn",
        "counter",
        "records",
        "taken from the inputs, or read by the source",
        lambda own: own.traffic.records_in,
    ),
    TaskMetric(
        "numRecordsOut",
        "counter",
        "records",
        "emitted, once for each stream that reads them",
        lambda own: own.traffic.records_out,
    ),
    TaskMetric(
        "numBytesIn", "counter", "bytes", "taken in from other slots, as encoded", lambda own: own.traffic.bytes_in
    ),
    TaskMetric("numBytesOut", "counter", "bytes", "sent to other slots, as encoded", lambda own: own.traffic.bytes_out),
    TaskMetric("numRecordsInPerSecond", "meter", "1/s", "rate of numRecordsIn", lambda own: own.rates.records_in),
    TaskMetric("numRecordsOutPerSecond", "meter", "1/s", "rate of numRecordsOut", lambda own: own.rates.records_out),
    TaskMetric("numBytesInPerSecond", "meter", "bytes/s", "rate of numBytesIn", lambda own: own.rates.bytes_in),
    TaskMetric("numBytesOutPerSecond", "meter", "bytes/s", "rate of numBytesOut", lambda own: own.rates.bytes_out),
    TaskMetric("busyTimeMsPerSecond", "gauge", "ms/s", "time at work", lambda own: own.rates.time.busy_ms),
    TaskMetric(
        "backPressuredTimeMsPerSecond",
        "gauge",
        "ms/s",
        "time with more to do, but without room for what comes out, or a turn of the slot's thread",
        lambda own: own.rates.time.back_pressured_ms,
    ),
    TaskMetric(
        "idleTimeMsPerSecond",
        "gauge",
        "ms/s",
        "the rest of the time",
        lambda own: own.rates.time.idle_ms,
    ),
    TaskMetric("accumulateBusyTimeMs", "counter", "ms", "time at work in all", lambda own: own.time.busy_ms),
    TaskMetric(
        "accumulateBackPressuredTimeMs",
        "counter",
        "ms",
        "back-pressured time in all",
        lambda own: own.time.back_pressured_ms,
    ),
    TaskMetric("accumulateIdleTimeMs", "counter", "ms", "idle time in all", lambda own: own.time.idle_ms),
    TaskMetric(
        "currentInputWatermark",
        "gauge",
        "ms since 1970",
        "newest watermark of all inputs together; none at a source",
        lambda own: own.watermark_in,
    ),
    TaskMetric(
        "currentOutputWatermark",
        "gauge",
        "ms since 1970",
        "newest watermark that was emitted",
        lambda own: own.watermark_out,
    ),
    TaskMetric(
        "currentInput1Watermark",
        "gauge",
        "ms since 1970",
        "newest watermark of the first input, where there are two",
        lambda own: own.watermark_of_input(1),
    ),
    TaskMetric(
        "currentInput2Watermark",
        "gauge",
        "ms since 1970",
        "newest watermark of the second input, where there are two",
        lambda own: own.watermark_of_input(2),
    ),
    TaskMetric(
        "watermarkLag",
        "gauge",
        "ms",
        "how far the input watermark, at a source the output watermark, is behind the wall clock",
        lambda own: own.watermark_lag_ms,
    ),
    TaskMetric(
        "currentEmitEventTimeLag",
        "gauge",
        "ms",
        "how far the newest record that a source has read was behind the wall clock by then",
        lambda own: own.emit_lag_ms,
    ),
    TaskMetric(
        "watermarkAlignmentDrift",
        "gauge",
        "ms",
        "how far an aligned source is ahead of the last one of its group; none before the first announcement",
        lambda own: own.alignment_drift_ms,
    ),
)

OPERATOR_METRICS: Final = (
    OperatorMetric(
        FAILED_COUNT, "counter", "records", "that the function failed for and that were left out, as `on_error` says"
    ),
    OperatorMetric(
        LATE_RECORDS,
        "counter",
        "records",
        "that came too late for windows, joins and patterns, and went to no side output",
    ),
    OperatorMetric(
        WINDOWS_OPEN, "gauge", "windows", "that are kept: those of all keys that end at the same time count once"
    ),
)


def _latest(progress: JobProgress, name: str) -> float | None:
    completed: CheckpointRecord | None = progress.statistics.latest.completed
    return None if completed is None else totals(completed.acked())[name]


def _uptime_ms(progress: JobProgress, now_ms: int) -> float | None:
    since_ms = progress.running_since_ms
    return None if since_ms is None else max(0, now_ms - since_ms)


def _failures(progress: JobProgress) -> int:
    return progress.restarts + sum(failure.restart_delay_ms is None for failure in list(progress.failures))


def _restored_ms(progress: JobProgress) -> float | None:
    restored = progress.statistics.latest.restored
    return None if restored is None else restored.wall_ms


def _completed_id(progress: JobProgress) -> float | None:
    completed = progress.statistics.latest.completed
    return None if completed is None else completed.checkpoint_id


JOB_METRICS: Final = (
    JobMetric(
        "numRestarts",
        "gauge",
        "restarts",
        "since this driver has the job",
        lambda progress, now_ms: progress.restarts,
    ),
    JobMetric(
        "numFailures",
        "gauge",
        "failures",
        "since this driver has the job, the final one too",
        lambda progress, now_ms: _failures(progress),
    ),
    JobMetric("uptime", "gauge", "ms", "time that the attempt has run; none while there is none", _uptime_ms),
    JobMetric(
        "totalNumberOfCheckpoints",
        "gauge",
        "checkpoints",
        "that were triggered, savepoints too",
        lambda progress, now_ms: progress.statistics.counts.triggered,
    ),
    JobMetric(
        "numberOfInProgressCheckpoints",
        "gauge",
        "checkpoints",
        "under way",
        lambda progress, now_ms: progress.statistics.counts.in_progress,
    ),
    JobMetric(
        "numberOfCompletedCheckpoints",
        "gauge",
        "checkpoints",
        "that are complete",
        lambda progress, now_ms: progress.statistics.counts.completed,
    ),
    JobMetric(
        "numberOfFailedCheckpoints",
        "gauge",
        "checkpoints",
        "that were given up",
        lambda progress, now_ms: progress.statistics.counts.failed,
    ),
    JobMetric(
        "lastCheckpointDuration",
        "gauge",
        "ms",
        "from the trigger of the newest complete checkpoint to its last acknowledgement",
        lambda progress, now_ms: _latest(progress, "end_to_end_duration"),
    ),
    JobMetric(
        "lastCheckpointSize",
        "gauge",
        "bytes",
        "written for it alone; less than all its state if it is an increment",
        lambda progress, now_ms: _latest(progress, "checkpointed_size"),
    ),
    JobMetric(
        "lastCheckpointFullSize",
        "gauge",
        "bytes",
        "all its state",
        lambda progress, now_ms: _latest(progress, "state_size"),
    ),
    JobMetric(
        "lastCheckpointProcessedData",
        "gauge",
        "bytes",
        "of data in flight, processed while it was aligned",
        lambda progress, now_ms: _latest(progress, "processed_data"),
    ),
    JobMetric(
        "lastCheckpointPersistedData",
        "gauge",
        "bytes",
        "of data in flight, part of it because its barriers overtook them",
        lambda progress, now_ms: _latest(progress, "persisted_data"),
    ),
    JobMetric(
        "lastCompletedCheckpointId",
        "gauge",
        "",
        "its number",
        lambda progress, now_ms: _completed_id(progress),
    ),
    JobMetric(
        "lastCheckpointRestoreTimestamp",
        "gauge",
        "ms since 1970",
        "when the job last started from a checkpoint or savepoint",
        lambda progress, now_ms: _restored_ms(progress),
    ),
)


@final
class PressureLevel(Enum):
    """The level of back pressure of a subtask."""

    OK = "ok"
    LOW = "low"
    HIGH = "high"

    @classmethod
    def of(cls, ratio: float) -> PressureLevel:
        """Return the level of a ratio from 0 to 1: ok up to 0.1, low up to 0.5, high above."""
        return cls.OK if ratio <= 0.1 else cls.LOW if ratio <= 0.5 else cls.HIGH


@final
@dataclass(frozen=True, slots=True)
class JobMetrics:
    """The present metrics of one job. May be read from any thread."""

    plan: JobGraph
    progress: JobProgress

    def of_job(self, now_ms: int) -> dict[str, float]:
        """Return the metrics of the job that have a value; `now_ms` is wall clock."""
        read = ((metric.name, metric.read(self.progress, now_ms)) for metric in JOB_METRICS)
        return {name: value for name, value in read if value is not None}

    def of_subtask(self, subtask: SubtaskId) -> dict[str, float]:
        """Return the metrics of a subtask that have a value. Those of functions begin with the operator's name."""
        found = self.of_task(subtask)
        for operator, report in self.of_functions(subtask):
            path = ".".join([operator.name, *report.groups, *report.labels.values(), report.name])
            found |= {f"{path}.{suffix}" if suffix else path: value for suffix, value in report.values.items()}
        return found

    def of_task(self, subtask: SubtaskId) -> dict[str, float]:
        """Return the metrics of a subtask that have a value, without those of functions."""
        own = self.progress.subtasks.get(subtask)
        if own is None:
            return {}
        read = ((metric.name, metric.read(own)) for metric in TASK_METRICS)
        return {name: value for name, value in read if value is not None}

    def of_functions(self, subtask: SubtaskId) -> Iterator[tuple[OperatorPlan, MetricReport]]:
        """Yield the metrics of a subtask's functions, each with its operator."""
        own = self.progress.subtasks.get(subtask)
        operators = {operator.uid: operator for operator in self.plan.vertex_of(subtask).operators}
        for uid, report in () if own is None else own.user:
            yield operators[uid], report

    def of_vertex(self, vertex: int) -> dict[str, dict[str, float]]:
        """Return min, max, avg and sum of each metric over the subtasks of a vertex that have it."""
        values: dict[str, list[float]] = {}
        for subtask in self.progress.placement.instances_of(vertex):
            for name, value in self.of_task(subtask).items():
                values.setdefault(name, []).append(value)
        return {
            name: {"min": min(own), "max": max(own), "avg": sum(own) / len(own), "sum": sum(own)}
            for name, own in values.items()
        }

    def back_pressure(self, vertex: int, now_ms: int) -> Json:
        """Return the back pressure of a vertex in the form of Flink's REST interface. `now_ms` is wall clock."""
        subtasks = self.progress.placement.instances_of(vertex)
        known = {each.index: self.progress.subtasks[each] for each in subtasks if each in self.progress.subtasks}
        if not known:
            return {"status": "deprecated", "subtasks": []}
        ratios = {index: own.rates.time.back_pressured_ms / 1000.0 for index, own in known.items()}
        return {
            "status": "ok",
            "backpressureLevel": PressureLevel.of(max(ratios.values())).value,
            "end-timestamp": now_ms,
            "subtasks": [
                {
                    "subtask": index,
                    "attempt-number": max(0, self.progress.attempt - 1),
                    "backpressureLevel": PressureLevel.of(ratios[index]).value,
                    "ratio": ratios[index],
                    "busyRatio": own.rates.time.busy_ms / 1000.0,
                    "idleRatio": own.rates.time.idle_ms / 1000.0,
                }
                for index, own in known.items()
            ],
        }
