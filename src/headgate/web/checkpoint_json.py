"""The checkpoints of a job as JSON, with Flink's field names."""

from __future__ import annotations

from headgate import options
from headgate.runtime.monitoring import statistics_json
from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.question import Question, vertex_id, whole_number

_BACKENDS = {"hashmap": "HashMapStateBackend", "rocksdb": "EmbeddedRocksDBStateBackend"}


def overview(asked: Question) -> Json:
    """Return counts, summary, the newest of each kind, and the history."""
    return statistics_json.overview(asked.job.view.progress.statistics)


def details(asked: Question) -> Json:
    """Return one checkpoint with the figures of its vertices. Raises LookupError when it is not known."""
    names = {vertex.id: vertex_id(vertex) for vertex in asked.job.view.plan.vertices}
    found = statistics_json.details(asked.job.view.progress.statistics, _checkpoint(asked), names)
    if found is None:
        raise _unknown(asked)
    for vertex in asked.job.view.plan.vertices:
        found["tasks"][vertex_id(vertex)]["name"] = vertex.name
    return found


def subtasks(asked: Question) -> Json:
    """Return the subtasks of a vertex in one checkpoint. Raises LookupError when one of them is not known."""
    found = statistics_json.subtasks(asked.job.view.progress.statistics, _checkpoint(asked), asked.vertex().id)
    if found is None:
        raise _unknown(asked)
    return found


def checkpoint_of(asked: Question) -> CheckpointRecord:
    """Return the checkpoint that the path names. Raises LookupError when it is not known."""
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
        "latest ones, and none from before the driver was started"
    )


def config(asked: Question) -> Json:
    """Return how the job makes checkpoints. Raises LookupError when it makes none."""
    plan = asked.job.view.plan
    settings = plan.settings
    if not plan.checkpointing:
        raise LookupError(
            f"job {plan.job_id} makes no checkpoints of its own: {options.CHECKPOINT_INTERVAL.key} is not set"
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
