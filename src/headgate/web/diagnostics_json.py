"""Diagnostics of a running job: records for which functions failed, skipped records, and the log lines of slots."""

from __future__ import annotations

from typing import Final

from headgate.ids import SlotIndex
from headgate.operators.out_of_order import LATE_RECORDS
from headgate.operators.record_guard import FAILED_COUNT
from headgate.runtime.control.subtask_metrics import summed
from headgate.runtime.monitoring.progress import LINES_MAX, ReportedFailure, SlotLog
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.question import Question, vertex_id, whole_number

SAMPLES_MAX: Final = 200
"""The largest number of samples in one answer."""
LINES_SHOWN_MAX: Final = 500
"""The largest number of lines in one answer."""


def failed_records(asked: Question) -> Json:
    """Return the operators with failed or late records in this attempt, or with samples; the newest sample is first."""
    view = asked.job.view
    own = view.progress.subtasks.values()
    failed, late = (summed(each.counts(name) for each in own) for name in (FAILED_COUNT, LATE_RECORDS))
    operators = []
    room = SAMPLES_MAX
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


def log_slots(asked: Question) -> Json:
    """Return the slots that have sent lines, with their numbers of lines; `kept` is the number kept for each slot."""
    logs = asked.job.view.progress.logs
    found = [{"slot": slot, "lines": log.count} for slot, log in sorted(logs.copy().items())]
    return {"slots": found, "kept": LINES_MAX, "of": asked.job.view.progress.placement.slots}


def log_lines(asked: Question) -> Json:
    """Return the newest lines of a slot, at most 500 and only lines after `?after=`, oldest first."""
    number = whole_number(asked.path["slot"])
    log = asked.job.view.progress.logs.get(SlotIndex(-1 if number is None else number), SlotLog())
    found = log.after(whole_number(asked.query.get("after", "")) or 0, LINES_SHOWN_MAX)
    return {
        "lines": [{"n": n, "at": line.wall_ms, "level": line.level, "text": line.text} for n, line in found],
        "next": found[-1][0] if found else log.count,
    }
