"""The checkpoints of a job as JSON, with Flink's field names: the newest ones, a log page by page, and a curve."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headgate import options
from headgate.runtime.monitoring import statistics_json
from headgate.runtime.monitoring.checkpoint_log import LogEntry, entry_of
from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord, CheckpointStatus, waiting_of
from headgate.runtime.monitoring.statistics import Restore
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.question import Question, vertex_id, whole_number

_BACKENDS = {"hashmap": "HashMapStateBackend", "rocksdb": "EmbeddedRocksDBStateBackend"}


def overview(asked: Question) -> Json:
    """Return counts, a summary, the newest checkpoint of each kind, and the history.

    A checkpoint in progress has a field `barrier_wait`, which is null if its barrier waits behind no records.
    """
    found = statistics_json.overview(asked.job.view.progress.statistics)
    for shown in found["history"]:
        _add_wait(asked, shown)
    return found


def _add_wait(asked: Question, shown: Json) -> None:
    """Add to a checkpoint in progress where its barrier waits."""
    progress, vertices = asked.job.view.progress, asked.job.view.plan.vertices
    record = progress.statistics.find(shown["id"])
    if shown["status"] != CheckpointStatus.IN_PROGRESS.value or record is None:
        return
    waiting = waiting_of(record, progress.subtasks)
    shown["barrier_wait"] = None
    if waiting is not None:
        vertex = vertices[waiting.subtask.vertex]
        shown["barrier_wait"] = {
            "vertex": vertex_id(vertex),
            "subtask": waiting.subtask.index,
            "records": waiting.wait.waiting,
            "records_per_second": waiting.wait.per_second,
            "text": waiting.text(vertex.name),
        }


def details(asked: Question) -> Json:
    """Return one checkpoint with the figures of its vertices. Raises LookupError for an unknown checkpoint."""
    names = {vertex.id: vertex_id(vertex) for vertex in asked.job.view.plan.vertices}
    found = statistics_json.details(asked.job.view.progress.statistics, _checkpoint(asked), names)
    if found is None:
        raise _unknown(asked)
    _add_wait(asked, found)
    for vertex in asked.job.view.plan.vertices:
        found["tasks"][vertex_id(vertex)]["name"] = vertex.name
    return found


def subtasks(asked: Question) -> Json:
    """Return the subtasks of a vertex in one checkpoint. Raises LookupError for an unknown checkpoint or vertex."""
    found = statistics_json.subtasks(asked.job.view.progress.statistics, _checkpoint(asked), asked.vertex().id)
    if found is None:
        raise _unknown(asked)
    return found


def checkpoint_of(asked: Question) -> CheckpointRecord:
    """Return the checkpoint that the path names. Raises LookupError for an unknown checkpoint."""
    found = asked.job.view.progress.statistics.find(_checkpoint(asked))
    if found is None:
        raise _unknown(asked)
    return found


def _checkpoint(asked: Question) -> int:
    number = whole_number(asked.path["checkpoint"])
    if number is None:
        raise _unknown(asked)
    return number


def _unknown(asked: Question) -> LookupError:
    return LookupError(
        f"checkpoint {asked.path['checkpoint']} of job {asked.job.view.job_id} is not known: the history has only the "
        "latest checkpoints, and none from before the driver was started"
    )


def config(asked: Question) -> Json:
    """Return the job's checkpoint settings. Raises LookupError if the job takes no checkpoints."""
    plan = asked.job.view.plan
    settings = plan.settings
    if not plan.checkpointing:
        raise LookupError(
            f"job {plan.job_id} takes no checkpoints of its own: {options.CHECKPOINT_INTERVAL.key} is not set"
        )
    retention = settings.get(options.CHECKPOINT_RETENTION)
    in_memory = settings.get(options.CHECKPOINT_STORAGE) == "jobmanager"
    return {
        "mode": settings.get(options.CHECKPOINT_MODE).lower(),
        "interval": settings.get(options.CHECKPOINT_INTERVAL),
        "timeout": settings.get(options.CHECKPOINT_TIMEOUT),
        "min_pause": settings.get(options.CHECKPOINT_MIN_PAUSE),
        "max_concurrent": settings.get(options.CHECKPOINT_MAX_CONCURRENT),
        "externalization": {
            "enabled": retention != "NO_EXTERNALIZED_CHECKPOINTS",
            "delete_on_cancellation": retention != "RETAIN_ON_CANCELLATION",
        },
        "state_backend": _BACKENDS[settings.get(options.STATE_BACKEND)],
        "unaligned_checkpoints": settings.get(options.UNALIGNED),
        "aligned_checkpoint_timeout": settings.get(options.ALIGNED_TIMEOUT),
        "checkpoint_storage": "JobManagerCheckpointStorage" if in_memory else "FileSystemCheckpointStorage",
        "tolerable_failed_checkpoints": settings.get(options.CHECKPOINT_TOLERABLE_FAILURES),
        "checkpoints_after_tasks_finish": settings.get(options.CHECKPOINTS_AFTER_TASKS_FINISH),
        "state_changelog_enabled": settings.get(options.CHANGELOG),
        "changelog_periodic_materialization_interval": settings.get(options.CHANGELOG_MATERIALIZATION_INTERVAL),
    }


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
