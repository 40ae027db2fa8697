"""A job at a glance, as the page shows it: a few figures for each vertex, however many subtasks it has. Pure.

Shares of time are from 0 to 1, rates per second, times in milliseconds, sizes in bytes; unknown values are null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headgate.graph.job_graph import VertexPlan
from headgate.operators.out_of_order import LATE_RECORDS
from headgate.operators.record_guard import FAILED_COUNT
from headgate.runtime.control.subtask_metrics import SubtaskMetrics
from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord
from headgate.runtime.monitoring.progress import JobProgress
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.question import ServedJob, vertex_id

_MS = 1000.0


def overview(job: ServedJob, now_ms: int) -> Json:
    """Return a job with its vertices and its checkpoints, in one pass over its subtasks; `now_ms` is wall clock."""
    view, progress = job.view, job.view.progress
    own: list[list[SubtaskMetrics]] = [[] for _ in view.plan.vertices]
    for subtask, metrics in progress.subtasks.items():
        own[subtask.vertex].append(metrics)
    state_bytes = _state_bytes(progress, len(own))
    return {
        "now": now_ms,
        "id": view.job_id,
        "name": view.plan.job_name,
        "state": view.status().name,
        "started": job.started_ms,
        "runningSince": progress.running_since_ms,
        "attempt": progress.attempt,
        "restarts": progress.restarts,
        "failures": len(progress.failures),
        "newestFailure": _failure(progress, now_ms),
        "slots": progress.placement.slots,
        "vertices": [
            vertex_json(vertex, progress.placement.parallelism[vertex.id], own[vertex.id])
            | {"stateBytes": state_bytes[vertex.id]}
            for vertex in view.plan.vertices
        ],
        "checkpoints": _checkpoints(progress, now_ms),
    }


def vertex_json(vertex: VertexPlan, parallelism: int, own: Sequence[SubtaskMetrics]) -> Json:
    """Return the figures of a vertex, from the metrics of the subtasks that have reported."""
    rates, traffic = [each.rates for each in own], [each.traffic for each in own]
    return {
        "id": vertex_id(vertex),
        "name": vertex.name,
        "parallelism": parallelism,
        "reporting": len(own),
        "busy": _share(each.time.busy_ms for each in rates),
        "backPressured": _share(each.time.back_pressured_ms for each in rates),
        "idle": _share(each.time.idle_ms for each in rates),
        "in": round(sum(each.records_in for each in rates), 1),
        "out": round(sum(each.records_out for each in rates), 1),
        "bytesIn": round(sum(each.bytes_in for each in rates)),
        "bytesOut": round(sum(each.bytes_out for each in rates)),
        "recordsIn": sum(each.records_in for each in traffic),
        "recordsOut": sum(each.records_out for each in traffic),
        "watermark": _least(each.watermark_out if each.watermark_in is None else each.watermark_in for each in own),
        "watermarkLag": _most(each.watermark_lag_ms for each in own),
        "failed": _counted(own, FAILED_COUNT),
        "late": _counted(own, LATE_RECORDS),
    }


def _share(ms_of_each: Iterable[float]) -> Json:
    """Return the mean and the maximum of shares of time, which are given in milliseconds per second."""
    shares = [min(1.0, ms / _MS) for ms in ms_of_each]
    return {
        "avg": round(sum(shares) / len(shares), 3) if shares else None,
        "max": round(max(shares), 3) if shares else None,
    }


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _most(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _counted(own: Iterable[SubtaskMetrics], name: str) -> int:
    return sum(sum(each.counts(name).values()) for each in own)


def _failure(progress: JobProgress, now_ms: int) -> Json | None:
    if not progress.failures:
        return None
    newest = progress.failures[-1]
    return {"age": max(0, now_ms - newest.wall_ms), "attempt": newest.attempt, "text": newest.line()}


def _state_bytes(progress: JobProgress, vertices: int) -> list[int | None]:
    """Return the bytes of state of each vertex in the newest complete checkpoint."""
    newest = progress.statistics.latest.completed
    sums: list[int | None] = [None] * vertices
    for subtask, figures in newest.subtasks.copy().items() if newest is not None else ():
        sums[subtask.vertex] = (sums[subtask.vertex] or 0) + figures.state_bytes
    return sums


def _checkpoints(progress: JobProgress, now_ms: int) -> Json:
    counts, latest = progress.statistics.counts, progress.statistics.latest
    return {
        "total": counts.triggered,
        "completed": counts.completed,
        "failed": counts.failed,
        "inProgress": counts.in_progress,
        "latest": None if latest.completed is None else _completed(latest.completed, now_ms),
    }


def _completed(record: CheckpointRecord, now_ms: int) -> Json:
    figures = record.acked()
    return {
        "id": record.checkpoint_id,
        "age": max(0, now_ms - record.barrier.trigger_ms),
        "duration": max((own.duration_ms for own in figures), default=None),
        "size": sum(own.checkpointed_bytes for own in figures),
        "stateBytes": sum(own.state_bytes for own in figures),
    }
