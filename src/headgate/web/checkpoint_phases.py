"""The phases of a checkpoint at each subtask, and a sentence that says which phase was slowest and why. Pure.

The phases of a subtask follow each other, from the trigger to the arrival of its acknowledgement in the driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from headgate.graph.job_graph import JobGraph
from headgate.ids import SubtaskId
from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord, CheckpointStatus, SubtaskFigures, waiting_of
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.checkpoint_json import checkpoint_of
from headgate.web.question import Question, vertex_id

QUICK_MS: Final = 200
"""Milliseconds up to which no part of a checkpoint counts as slow."""
SLOW_BYTES_PER_MS: Final = 50_000.0
"""Bytes per millisecond below which storage counts as slow: 50 MB per second."""


@final
class CheckpointPhase(Enum):
    """A part of a subtask's time in a checkpoint. The phases follow each other in this order."""

    START_DELAY = "startDelay"
    """From the trigger to the first barrier."""
    ALIGNMENT = "alignment"
    """From the first to the last barrier; in an unaligned snapshot, without the time that other phases cover."""
    SYNC = "sync"
    WALK = "walk"
    """Copying state between batches, in the asynchronous part."""
    UPLOAD = "upload"
    ACK = "ack"
    """From the end of the snapshot until the driver has received the acknowledgement."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Slowest:
    """Where a checkpoint took longest; `phase` is None for a subtask that has not acknowledged."""

    subtask: SubtaskId
    phase: CheckpointPhase | None
    text: str


@final
@dataclass(frozen=True, slots=True)
class VertexNames:
    """The vertices of a job: their names by id, and for each vertex the vertices that send to it."""

    names: tuple[str, ...]
    inputs: Mapping[int, frozenset[int]]

    def is_end(self, vertex: int) -> bool:
        """Return whether the vertex sends to no other vertex, so that it ends with a sink."""
        return not any(vertex in senders for senders in self.inputs.values())

    def of(self, subtask: SubtaskId) -> str:
        """Return the name of a subtask in a sentence."""
        return f"{self.names[subtask.vertex]}, subtask {subtask.index},"


def flow_of(plan: JobGraph) -> VertexNames:
    """Return the names of a job's vertices and their inputs."""
    inputs = {
        vertex.id: frozenset(edge.source_vertex for edge in plan.edges if edge.target_vertex == vertex.id)
        for vertex in plan.vertices
    }
    return VertexNames(tuple(vertex.name for vertex in plan.vertices), inputs)


def phases(own: SubtaskFigures) -> dict[CheckpointPhase, float]:
    """Return the milliseconds of each phase of a subtask. If clocks agree, their sum is the subtask's duration."""
    upload = min(own.upload_ms, own.async_ms)
    rest = max(0.0, own.duration_ms - own.start_delay_ms - own.sync_ms - own.async_ms)
    alignment = min(own.alignment_ms, rest)
    return {
        CheckpointPhase.START_DELAY: own.start_delay_ms,
        CheckpointPhase.ALIGNMENT: alignment,
        CheckpointPhase.SYNC: own.sync_ms,
        CheckpointPhase.WALK: own.async_ms - upload,
        CheckpointPhase.UPLOAD: upload,
        CheckpointPhase.ACK: rest - alignment,
    }


def missing(record: CheckpointRecord) -> list[SubtaskId]:
    """Return the subtasks that have not acknowledged, in the order of the vertices."""
    answered = record.subtasks.copy()
    everyone = (SubtaskId(vertex, index) for vertex, width in enumerate(record.parallelism) for index in range(width))
    return [subtask for subtask in everyone if subtask not in answered]


def slowest(record: CheckpointRecord, flow: VertexNames, now_ms: int) -> Slowest | None:
    """Return where a checkpoint was or is slowest, None if no subtask has reported. `now_ms` is wall clock."""
    absent = missing(record)
    if absent and record.status is not CheckpointStatus.COMPLETED:
        return _unanswered(record, absent, flow, now_ms)
    found = record.subtasks.copy()
    if not found:
        return None
    last = max(found, key=lambda each: found[each].duration_ms)
    took_ms = found[last].duration_ms
    if took_ms <= QUICK_MS:
        text = f"Nothing was slow: every subtask answered in {took_ms} ms."
        return Slowest(subtask=last, phase=_longest(found[last]), text=text)
    subtask, phase = _origin(found, last, flow)
    own = found[subtask]
    return Slowest(subtask=subtask, phase=phase, text=_why(phase, phases(own)[phase], own, flow, subtask))


