"""Checkpoint statistics as JSON, with the names and the shape of Flink's REST interface. Pure.

As in Flink, -1 is a time or duration that is not known yet, and None is the summary of no values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord, CheckpointStatus, SubtaskFigures, totals
from headgate.runtime.monitoring.statistics import PERCENTILES, CheckpointStatistics, Restore, Summary

Json = dict[str, Any]


def overview(statistics: CheckpointStatistics) -> Json:
    """Return counts, summary, the newest checkpoint of each kind, and the history, for `/jobs/:id/checkpoints`."""
    counts, latest = statistics.counts, statistics.latest
    return {
        "counts": {
            "restored": counts.restored,
            "total": counts.triggered,
            "in_progress": counts.in_progress,
            "completed": counts.completed,
            "failed": counts.failed,
        },
        "summary": {name: summary_json(summary) for name, summary in statistics.summaries.items()},
        "latest": {
            "completed": None if latest.completed is None else checkpoint_json(latest.completed),
            "savepoint": None if latest.savepoint is None else checkpoint_json(latest.savepoint),
            "failed": None if latest.failed is None else checkpoint_json(latest.failed),
            "restored": None if latest.restored is None else _restore(latest.restored),
        },
        "history": [checkpoint_json(record) for record in statistics.history()],
    }


def details(statistics: CheckpointStatistics, checkpoint_id: int, names: Mapping[int, str]) -> Json | None:
    """Return one checkpoint with the figures of its vertices, by the ids in `names`; None if it is not known."""
    record = statistics.find(checkpoint_id)
    if record is None:
        return None
    tasks = {names[vertex]: _vertex(record, vertex) for vertex in range(len(record.parallelism))}
    return checkpoint_json(record) | {"tasks": tasks}


def subtasks(statistics: CheckpointStatistics, checkpoint_id: int, vertex: int) -> Json | None:
    """Return the subtasks of a vertex in a checkpoint, and a summary; None if the checkpoint is not known."""
    record = statistics.find(checkpoint_id)
    if record is None:
        return None
    parallelism = record.parallelism[vertex]
    by_index = {subtask.index: own for subtask, own in record.subtasks.copy().items() if subtask.vertex == vertex}
    return _vertex(record, vertex) | {
        "summary": _summary(by_index.values()),
        "subtasks": [_subtask(index, by_index.get(index), record.status) for index in range(parallelism)],
    }


def checkpoint_json(record: CheckpointRecord) -> Json:
    """Return one checkpoint without its vertices."""
    figures = record.acked()
    shown: Json = {
        "id": record.checkpoint_id,
        "status": record.status.value,
        "is_savepoint": record.is_savepoint,
        "savepointFormat": None if record.barrier.savepoint is None else record.barrier.savepoint.format.name,
        "checkpoint_type": record.kind.value,
        "trigger_timestamp": record.barrier.trigger_ms,
        "latest_ack_timestamp": max((own.acked_ms for own in figures), default=-1),
        **totals(figures),
        "num_subtasks": sum(record.parallelism),
        "num_acknowledged_subtasks": len(figures),
        "pending_inputs": record.pending,
        "tasks": {},
    }
    if record.status is CheckpointStatus.COMPLETED:
        shown |= {"external_path": record.location, "discarded": False}
    elif record.status is CheckpointStatus.FAILED:
        shown |= {"failure_timestamp": record.failed_ms, "failure_message": record.failure}
    return shown


def _vertex(record: CheckpointRecord, vertex: int) -> Json:
    figures, parallelism = record.acked(vertex), record.parallelism[vertex]
    is_done = record.status is CheckpointStatus.IN_PROGRESS and len(figures) == parallelism
    return {
        "id": record.checkpoint_id,
        "status": CheckpointStatus.COMPLETED.value if is_done else record.status.value,
        "latest_ack_timestamp": max((own.acked_ms for own in figures), default=-1),
        **totals(figures),
        "num_subtasks": parallelism,
        "num_acknowledged_subtasks": len(figures),
    }


def _subtask(index: int, own: SubtaskFigures | None, status: CheckpointStatus) -> Json:
    if own is None:
        missing = "failed" if status is CheckpointStatus.FAILED else "pending_or_failed"
        return {"index": index, "status": missing}
    return {
        "index": index,
        "status": "completed",
        "ack_timestamp": own.acked_ms,
        "end_to_end_duration": own.duration_ms,
        "checkpointed_size": own.checkpointed_bytes,
        "state_size": own.state_bytes,
        "checkpoint": {"sync": round(own.sync_ms), "async": round(own.async_ms), "upload": round(own.upload_ms)},
        "alignment": {
            "buffered": 0,
            "processed": own.processed_bytes,
            "persisted": own.persisted_bytes,
            "duration": round(own.alignment_ms),
        },
        "start_delay": round(own.start_delay_ms),
        "unaligned_checkpoint": own.unaligned,
        "aborted": status is CheckpointStatus.FAILED,
    }


def _summary(figures: Iterable[SubtaskFigures]) -> Json:
    figures = list(figures)
    return {
        "checkpointed_size": _of(own.checkpointed_bytes for own in figures),
        "state_size": _of(own.state_bytes for own in figures),
        "end_to_end_duration": _of(own.duration_ms for own in figures),
        "checkpoint_duration": {
            "sync": _of(round(own.sync_ms) for own in figures),
            "async": _of(round(own.async_ms) for own in figures),
            "upload": _of(round(own.upload_ms) for own in figures),
        },
        "alignment": {
            "buffered": _of(0 for _ in figures),
            "processed": _of(own.processed_bytes for own in figures),
            "persisted": _of(own.persisted_bytes for own in figures),
            "duration": _of(round(own.alignment_ms) for own in figures),
        },
        "start_delay": _of(round(own.start_delay_ms) for own in figures),
    }


def _of(values: Iterable[float]) -> Json:
    return summary_json(Summary(values))


def summary_json(summary: Summary) -> Json:
    """Return minimum, maximum, average and percentiles by Flink's names."""
    average = summary.average
    return {
        "min": summary.least,
        "max": summary.most,
        "avg": None if average is None else int(average),
        **{name: summary.quantile(part) for name, part in PERCENTILES.items()},
    }


def _restore(restore: Restore) -> Json:
    return {
        "id": restore.checkpoint_id,
        "restore_timestamp": restore.wall_ms,
        "is_savepoint": restore.is_savepoint,
        "external_path": restore.location,
    }
