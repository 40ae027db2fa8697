"""The progress of a job: what is known of it while it runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from headgate.graph.placement import Placement
from headgate.ids import SlotIndex, SubtaskId
from headgate.runtime.control.subtask_metrics import SubtaskMetrics, summed
from headgate.runtime.monitoring.failures import FAILURES_MAX, Failure
from headgate.runtime.monitoring.statistics import CheckpointFigures, CheckpointStatistics


@final
@dataclass(slots=True, kw_only=True)
class JobProgress:
    """What is known of a running job; a snapshot for people and tests, replaced as messages come in."""

    placement: Placement
    """That of the newest attempt; before the first, that of the program."""
    wanted: Placement | None = None
    """That which the job would have if there were slots enough; None before it has run."""
    attempt: int = 0
    restarts: int = 0
    records_in: dict[str, int] = field(default_factory=dict)
    running_since_ms: int | None = None
    """When the attempt that runs has started, by wall clock; None while none runs."""
    subtasks: Mapping[SubtaskId, SubtaskMetrics] = field(default_factory=dict)
    """The newest metrics of the attempt's subtasks; never changed, but replaced."""
    counted: Mapping[SlotIndex, Mapping[str, int]] = field(default_factory=dict)
    """What the sources of each slot have counted in the attempt; never changed, but replaced."""
    statistics: CheckpointStatistics = field(default_factory=CheckpointStatistics)
    failures: deque[Failure] = field(default_factory=lambda: deque(maxlen=FAILURES_MAX))

    @property
    def checkpoints(self) -> Sequence[CheckpointFigures]:
        """The newest completed checkpoints, oldest first."""
        return self.statistics.figures

    def counters(self) -> dict[str, int]:
        """Return the counters of the attempt by name, summed: those of sources, and those that functions keep."""
        return summed([*self.counted.values(), *(own.counters() for own in self.subtasks.values())])
