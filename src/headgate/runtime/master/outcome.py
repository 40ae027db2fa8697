"""The outcome of a job, as the program that submitted it sees it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from headgate.ids import JobId, SubtaskId
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
