"""Records for which functions of a job failed and which were skipped: counts and samples."""

from __future__ import annotations

from typing import Final

from headgate.operators.record_guard import FAILED_COUNT
from headgate.operators.side_outputs import LATE_RECORDS
from headgate.runtime.control.subtask_metrics import summed
from headgate.runtime.monitoring.progress import ReportedFailure
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.question import Question, vertex_id

SHOWN_MAX: Final = 200
"""The largest number of samples in one answer."""


def failed_records(asked: Question) -> Json:
    """Return the operators with failed or late records in this attempt, or with samples; the newest sample is first."""
    view = asked.job.view
    own = view.progress.subtasks.values()
    failed, late = (summed(each.counts(name) for each in own) for name in (FAILED_COUNT, LATE_RECORDS))
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


def _sample(record: ReportedFailure) -> Json:
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
