"""Checkpoint statistics: what each checkpoint and savepoint of a job cost, subtask by subtask. Pure.

The figures are Flink's. A checkpoint's duration is the time from its trigger to the last acknowledgement; sizes are of
all its state (`state_bytes`), and of what was written for it alone (`checkpointed_bytes`), which is less for an
increment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import SubtaskAcked
from headgate.elements import Barrier
from headgate.ids import Attempt, CheckpointId
from headgate.runtime.monitoring.checkpoint_log import CheckpointLog
from headgate.runtime.monitoring.checkpoint_record import (
    SUMMARISED,
    CheckpointRecord,
    CheckpointStatus,
    SubtaskFigures,
    totals,
)
from headgate.state.files import FileHandle

WINDOW: Final = 10_000
"""Values that percentiles are of: the newest ones, as in Flink."""

PERCENTILES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


@final
class Summary:
    """Collects values of one figure.

    >>> summary = Summary([1.0, 2.0, 4.0])
    >>> summary.least, summary.most, summary.quantile(0.5)
    (1.0, 4.0, 2.0)
    """

    __slots__ = ("_newest", "_total", "count", "least", "most")

    def __init__(self, values: Iterable[float] = ()) -> None:
        self.count = 0
        self.least: float | None = None
        self.most: float | None = None
        self._total = 0.0
        self._newest: deque[float] = deque(maxlen=WINDOW)
        for value in values:
            self.add(value)

    def add(self, value: float) -> None:
        """Add a value."""
        self.count += 1
        self.least = value if self.least is None else min(self.least, value)
        self.most = value if self.most is None else max(self.most, value)
        self._total += value
        self._newest.append(value)

    @property
    def average(self) -> float | None:
        """The mean of all values; None without values."""
        return self._total / self.count if self.count else None

    def quantile(self, part: float) -> float | None:
        """Return the quantile `part` (0 to 1) of the newest values; None without values.

        It is interpolated linearly at position `part * (count + 1)` of the sorted values, counted from 1.
        """
        ordered = sorted(self._newest)
        if not ordered:
            return None
        place = part * (len(ordered) + 1) - 1
        below = min(max(int(place), 0), len(ordered) - 1)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + min(max(place - below, 0.0), 1.0) * (ordered[above] - ordered[below])


FIGURES_MAX: Final = 1000
"""The number of latest completed checkpoints whose figures are kept."""

HISTORY_MAX: Final = 10
"""The default number of checkpoints in the history."""

RESTORES_MAX: Final = 100
"""The number of latest restores that are kept."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFigures:
    """One completed checkpoint: the time from the trigger to the durable manifest, and the size of its state."""

    checkpoint_id: int
    duration_ms: float
    size_bytes: int
    sync_ms_max: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """A restore: the snapshot that an attempt has started from, and the wall clock time."""

    checkpoint_id: CheckpointId
    wall_ms: int
    is_savepoint: bool
    location: str | None


@final
@dataclass(slots=True, kw_only=True)
class CheckpointCounts:
    """The numbers of checkpoints and savepoints, and of restores."""

    triggered: int = 0
    completed: int = 0
    failed: int = 0
    restored: int = 0

    @property
    def in_progress(self) -> int:
        """The number of checkpoints and savepoints under way."""
        return self.triggered - self.completed - self.failed


@final
@dataclass(slots=True, kw_only=True)
class Latest:
    """The newest checkpoint of each kind, also if the history does not contain it any more."""

    completed: CheckpointRecord | None = None
    savepoint: CheckpointRecord | None = None
    failed: CheckpointRecord | None = None
    restored: Restore | None = None


