"""Records that come before or after their time: early records wait in keyed state, late records leave the main stream.

A late record goes to a side output; without a side output it is counted and dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, final

from headgate.elements import MAX_TIMESTAMP, Batch
from headgate.operators.base import OperatorContext
from headgate.operators.keyed_context import KeyedTimerService
from headgate.state.backend import KeyedBackend
from headgate.state.keyed.cells import GENERATION
from headgate.state.kinds.list_state import ListState
from headgate.types.output_tag import OutputTag

LATE_RECORDS: Final = "numLateRecordsDropped"
"""Flink's name for the metric that counts late records."""


@final
class LateRecords:
    """The late records of an operator, or of one of its inputs: sent to a side output, or counted and dropped."""

    def __init__(self, context: OperatorContext, tag: OutputTag | None) -> None:
        """`tag` names the side output for late records; None: they are counted and dropped."""
        self._tag = tag
        self._count = context.metrics.counter(LATE_RECORDS)

    def take(self, value: Any, time_ms: int, out: list[Any], times: list[int]) -> None:
        """Append a late record to `out` and `times` as side output, or count it."""
        if self._tag is None:
            self._count.inc()
        else:
            out.append((self._tag, value))
            times.append(time_ms)


@final
@dataclass(frozen=True, slots=True)
class WaitingRecords:
    """Keeps (time, record) in a list state until event time reaches the time.

    Event time is `grace_ms` behind the watermark.
    """

    backend: KeyedBackend
    records: ListState[Any]
    late: LateRecords
    grace_ms: int = 0

    def keep(self, timers: KeyedTimerService, arrived: Iterable[tuple[Any, int, Any]]) -> Batch:
        """Keep records that arrived, given as (key, time, record); return the side output for late records.

        Each key gets a timer for the time at which its first record is due.
        """
        backend, own, late, grace_ms = self.backend, self.records, self.late, self.grace_ms
        cell_of, generation, column = backend.cells.get, backend.generation, own.column
        current = backend.current
        earliest, register = timers.earliest_event_time_timer, timers.register_event_time_timer
        late_ms = timers.watermark_ms - grace_ms
        out: list[Any] = []
        times: list[int] = []
        for key, time, value in arrived:
            if time <= late_ms:
                late.take(value, time, out, times)
                continue
            cell = cell_of(key)
            if cell is None or cell[GENERATION] != generation:
                cell = backend.enter(key, cell)
            current.cell = cell
            kept = cell[column]
            if kept is None:
                own.add((time, value))
            else:
                kept.append((time, value))
            first_ms = earliest()
            if first_ms is None or time + grace_ms < first_ms:
                register(min(time + grace_ms, MAX_TIMESTAMP))
        return Batch(out, times)
