"""Watermarks from a column of event times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.elements import MIN_TIMESTAMP, Batch, Flow, Watermark
from headgate.operators.base import Operator, OperatorContext
from headgate.operators.columns.calc import columns_of


@final
class EventTimeOperator(Operator):
    """Emits a watermark after each batch whose latest event time is later than those before."""

    makes_watermarks = True

    def __init__(self, factory: EventTimeFactory) -> None:
        self._schema = factory.schema
        self._column = factory.column
        self._delay_ms = factory.delay_ms

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._watermark_ms = MIN_TIMESTAMP

    def mark(self, batch: Batch) -> list[Flow]:
        columns = columns_of(batch, self._schema)
        if not columns.num_rows:
            return []
        latest = pc.max(columns.column(self._column))
        if not latest.is_valid:
            return [batch]
        own = latest.cast(pa.timestamp("ms", latest.type.tz), safe=False).value - self._delay_ms - 1
        if own <= self._watermark_ms:
            return [batch]
        self._watermark_ms = own
        return [batch, Watermark(own)]


@final
@dataclass(frozen=True, slots=True)
class EventTimeFactory:
    """Makes an `EventTimeOperator` for the column at a position. Watermarks stay `delay_ms` behind the latest time."""

    schema: pa.Schema
    column: int
    delay_ms: int

    def create(self) -> EventTimeOperator:
        return EventTimeOperator(self)