def _unanswered(record: CheckpointRecord, absent: list[SubtaskId], flow: VertexNames, now_ms: int) -> Slowest:
    """Name the first missing subtask in the flow: the barrier reaches later subtasks only through it."""
    first, trigger_ms = absent[0], record.barrier.trigger_ms
    who = f"Subtask {first.index} of {flow.names[first.vertex]}"
    if record.failed_ms is None:
        told, has, waited = "has not answered yet", "has", _seconds(now_ms - trigger_ms)
    else:
        told, has = "had not answered when the checkpoint was given up", "had"
        waited = _seconds(record.failed_ms - trigger_ms)
    others = "" if len(absent) == 1 else f"; nor {has} {_others(absent)}"
    return Slowest(subtask=first, phase=None, text=f"{who} {told}, {waited} after the trigger{others}.")


def _others(absent: list[SubtaskId]) -> str:
    return "one other" if len(absent) == 2 else f"any of {len(absent) - 1} others"


def _origin(
    found: Mapping[SubtaskId, SubtaskFigures], subtask: SubtaskId, flow: VertexNames
) -> tuple[SubtaskId, CheckpointPhase]:
    """Return the subtask and the phase that caused the time of `subtask`.

    If its barrier came late, the cause is an upstream subtask, provided that this subtask forwarded the barrier late.
    """
    for _ in flow.names:
        phase = _longest(found[subtask])
        senders = [each for each in found if each.vertex in flow.inputs.get(subtask.vertex, frozenset())]
        if phase is not CheckpointPhase.START_DELAY or not senders:
            break
        before = min(senders, key=lambda each: _passed_on_ms(found[each]))
        if _passed_on_ms(found[before]) < found[subtask].start_delay_ms / 2:
            break
        subtask = before
    return subtask, _longest(found[subtask])


def _longest(own: SubtaskFigures) -> CheckpointPhase:
    taken = phases(own)
    return max(taken, key=lambda phase: taken[phase])


def _passed_on_ms(own: SubtaskFigures) -> float:
    return own.start_delay_ms + (0.0 if own.unaligned else own.alignment_ms)


def _why(phase: CheckpointPhase, ms: float, own: SubtaskFigures, flow: VertexNames, subtask: SubtaskId) -> str:
    who, took = flow.of(subtask), _seconds(ms)
    match phase:
        case CheckpointPhase.START_DELAY if not flow.inputs.get(subtask.vertex):
            return f"{who} noticed the trigger only after {took}: it was busy, or its output was full (back-pressure)."
        case CheckpointPhase.START_DELAY:
            return f"The barrier took {took} to reach {who[:-1]}: it waited behind data (back-pressure)."
        case CheckpointPhase.ALIGNMENT if own.unaligned:
            return f"The last barrier reached {who} {took} after the first; records went on meanwhile."
        case CheckpointPhase.ALIGNMENT:
            return (
                f"Alignment of {who} took {took}: its inputs come at different speeds; unaligned checkpoints would not "
                "wait."
            )
        case CheckpointPhase.SYNC:
            return (
                f"The synchronous part of {who} took {took}: its records stood still while sinks and lists were copied."
            )
        case CheckpointPhase.WALK:
            return (
                f"Taking the state of {who} took {took} for {_size(own.state_bytes)}: it is done between batches, and "
                "the subtask was busy."
            )
        case CheckpointPhase.UPLOAD:
            reason = _upload_reason(own, ms, flow.is_end(subtask.vertex))
            return f"Upload of {who} took {took} for {_size(own.checkpointed_bytes)}: {reason}."
        case CheckpointPhase.ACK:
            return (
                f"The driver took {took} to note the acknowledgement of {who[:-1]}: the driver or the network is slow."
            )


def _upload_reason(own: SubtaskFigures, ms: float, is_end: bool) -> str:
    if own.checkpointed_bytes >= SLOW_BYTES_PER_MS * ms:
        return "there was much to write"
    return "the storage is slow, or that of its sink" if is_end else "the storage is slow"


def _seconds(ms: float) -> str:
    return f"{round(ms)} ms" if ms < 1000 else f"{ms / 1000:.1f} s"


def _size(size_bytes: int) -> str:
    if size_bytes < 1000:
        return f"{size_bytes} B"
    if size_bytes < 1_000_000:
        return f"{size_bytes / 1000:.1f} kB"
    return f"{size_bytes / 1_000_000:.0f} MB" if size_bytes < 1e9 else f"{size_bytes / 1e9:.1f} GB"


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