@final
class CheckpointStatistics:
    """The statistics of one job. Changed by the job master's loop, read from any thread."""

    def __init__(self, history_max: int = HISTORY_MAX) -> None:
        self.counts = CheckpointCounts()
        self.latest = Latest()
        self.figures: deque[CheckpointFigures] = deque(maxlen=FIGURES_MAX)
        self.log = CheckpointLog()
        self.restores: deque[Restore] = deque(maxlen=RESTORES_MAX)
        self.summaries = {name: Summary() for name in SUMMARISED}
        self._history: deque[CheckpointRecord] = deque(maxlen=history_max)
        self._pending: dict[CheckpointId, CheckpointRecord] = {}
        self._known_files: frozenset[str] = frozenset()

    # --- events

    def triggered(self, barrier: Barrier, attempt: Attempt, parallelism: tuple[int, ...], now_ms: float) -> None:
        """Note that a checkpoint or savepoint of an attempt begins. `now_ms` is monotonic."""
        record = CheckpointRecord(barrier=barrier, attempt=attempt, parallelism=parallelism, began_ms=now_ms)
        self.counts.triggered += 1
        self._pending[barrier.checkpoint_id] = record
        self._history.append(record)

    def acked(self, ack: SubtaskAcked, wall_ms: int) -> None:
        """Note an acknowledgement. A repeated one, or one of a checkpoint that is not under way, changes nothing."""
        record, state = self._pending.get(ack.checkpoint_id), ack.state
        if record is None or ack.attempt != record.attempt or ack.subtask in record.subtasks:
            return
        shared = {handle.path: handle.size_bytes for handle in _shared_files(state)}
        record.shared_files.update(shared)
        record.subtasks[ack.subtask] = SubtaskFigures(
            acked_ms=wall_ms,
            duration_ms=max(0, wall_ms - record.barrier.trigger_ms),
            checkpointed_bytes=state.size_bytes - sum(shared[path] for path in shared.keys() & self._known_files),
            state_bytes=state.size_bytes,
            sync_ms=state.sync_ms,
            async_ms=state.async_ms,
            upload_ms=state.upload_ms,
            alignment_ms=state.alignment_ms,
            start_delay_ms=state.start_delay_ms,
            processed_bytes=state.processed_bytes,
            persisted_bytes=state.persisted_bytes,
            unaligned=state.unaligned,
            pending=state.pending,
        )

    def completed(self, checkpoint_id: CheckpointId, location: str | None, now_ms: float) -> None:
        """Note that a checkpoint is complete. `now_ms` is monotonic."""
        record = self._pending.pop(checkpoint_id, None)
        if record is None:
            return
        savepoint = record.barrier.savepoint
        record.status = CheckpointStatus.COMPLETED
        record.location = location if savepoint is None else savepoint.location
        self.counts.completed += 1
        self.log.add(record)
        figures = record.acked()
        for name, value in totals(figures).items():
            self.summaries[name].add(value)
        self.figures.append(
            CheckpointFigures(
                checkpoint_id=checkpoint_id,
                duration_ms=now_ms - record.began_ms,
                size_bytes=sum(own.state_bytes for own in figures),
                sync_ms_max=max((own.sync_ms for own in figures), default=0.0),
            )
        )
        if record.is_savepoint:
            self.latest.savepoint = record
        else:
            self.latest.completed = record
            self._known_files = frozenset(record.shared_files)

    def failed(self, checkpoint_id: CheckpointId, reason: str, wall_ms: int) -> None:
        """Note that a checkpoint has failed. Only its first reason counts."""
        record = self._pending.pop(checkpoint_id, None)
        if record is None:
            return
        record.status, record.failure, record.failed_ms = CheckpointStatus.FAILED, reason, wall_ms
        self.counts.failed += 1
        self.log.add(record)
        self.latest.failed = record

    def restored(self, restore: Restore, files: Iterable[str]) -> None:
        """Note that an attempt starts from a checkpoint or savepoint, which consists of `files`."""
        self.counts.restored += 1
        self.latest.restored = restore
        self.restores.append(restore)
        self._known_files = frozenset(files)

    # --- queries

    def history(self) -> list[CheckpointRecord]:
        """Return the newest checkpoints and savepoints, newest first."""
        return list(self._history)[::-1]

    def find(self, checkpoint_id: int) -> CheckpointRecord | None:
        """Return a checkpoint that is in the history, under way, or the newest of its kind; None for any other."""
        latest = (self.latest.completed, self.latest.savepoint, self.latest.failed)
        known = [*self.history(), *self.under_way(), *(each for each in latest if each is not None)]
        return next((record for record in known if record.checkpoint_id == checkpoint_id), None)

    def under_way(self) -> list[CheckpointRecord]:
        """Return the checkpoints and savepoints that are under way, newest first."""
        return sorted(self._pending.copy().values(), key=lambda record: -record.checkpoint_id)


def _shared_files(state: SubtaskState) -> list[FileHandle]:
    handles = [handle for operator in state.operators for handle in operator.handles()]
    return [handle for handle in handles if isinstance(handle, FileHandle) and handle.is_shared]
