"""The history of a job's many checkpoints: a log that is read page by page, and a curve of limited resolution."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headgate.runtime.monitoring.checkpoint_log import LogEntry, entry_of
from headgate.runtime.monitoring.checkpoint_record import CheckpointStatus
from headgate.runtime.monitoring.statistics import Restore
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.question import Question, whole_number

LIMIT_MAX: Final = 200
LIMIT: Final = 50
RESTORES: Final = 20


def log(asked: Question) -> Json:
    """Return at most `?limit=` checkpoints below the id `?before=`, newest first, and `?before=` of the next page."""
    statistics = asked.job.view.progress.statistics
    before = whole_number(asked.query.get("before", ""))
    limit = max(1, min(LIMIT_MAX, whole_number(asked.query.get("limit", "")) or LIMIT))
    current = [entry_of(record) for record in statistics.under_way()]
    found = [entry for entry in current if before is None or entry.checkpoint_id < before]
    # One entry more than is shown tells whether there is another page.
    found += statistics.log.before(before, limit + 1)
    found.sort(key=lambda entry: -entry.checkpoint_id)
    shown = found[:limit]
    return {
        "total": len(statistics.log) + len(current),
        "checkpoints": [_entry_json(entry, asked.now_ms) for entry in shown],
        "next": shown[-1].checkpoint_id if len(found) > limit else None,
        "restores": [_restore_json(restore) for restore in list(statistics.restores)[: -RESTORES - 1 : -1]],
    }


def _entry_json(entry: LogEntry, now_ms: int) -> Json:
    if entry.status is CheckpointStatus.IN_PROGRESS:
        entry = replace(entry, duration_ms=max(0, now_ms - entry.trigger_ms))
    form = entry.savepoint_format
    return {
        "id": entry.checkpoint_id,
        "kind": entry.kind.value,
        "format": None if form is None else form.name,
        "status": entry.status.value,
        "trigger": entry.trigger_ms,
        "duration": entry.duration_ms,
        "checkpointed": entry.written_bytes,
        "state": entry.state_bytes,
        "failure": entry.failure,
    }


def _restore_json(restore: Restore) -> Json:
    return {"id": restore.checkpoint_id, "at": restore.wall_ms, "savepoint": restore.is_savepoint}


def curve(asked: Question) -> Json:
    """Return the durations and sizes of complete checkpoints as columns of at most 500 points, oldest first."""
    points = asked.job.view.progress.statistics.log.curve()
    return {
        "at": [point.trigger_ms for point in points],
        "duration": [point.duration_ms for point in points],
        "durationMax": [point.duration_ms_max for point in points],
        "checkpointed": [point.written_bytes for point in points],
        "checkpointedMax": [point.written_bytes_max for point in points],
        "state": [point.state_bytes for point in points],
    }
