"""Late rows of windows: how long windows wait for them, and the rows for which no window waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.functions.windows import points_in_time
from headgate.elements import MIN_TIMESTAMP, Batch
from headgate.operators.base import Operator
from headgate.operators.columns.calc import columns_of


@final
@dataclass(frozen=True, slots=True)
class DelayFactory:
    """Makes a `DelayOperator`."""

    delay_ms: int

    def create(self) -> DelayOperator:
        return DelayOperator(self.delay_ms)


@final
class DelayOperator(Operator):
    """Passes records on, and makes watermarks earlier by a length of time, except the last watermark."""

    def __init__(self, delay_ms: int) -> None:
        self.output_lag_ms = delay_ms

    def process(self, batch: Batch) -> Batch:
        return batch


@final
@dataclass(frozen=True, slots=True)
class LateFactory:
    """Makes a `LateOperator`. The last column of `schema` is the local time at which the window of a row ends.

    `zone` is the zone of that time, None if the event time has no zone.
    """

    schema: pa.Schema
    zone: str | None

    def create(self) -> LateOperator:
        return LateOperator(self)


@final
class LateOperator(Operator):
    """Emits the rows that come when the watermark has passed the end of their window."""

    def __init__(self, factory: LateFactory) -> None:
        self._schema = factory.schema
        self._zone = factory.zone
        self._watermark_ms = MIN_TIMESTAMP

    def process(self, batch: Batch) -> Batch:
        columns = columns_of(batch, self._schema)
        ends: Any = columns.column(columns.num_columns - 1)
        fired = ends if self._zone is None else points_in_time(ends.cast(pa.timestamp("ms")), self._zone)
        late = columns.filter(pc.less_equal(pc.subtract(fired.cast(pa.int64()), 1), self._watermark_ms))
        return Batch.of_arrow(late) if late.num_rows else Batch([])

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        self._watermark_ms = watermark_ms
        return None
