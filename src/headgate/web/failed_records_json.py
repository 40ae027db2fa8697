"""The records that functions of a job failed for, and that were left out: counts, and samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headgate.operators.late import LATE_RECORDS
from headgate.operators.record_guard import FAILED_COUNT
from headgate.runtime.monitoring.progress import FailedRecord, JobProgress
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.question import Question, vertex_id

SHOWN_MAX: Final = 200
"""Samples in one answer."""


def failed_records(asked: Question) -> Json:
    """Return the operators that had failed or late records in this attempt or keep samples, the newest sample first."""
    view = asked.job.view
    failed, late = _counts(view.progress, FAILED_COUNT), _counts(view.progress, LATE_RECORDS)
    operators = []
    room = SHOWN_MAX
    for vertex in view.plan.vertices:
        for operator in vertex.operators:
            samples = list(view.progress.failed_records.get(operator.uid, ()))[::-1][:room]
            if failed.get(operator.uid) or late.get(operator.uid) or samples:
                room -= len(samples)
                operators.append(
                    {
                        "vertex": vertex_id(vertex),
                        "operator": operator.name,
                        "uid": operator.uid,
                        "failed": failed.get(operator.uid, 0),
                        "late": late.get(operator.uid, 0),
                        "samples": list(map(_sample, samples)),
                    }
                )
    return {"attempt": view.progress.attempt, "operators": operators}


def _sample(record: FailedRecord) -> Json:
    return {
        "at": record.wall_ms,
        "subtask": record.subtask.index,
        "attempt": record.attempt,
        "error": record.sample.error,
        "traceback": record.sample.traceback,
        "record": record.sample.record,
        "key": record.sample.key,
        "dealt": record.sample.dealt,
    }


def _counts(progress: JobProgress, name: str) -> dict[str, int]:
    sums: dict[str, int] = {}
    for uid, count in _reported(progress, name):
        sums[uid] = sums.get(uid, 0) + count
    return sums


def _reported(progress: JobProgress, name: str) -> Iterator[tuple[str, int]]:
    for own in progress.subtasks.values():
        for uid, report in own.user:
            if report.name == name:
                yield uid, int(report.values[""])
