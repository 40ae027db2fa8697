"""The progress of a job while it runs: its attempts, metrics, failures and logs."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, final

from headgate.graph.placement import Placement
from headgate.ids import Attempt, CheckpointId, SlotIndex, SubtaskId
from headgate.operators.samples import FailedSample
from headgate.runtime.control.messages import LogLine, Progress
from headgate.runtime.control.subtask_metrics import SubtaskMetrics, summed
from headgate.runtime.monitoring.outcome import FAILURES_MAX, Failure
from headgate.runtime.monitoring.statistics import CheckpointFigures, CheckpointStatistics

_log = logging.getLogger(__name__)

LINES_MAX: Final = 1_000
"""The number of latest lines kept for each slot."""


@final
class SlotLog:
    """The lines of one slot, over all attempts, numbered from 1. The master's loop adds, any thread may read."""

    def __init__(self) -> None:
        self._lines: deque[tuple[int, LogLine]] = deque(maxlen=LINES_MAX)
        self.count = 0

    def add(self, lines: Iterable[LogLine]) -> None:
        """Add lines."""
        for line in lines:
            self._lines.append((self.count + 1, line))
            self.count += 1

    def after(self, number: int, limit: int) -> list[tuple[int, LogLine]]:
        """Return the newest lines after this number, at most `limit`, oldest first, each with its number."""
        newer = [(own, line) for own, line in self._lines.copy() if own > number]
        return list(islice(newer, max(0, len(newer) - limit), None))


FAILED_RECORDS_MAX: Final = 50
"""The number of latest failed records kept for each operator."""
ATTEMPTS_MAX: Final = 100
"""The number of latest attempts that are kept."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRun:
    """One attempt: its checkpoint, its parallelism, and the wall clock times of its deployment, start and end.

    `checkpoint_id` is None for a start from the beginning, `began_ms` None until all subtasks are restored, `ended_ms`
    None while the attempt runs. An attempt that has ended without a failure was replaced by a rescale, or was the last.
    """

    attempt: Attempt
    parallelism: tuple[int, ...]
    checkpoint_id: CheckpointId | None
    deployed_ms: int
    began_ms: int | None = None
    ended_ms: int | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFailure:
    """A record for which a function failed: the sample, its subtask and attempt, and the wall clock of the report."""

    sample: FailedSample
    subtask: SubtaskId
    attempt: Attempt
    wall_ms: int


@final
@dataclass(slots=True, kw_only=True)
class JobProgress:
    """The progress of a running job, for people and tests. Changed by the job master's loop, read from any thread."""

    placement: Placement
    """The placement of the newest attempt; before the first attempt, the placement of the program."""
    wanted: Placement | None = None
    """The placement that the job would have with enough slots; None before it has run."""
    attempt: int = 0
    restarts: int = 0
    records_in: dict[str, int] = field(default_factory=dict)
    running_since_ms: int | None = None
    """When the running attempt has started, by wall clock; None while no attempt runs."""
    subtasks: Mapping[SubtaskId, SubtaskMetrics] = field(default_factory=dict)
    """The newest metrics of the attempt's subtasks. The mapping is replaced, never changed."""
    counted: Mapping[SlotIndex, Mapping[str, int]] = field(default_factory=dict)
    """The named counters of each slot in the attempt. The mapping is replaced, never changed."""
    slots: Mapping[SlotIndex, Mapping[str, str]] = field(default_factory=dict)
    """Facts about the latest process of each registered slot. The mapping is replaced, never changed."""
    statistics: CheckpointStatistics = field(default_factory=CheckpointStatistics)
    failures: deque[Failure] = field(default_factory=lambda: deque(maxlen=FAILURES_MAX))
    failed_records: dict[str, deque[ReportedFailure]] = field(default_factory=dict)
    """The latest samples of records for which functions failed, by the operator's uid, over all attempts."""
    logs: dict[SlotIndex, SlotLog] = field(default_factory=dict)
    """The lines that slots have logged and printed; empty if slots do not report them."""
    attempts: deque[AttemptRun] = field(default_factory=lambda: deque(maxlen=ATTEMPTS_MAX))

    @property
    def checkpoints(self) -> Sequence[CheckpointFigures]:
        """The newest completed checkpoints, oldest first."""
        return self.statistics.figures

    def reported(self, message: Progress, now_ms: int) -> None:
        """Take a slot's report on the running attempt. `now_ms` is wall clock."""
        self.records_in.update({str(subtask): n for subtask, n in message.records_in.items()})
        self.subtasks = {**self.subtasks, **message.metrics}
        self.counted = {**self.counted, message.slot: message.counters}
        if message.log:
            self.logs.setdefault(message.slot, SlotLog()).add(message.log)
        for subtask, own in message.metrics.items():
            for sample in own.failed:
                kept = self.failed_records.setdefault(sample.uid, deque(maxlen=FAILED_RECORDS_MAX))
                record = ReportedFailure(sample=sample, subtask=subtask, attempt=message.attempt, wall_ms=now_ms)
                kept.append(record)

    def deployed(self, attempt: Attempt, placement: Placement, checkpoint_id: CheckpointId | None, now_ms: int) -> None:
        """Note that the slots deploy an attempt, which starts from this checkpoint. `now_ms` is wall clock."""
        self.counted = {}
        self.attempts.append(
            AttemptRun(
                attempt=attempt,
                parallelism=placement.parallelism,
                checkpoint_id=checkpoint_id,
                deployed_ms=now_ms,
            )
        )

    def attempt_began(self, attempt: Attempt, placement: Placement, now_ms: int) -> None:
        """Note that the newest attempt runs from now on. `now_ms` is wall clock."""
        self.attempt, self.placement = attempt, placement
        own = set(map(str, placement.subtasks()))
        self.records_in = {name: n for name, n in self.records_in.items() if name in own}
        self.subtasks = {}
        self.running_since_ms = now_ms
        self.attempts[-1] = replace(self.attempts[-1], began_ms=now_ms)

    def failed(self, failure: Failure, restarts: int) -> None:
        """Note a failure. If the job restarts, log the whole cause, or its first line if the last failure had it."""
        line = failure.cause.partition("\n")[0]
        is_known = bool(self.failures) and self.failures[-1].cause.partition("\n")[0] == line
        self.failures.append(failure)
        if failure.restart_delay_ms is not None:
            self.restarts = restarts
            _log.warning("the job starts again (restart %d): %s", restarts, line if is_known else failure.cause)

    def failure_of(self, attempt: Attempt) -> str | None:
        """Return in a line why the newest attempt failed, None if it did not."""
        newest = self.failures[-1] if self.failures else None
        return newest.line() if newest is not None and newest.attempt == attempt else None

    def attempt_ended(self, now_ms: int) -> None:
        """Note that the newest attempt, if one is under way, has ended. `now_ms` is wall clock."""
        self.running_since_ms = None
        if self.attempts and self.attempts[-1].ended_ms is None:
            self.attempts[-1] = replace(self.attempts[-1], ended_ms=now_ms)

    def counters(self) -> dict[str, int]:
        """Return the sums of the attempt's counters by name: the counters of sources and of functions."""
        return summed([*self.counted.values(), *(own.counters() for own in self.subtasks.values())])
