"""Watermarks from the event times of record batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.elements import Batch
from headgate.functions.watermarks import ColumnTime
from headgate.operators.columns.calc import columns_of, computed
from headgate.operators.columns.conformity import conformed

if TYPE_CHECKING:
    from headgate.operators.watermarks import MarkedFlow


@final
class LatestTime:
    """Emits a watermark after each batch whose latest event time is later than the times before."""

    def __init__(self, event_time: ColumnTime) -> None:
        self._schema = event_time.schema
        self._reads = list(event_time.reads)
        self._types = pa.schema([event_time.schema.field(place) for place in event_time.reads])
        self._time = event_time.time
        self._delay_ms = event_time.delay_ms

    def on_batch(self, batch: Batch, marks: MarkedFlow) -> None:
        marks.out.append(batch)
        columns = conformed(columns_of(batch, self._schema).select(self._reads), self._types)
        latest = pc.max(computed(self._time, columns)[0])
        if latest.is_valid:
            marks.emit_watermark(latest.cast(pa.timestamp("ms", latest.type.tz), safe=False).value - self._delay_ms - 1)

    def on_period(self, marks: MarkedFlow) -> None:
        """Do nothing: watermarks follow batches, not the clock."""
