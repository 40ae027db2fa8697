"""Records that wait in keyed state for event time, and a timer of their key for the first of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from headgate.elements import MAX_TIMESTAMP, Batch
from headgate.operators.keyed_context import KeyedTimerService
from headgate.operators.side_outputs import LateRecords
from headgate.state.backend import KeyedBackend
from headgate.state.keyed.cells import GENERATION
from headgate.state.kinds.list_state import ListState


@final
@dataclass(frozen=True, slots=True)
class WaitingRecords:
    """Keeps (time, record) in a list state. Event time runs `grace_ms` behind the watermark."""

    backend: KeyedBackend
    records: ListState[Any]
    late: LateRecords
    grace_ms: int = 0

    def keep(self, timers: KeyedTimerService, arrived: Iterable[tuple[Any, int, Any]]) -> Batch:
        """Keep what arrived, as (key, time, record), until its time has come; return what late records come to.

        A key has a timer for the time at which the first of its records is due.
        """
        backend, own, late, grace_ms = self.backend, self.records, self.late, self.grace_ms
        cell_of, generation, column = backend.cells.get, backend.generation, own.column
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
            backend.cell = cell
            kept = cell[column]
            if kept is None:
                own.add((time, value))
            else:
                kept.append((time, value))
            first_ms = earliest()
            if first_ms is None or time + grace_ms < first_ms:
                register(min(time + grace_ms, MAX_TIMESTAMP))
        return Batch(out, times)
