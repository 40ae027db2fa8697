"""The record of one checkpoint or savepoint: its start, its end, its cost in each subtask, and where it waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, final

from headgate.elements import Barrier
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.runtime.control.subtask_metrics import BarrierWait, SubtaskMetrics


@final
class CheckpointStatus(Enum):
    """The status of a checkpoint."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


@final
class CheckpointKind(Enum):
    """The kind of a checkpoint, by Flink's names."""

    CHECKPOINT = "CHECKPOINT"
    UNALIGNED_CHECKPOINT = "UNALIGNED_CHECKPOINT"
    SAVEPOINT = "SAVEPOINT"
    SYNC_SAVEPOINT = "SYNC_SAVEPOINT"
    """A savepoint that stops the job."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskFigures:
    """The cost of a checkpoint in one subtask. `acked_ms` is wall clock; `duration_ms` is the time since the trigger.

    The other fields are as in `SubtaskState`.
    """

    acked_ms: int
    duration_ms: int
    checkpointed_bytes: int
    state_bytes: int
    sync_ms: float
    async_ms: float
    upload_ms: float
    alignment_ms: float
    start_delay_ms: float
    processed_bytes: int
    persisted_bytes: int
    unaligned: bool
    pending: int


@final
@dataclass(slots=True, kw_only=True)
class CheckpointRecord:
    """The record of one checkpoint or savepoint. Fields are None until they are known.

    `began_ms` is on the monotonic clock, `failed_ms` on the wall clock.
    """

    barrier: Barrier
    attempt: Attempt
    parallelism: tuple[int, ...]
    """The parallelism of each vertex in the attempt."""
    began_ms: float
    status: CheckpointStatus = CheckpointStatus.IN_PROGRESS
    subtasks: dict[SubtaskId, SubtaskFigures] = field(default_factory=dict)
    shared_files: set[str] = field(default_factory=set)
    location: str | None = None
    failed_ms: int | None = None
    failure: str | None = None

    @property
    def checkpoint_id(self) -> CheckpointId:
        """The id, which savepoints have too."""
        return self.barrier.checkpoint_id

    @property
    def is_savepoint(self) -> bool:
        """Whether it is a savepoint."""
        return self.barrier.savepoint is not None

    @property
    def kind(self) -> CheckpointKind:
        """The kind. An aligned checkpoint becomes unaligned when its barrier has overtaken batches in any subtask."""
        savepoint = self.barrier.savepoint
        if savepoint is not None:
            return CheckpointKind.SYNC_SAVEPOINT if savepoint.stops else CheckpointKind.SAVEPOINT
        is_unaligned = self.barrier.unaligned_after_ms == 0 or any(own.unaligned for own in self.acked())
        return CheckpointKind.UNALIGNED_CHECKPOINT if is_unaligned else CheckpointKind.CHECKPOINT

    @property
    def pending(self) -> int:
        """The number of inputs in the checkpoint whose asynchronous calls had not ended."""
        return sum(own.pending for own in self.acked())

    def acked(self, vertex: int | None = None) -> list[SubtaskFigures]:
        """Return the figures of the subtasks that have acknowledged, of one vertex or of all. For any thread."""
        return [own for subtask, own in self.subtasks.copy().items() if vertex is None or subtask.vertex == vertex]


SUMMARISED: Final = (
    "checkpointed_size",
    "state_size",
    "end_to_end_duration",
    "alignment_buffered",
    "processed_data",
    "persisted_data",
)
"""The figures of a whole checkpoint, by Flink's names."""


def totals(figures: Iterable[SubtaskFigures]) -> dict[str, int]:
    """Return the totals over some subtasks, by Flink's names."""
    figures = list(figures)
    return {
        "checkpointed_size": sum(own.checkpointed_bytes for own in figures),
        "state_size": sum(own.state_bytes for own in figures),
        "end_to_end_duration": max((own.duration_ms for own in figures), default=-1),
        "alignment_buffered": 0,  # 0 in Flink, too: alignments buffer nothing
        "processed_data": sum(own.processed_bytes for own in figures),
        "persisted_data": sum(own.persisted_bytes for own in figures),
    }


@final
@dataclass(frozen=True, slots=True)
class LongestWait:
    """The subtask at which a barrier is expected to wait longest."""

    subtask: SubtaskId
    wait: BarrierWait

    def text(self, name: str) -> str:
        """Return a sentence about the wait. `name` is the name of the subtask's vertex.

        >>> wait = BarrierWait(checkpoint_id=7, waiting=900, per_second=45.0)
        >>> LongestWait(SubtaskId(1, 0), wait).text("score")
        "the barrier waits behind 'score', subtask 0: 900 records, about 20 s"
        """
        seconds = self.wait.seconds
        how_long = "" if seconds is None else f", about {_rounded(seconds)}"
        records = "1 record" if self.wait.waiting == 1 else f"{self.wait.waiting:,} records"
        return f"the barrier waits behind {name!r}, subtask {self.subtask.index}: {records}{how_long}"


def _rounded(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def waiting_of(record: CheckpointRecord, subtasks: Mapping[SubtaskId, SubtaskMetrics]) -> LongestWait | None:
    """Return where the barrier of a checkpoint waits longest, by reports of subtasks; None if it waits nowhere."""
    if record.status is not CheckpointStatus.IN_PROGRESS:
        return None
    answered = record.subtasks.copy()
    found = [
        LongestWait(subtask, own.barrier)
        for subtask, own in subtasks.items()
        if own.barrier is not None and own.barrier.checkpoint_id == record.checkpoint_id and subtask not in answered
    ]
    return max(found, key=_weight, default=None)


def _weight(waiting: LongestWait) -> tuple[float, int]:
    seconds = waiting.wait.seconds
    return float("inf") if seconds is None else seconds, waiting.wait.waiting
