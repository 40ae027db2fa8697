"""Metrics of jobs, vertices and subtasks as JSON, with Flink's field names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from headgate.runtime.monitoring.metrics import JobMetrics
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.job_view import JobView
from headgate.web.question import Question

_AGGREGATES: Final = ("min", "max", "avg", "sum")
_WATERMARK: Final = "currentInputWatermark"
_READ_AND_WRITTEN: Final = {
    "read-bytes": "numBytesIn",
    "write-bytes": "numBytesOut",
    "read-records": "numRecordsIn",
    "write-records": "numRecordsOut",
    "accumulated-backpressured-time": "accumulateBackPressuredTimeMs",
    "accumulated-idle-time": "accumulateIdleTimeMs",
    "accumulated-busy-time": "accumulateBusyTimeMs",
}


def metrics_of(view: JobView) -> JobMetrics:
    """Return the current metrics of a job."""
    return JobMetrics(view.plan, view.progress)


def of_job(asked: Question) -> list[dict[str, str]]:
    """Return the names of the job's metrics; with `?get=a,b`, these metrics with their values."""
    return _chosen(metrics_of(asked.job.view).of_job(asked.now_ms), asked)


def of_vertex(asked: Question) -> list[dict[str, str]]:
    """Return what `of_job` does, for the subtasks of a vertex; the subtask's index precedes each name."""
    found = {f"{index}.{name}": value for index, own in enumerate(_of_subtasks(asked)) for name, value in own.items()}
    return _chosen(found, asked)


def of_subtasks(asked: Question) -> list[Json]:
    """Return the metric names of a vertex; with `?get=a,b`, aggregates over its subtasks, chosen by `?agg=min,max`."""
    found = metrics_of(asked.job.view).of_vertex(asked.vertex().id)
    wanted = _listed(asked, "get")
    if not wanted:
        return [{"id": name} for name in found]
    aggregates = [name for name in _listed(asked, "agg") if name in _AGGREGATES] or _AGGREGATES
    return [
        {"id": name, **{aggregate: found[name][aggregate] for aggregate in aggregates}}
        for name in wanted
        if name in found
    ]


def watermarks(asked: Question) -> list[dict[str, str]]:
    """Return the watermarks of a vertex's subtasks, without subtasks that have no watermark."""
    return [
        {"id": f"{index}.{_WATERMARK}", "value": _text(own[_WATERMARK])}
        for index, own in enumerate(_of_subtasks(asked))
        if _WATERMARK in own
    ]


def backpressure(asked: Question) -> Json:
    """Return the shares of time in which the subtasks of a vertex are busy, back-pressured and idle."""
    return metrics_of(asked.job.view).back_pressure(asked.vertex().id, asked.now_ms)


def totals(found: Iterable[Mapping[str, float]]) -> dict[str, int]:
    """Return the sums of what the subtasks have read and written, in Flink's fields for a vertex."""
    rows = list(found)
    summed = {field: int(sum(own.get(name, 0) for own in rows)) for field, name in _READ_AND_WRITTEN.items()}
    complete = bool(rows) and all(rows)
    return summed | {
        f"{field}-complete": complete for field in ("read-bytes", "write-bytes", "read-records", "write-records")
    }


def _of_subtasks(asked: Question) -> list[dict[str, float]]:
    view, vertex = asked.job.view, asked.vertex()
    return [metrics_of(view).of_subtask(subtask) for subtask in view.progress.placement.instances_of(vertex.id)]


def _chosen(metrics: Mapping[str, float], asked: Question) -> list[dict[str, str]]:
    wanted = _listed(asked, "get")
    if not wanted:
        return [{"id": name} for name in metrics]
    return [{"id": name, "value": _text(metrics[name])} for name in wanted if name in metrics]


def _listed(asked: Question, name: str) -> list[str]:
    return [word for word in asked.query.get(name, "").split(",") if word]


def _text(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)
