"""The checkpoints of a job as JSON, with Flink's field names."""

from __future__ import annotations

from headgate import options
from headgate.runtime.monitoring import statistics_json
from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord, CheckpointStatus, waiting_of
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
