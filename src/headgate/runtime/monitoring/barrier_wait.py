"""Where the barrier of a checkpoint that is under way waits behind records: for people, while it waits. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from headgate.ids import SubtaskId
from headgate.runtime.control.subtask_metrics import BarrierWait, SubtaskMetrics
from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord, CheckpointStatus


@final
@dataclass(frozen=True, slots=True)
class LongestWait:
    """The subtask at which a barrier is about to wait longest."""

    subtask: SubtaskId
    wait: BarrierWait

    def text(self, name: str) -> str:
        """Return a sentence about it; `name` is that of the subtask's vertex.

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
    """Return where the barrier of a checkpoint waits longest, by what subtasks report; None if it waits nowhere."""
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
