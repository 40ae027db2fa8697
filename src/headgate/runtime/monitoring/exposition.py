"""Metrics as text for Prometheus.

Names are Flink's, with the prefix `headgate_job_` or `headgate_task_`. Metrics of functions have the prefix
`headgate_operator_` and the names of their groups. All are gauges, as with Flink's reporter, because each attempt
counts from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from headgate.functions.metrics import MetricReport
from headgate.graph.job_graph import OperatorPlan
from headgate.ids import SubtaskId
from headgate.runtime.monitoring.metrics import (
    JOB_METRICS,
    OPERATOR_METRICS,
    TASK_METRICS,
    JobMetric,
    JobMetrics,
    OperatorMetric,
    TaskMetric,
)

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
"""The media type of the text."""

_WORDS: Final[dict[str, TaskMetric | OperatorMetric | JobMetric]] = {
    **{f"headgate_job_{metric.name}": metric for metric in JOB_METRICS},
    **{f"headgate_task_{metric.name}": metric for metric in TASK_METRICS},
    **{f"headgate_operator_{metric.name}": metric for metric in OPERATOR_METRICS},
}
_Labels = tuple[tuple[str, str], ...]


def exposition(jobs: Iterable[JobMetrics], now_ms: int) -> bytes:
    """Return the present metrics of the jobs as text. `now_ms` is wall clock. May be called from any thread."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_JobsCollector(list(jobs), now_ms))
    return generate_latest(registry)


@final
class _JobsCollector(Collector):
    """Collects the metrics of some jobs."""

    def __init__(self, jobs: list[JobMetrics], now_ms: int) -> None:
        self._jobs = jobs
        self._now_ms = now_ms

    def collect(self) -> Iterator[Metric]:
        samples: dict[str, dict[_Labels, float]] = {}
        for job in self._jobs:
            for name, labels, value in _samples(job, self._now_ms):
                samples.setdefault(name, {})[tuple(sorted(labels.items()))] = value
        for name, values in samples.items():
            metric = Metric(name, _help(name), "gauge")
            for pairs, value in values.items():
                metric.add_sample(name, dict(pairs), value)
            yield metric


def _help(name: str) -> str:
    known = _WORDS.get(name)
    if known is None:
        return "a metric of the program"
    return f"{known.meaning} ({known.unit})" if known.unit else known.meaning


def _samples(job: JobMetrics, now_ms: int) -> Iterator[tuple[str, dict[str, str], float]]:
    of_job = {"job_id": job.plan.job_id, "job_name": job.plan.job_name}
    for name, value in job.of_job(now_ms).items():
        yield f"headgate_job_{name}", of_job, value
    for subtask in job.progress.placement.subtasks():
        labels = of_job | _labels_of_task(job, subtask)
        for name, value in job.of_task(subtask).items():
            yield f"headgate_task_{name}", labels, value
        for operator, report in job.of_functions(subtask):
            for suffix, value in report.values.items():
                yield _name(report, suffix), _labels_of_function(operator, report) | labels, value


def _labels_of_task(job: JobMetrics, subtask: SubtaskId) -> dict[str, str]:
    vertex = job.plan.vertex_of(subtask)
    return {"task": vertex.name, "task_id": vertex.operators[0].uid, "subtask_index": str(subtask.index)}


def _labels_of_function(operator: OperatorPlan, report: MetricReport) -> dict[str, str]:
    own = {_word(name): value for name, value in report.labels.items()}
    return own | {"operator": operator.name, "operator_id": operator.uid}


def _name(report: MetricReport, suffix: str) -> str:
    return "_".join(["headgate_operator", *map(_word, (*report.groups, report.name, *([suffix] if suffix else [])))])


def _word(text: str) -> str:
    """Return the text with `_` for characters that names must not contain."""
    word = re.sub(r"[^a-zA-Z0-9_]", "_", text)
    return f"_{word}" if word[:1].isdigit() else word
