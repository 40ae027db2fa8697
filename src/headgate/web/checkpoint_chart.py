"""A checkpoint as a chart: the phases of its subtasks on one time axis that begins at the trigger."""

from __future__ import annotations

from typing import Final

from headgate.graph.job_graph import JobGraph
from headgate.ids import SubtaskId
from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord, SubtaskFigures, waiting_of
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.checkpoint_json import checkpoint_of
from headgate.web.checkpoint_phases import Slowest, flow_of, missing, phases, slowest
from headgate.web.question import Question, vertex_id

ROWS_MAX: Final = 200


def chart(asked: Question) -> Json:
    """Return at most 200 subtasks, the slowest first, and what was slowest.

    The slowest subtask of each vertex is included.
    """
    record, plan = checkpoint_of(asked), asked.job.view.plan
    found = slowest(record, flow_of(plan), asked.now_ms)
    shown = _chosen(record)
    return {
        "id": record.checkpoint_id,
        "slowest": None if found is None else _slowest_json(found, plan) | _waiting_json(asked, record),
        "vertices": [{"id": vertex_id(vertex), "name": vertex.name} for vertex in plan.vertices],
        "rows": [_row(subtask, record.subtasks.get(subtask)) for subtask in shown],
        "leftOut": sum(record.parallelism) - len(shown),
        "until": (asked.now_ms if record.failed_ms is None else record.failed_ms) - record.barrier.trigger_ms,
    }


def _chosen(record: CheckpointRecord) -> list[SubtaskId]:
    answered = record.subtasks.copy()
    ranked = missing(record) + sorted(answered, key=lambda subtask: -answered[subtask].duration_ms)
    first = {subtask.vertex: subtask for subtask in reversed(ranked)}
    must = set(first.values())
    others = [subtask for subtask in ranked if subtask not in must][: max(0, ROWS_MAX - len(must))]
    chosen = must.union(others)
    return [subtask for subtask in ranked if subtask in chosen][:ROWS_MAX]


def _row(subtask: SubtaskId, own: SubtaskFigures | None) -> Json:
    row: Json = {"vertex": subtask.vertex, "subtask": subtask.index, "duration": None, "phases": None}
    if own is None:
        return row
    return row | {
        "duration": own.duration_ms,
        "phases": {phase.value: round(ms) for phase, ms in phases(own).items()},
        "checkpointed": own.checkpointed_bytes,
        "state": own.state_bytes,
        "unaligned": own.unaligned,
    }


def _slowest_json(found: Slowest, plan: JobGraph) -> Json:
    return {
        "vertex": vertex_id(plan.vertex_of(found.subtask)),
        "subtask": found.subtask.index,
        "phase": None if found.phase is None else found.phase.value,
        "text": found.text,
    }


def _waiting_json(asked: Question, record: CheckpointRecord) -> Json:
    """Return the fields that replace the slowest subtask while a barrier waits behind records."""
    plan = asked.job.view.plan
    waiting = waiting_of(record, asked.job.view.progress.subtasks)
    if waiting is None:
        return {}
    vertex, told = plan.vertex_of(waiting.subtask), waiting.text(plan.vertex_of(waiting.subtask).name)
    return {
        "vertex": vertex_id(vertex),
        "subtask": waiting.subtask.index,
        "text": f"{told[0].upper()}{told[1:]}.",
    }
