"""The log of checkpoints: a line of about 100 bytes for each of the newest ten thousand that have ended. Pure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from struct import Struct
from typing import Final, NamedTuple, final

from headgate.elements import SavepointFormat
from headgate.runtime.monitoring.checkpoint_record import CheckpointKind, CheckpointRecord, CheckpointStatus, totals

LOG_MAX: Final = 10_000
FAILURE_MAX: Final = 200
"""The greatest number of characters kept of a failure's first line."""
POINTS_MAX: Final = 500

_ID: Final = Struct(">Q")
_LINE: Final = Struct(">QBBBQQQQ")
"""The format of a line. It begins with the id, so that lines sort by id. The failure follows, in UTF-8."""
_KINDS: Final = tuple(CheckpointKind)
_STATUSES: Final = tuple(CheckpointStatus)
_FORMATS: Final = (None, *SavepointFormat)
_COMPLETED: Final = _STATUSES.index(CheckpointStatus.COMPLETED)
_NO_SAVEPOINT: Final = _FORMATS.index(None)


class _Line(NamedTuple):
    """The numbers of a line. `kind`, `status` and `form` are indexes into the tuples above."""

    number: int
    kind: int
    status: int
    form: int
    trigger_ms: int
    duration_ms: int
    written_bytes: int
    state_bytes: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One checkpoint or savepoint. `duration_ms` is from its trigger to the last acknowledgement, or to its failure.

    `written_bytes` are the bytes written for this checkpoint, `state_bytes` the bytes of all its state.
    """

    checkpoint_id: int
    kind: CheckpointKind
    status: CheckpointStatus
    savepoint_format: SavepointFormat | None
    trigger_ms: int
    duration_ms: int
    written_bytes: int
    state_bytes: int
    failure: str | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Figures of some consecutive complete checkpoints. `trigger_ms` is the start of the last one.

    Durations and written bytes are the average and the maximum; `state_bytes` is the value of the last one.
    """

    trigger_ms: int
    duration_ms: int
    duration_ms_max: int
    written_bytes: int
    written_bytes_max: int
    state_bytes: int


def entry_of(record: CheckpointRecord) -> LogEntry:
    """Return the log entry of a checkpoint in its present state."""
    sums, savepoint, trigger_ms = totals(record.acked()), record.barrier.savepoint, record.barrier.trigger_ms
    took_ms = sums["end_to_end_duration"] if record.failed_ms is None else record.failed_ms - trigger_ms
    return LogEntry(
        checkpoint_id=record.checkpoint_id,
        kind=record.kind,
        status=record.status,
        savepoint_format=None if savepoint is None else savepoint.format,
        trigger_ms=trigger_ms,
        duration_ms=max(0, took_ms),
        written_bytes=sums["checkpointed_size"],
        state_bytes=sums["state_size"],
        failure=None if record.failure is None else record.failure.partition("\n")[0][:FAILURE_MAX],
    )


@final
class CheckpointLog:
    """The lines of one job, by id. Written by the job master's loop, read from any thread."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def __len__(self) -> int:
        """Return the number of checkpoints in the log."""
        return len(self._lines)

    def add(self, record: CheckpointRecord) -> None:
        """Add a checkpoint that has ended. Drops the oldest line when there are too many."""
        insort(self._lines, _line(entry_of(record)))
        del self._lines[:-LOG_MAX]

    def before(self, checkpoint_id: int | None, limit: int) -> list[LogEntry]:
        """Return up to `limit` checkpoints with ids below `checkpoint_id` (None: all), newest first."""
        lines = self._lines.copy()
        end = len(lines) if checkpoint_id is None else bisect_left(lines, _ID.pack(checkpoint_id))
        return [_entry(line) for line in reversed(lines[max(0, end - limit) : end])]

    def curve(self) -> list[CurvePoint]:
        """Return the figures of complete checkpoints, without savepoints, as at most 500 points, oldest first.

        A point covers a fixed range of ids, so it does not change when later checkpoints are added.
        """
        lines = [_Line(*_LINE.unpack_from(line)) for line in self._lines.copy()]
        drawn = [line for line in lines if line.status == _COMPLETED and line.form == _NO_SAVEPOINT]
        if not drawn:
            return []
        width = -(-(drawn[-1].number - drawn[0].number + 1) // (POINTS_MAX - 1))
        return [_point(list(bucket)) for _, bucket in groupby(drawn, lambda line: line.number // width)]


def _point(bucket: list[_Line]) -> CurvePoint:
    return CurvePoint(
        trigger_ms=bucket[-1].trigger_ms,
        duration_ms=_average(line.duration_ms for line in bucket),
        duration_ms_max=max(line.duration_ms for line in bucket),
        written_bytes=_average(line.written_bytes for line in bucket),
        written_bytes_max=max(line.written_bytes for line in bucket),
        state_bytes=bucket[-1].state_bytes,
    )


def _average(values: Iterable[int]) -> int:
    found = list(values)
    return sum(found) // len(found)


def _line(entry: LogEntry) -> bytes:
    return (
        _LINE.pack(
            entry.checkpoint_id,
            _KINDS.index(entry.kind),
            _STATUSES.index(entry.status),
            _FORMATS.index(entry.savepoint_format),
            entry.trigger_ms,
            entry.duration_ms,
            entry.written_bytes,
            entry.state_bytes,
        )
        + (entry.failure or "").encode()
    )


def _entry(line: bytes) -> LogEntry:
    found = _Line(*_LINE.unpack_from(line))
    return LogEntry(
        checkpoint_id=found.number,
        kind=_KINDS[found.kind],
        status=_STATUSES[found.status],
        savepoint_format=_FORMATS[found.form],
        trigger_ms=found.trigger_ms,
        duration_ms=found.duration_ms,
        written_bytes=found.written_bytes,
        state_bytes=found.state_bytes,
        failure=line[_LINE.size :].decode() or None,
    )
