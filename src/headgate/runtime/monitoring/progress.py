"""The progress of a job: what is known of it while it runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from headgate.graph.placement import Placement
from headgate.ids import SubtaskId
from headgate.runtime.control.subtask_metrics import SubtaskMetrics
from headgate.runtime.monitoring.failures import FAILURES_MAX, Failure
from headgate.runtime.monitoring.statistics import CheckpointFigures, CheckpointStatistics


@final
@dataclass(slots=True, kw_only=True)
class JobProgress:
    """What is known of a running job; a snapshot for people and tests, replaced as messages come in."""

    placement: Placement
    """That of the newest attempt; before the first, that of the program."""
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
