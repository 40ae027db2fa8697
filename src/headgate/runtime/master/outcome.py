"""The outcome of a job, as the program that submitted it sees it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from headgate.ids import JobId, SubtaskId
from headgate.options import RECOVERY_PATH
from headgate.runtime.control.subtask_metrics import SubtaskMetrics
from headgate.runtime.master.supervision import JobStatus
from headgate.runtime.monitoring.failures import FAILURES_MAX, Failure
from headgate.runtime.monitoring.statistics import CheckpointFigures, CheckpointStatistics


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """How a job ended. `cause` is a text for people, None when it finished; `counters` are its named counters."""

    job_id: JobId
    status: JobStatus
    cause: str | None
    runtime_ms: float
    counters: dict[str, int] = field(default_factory=dict)


def with_way_on(cause: str, newest: str | None, *, is_over: bool) -> str:
    """Return why a job failed, with the command to go on from its newest checkpoint, which is at `newest`.

    Not `is_over`: no result is recorded, so that the program may be started again under the same job id.

    >>> print(with_way_on("it broke", "/data/cd61/chk-7", is_over=False))
    it broke
    Nothing is deleted: the program, started again with the same job id, goes on from /data/cd61/chk-7
    """
    if not is_over and newest is None:
        return cause
    if not is_over:
        return f"{cause}\nNothing is deleted: the program, started again with the same job id, goes on from {newest}"
    return (
        f"{cause}\nThe newest checkpoint stays: {newest}. To go on from it, under another job id: "
        f"headgate run -D{RECOVERY_PATH.key}={newest} PROGRAM"
    )


@final
@dataclass(slots=True, kw_only=True)
class JobProgress:
    """What is known of a running job; a snapshot for people and tests, replaced as messages come in."""

    attempt: int = 0
    restarts: int = 0
    records_in: dict[str, int] = field(default_factory=dict)
    running_since_ms: int | None = None
    """When the attempt that runs has started, by wall clock; None while none runs."""
    subtasks: Mapping[SubtaskId, SubtaskMetrics] = field(default_factory=dict)
    """The newest metrics of the attempt's subtasks; never changed, but replaced."""
    statistics: CheckpointStatistics = field(default_factory=CheckpointStatistics)
    failures: deque[Failure] = field(default_factory=lambda: deque(maxlen=FAILURES_MAX))

    @property
    def checkpoints(self) -> Sequence[CheckpointFigures]:
        """The newest completed checkpoints, oldest first."""
        return self.statistics.figures


def summed(counters: Iterable[dict[str, int]]) -> dict[str, int]:
    """Return the sums of counters by name.

    >>> summed([{"skipped": 1}, {"skipped": 2, "late": 1}])
    {'skipped': 3, 'late': 1}
    """
    sums: dict[str, int] = {}
    for own in counters:
        for name, count in own.items():
            sums[name] = sums.get(name, 0) + count
    return sums
