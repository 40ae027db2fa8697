"""Sink function: hands each record to a `SinkFunction`, at least once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from headgate.elements import Batch
from headgate.operators.base import USER_ERRORS, failed_at
from headgate.operators.plain_context import RecordContext
from headgate.operators.user_function import FunctionOperator


@final
class SinkFunctionOperator(FunctionOperator):
    """Calls the function once for each record; nothing comes out."""

    method = "invoke"

    def process(self, batch: Batch) -> Batch:
        call, records, context = self._call, batch.records, RecordContext()
        times: Sequence[int | None] = batch.timestamps or [None] * len(records)
        position = iter(records)
        try:
            for time, value in zip(times, position, strict=True):
                call(value, context.at(time))
        except USER_ERRORS as error:
            raise failed_at(records, position) from error
        return Batch([])


@final
@dataclass(frozen=True, slots=True)
class SinkFunctionFactory:
    """Makes the operator of a `SinkFunction`."""

    function: object

    def create(self) -> SinkFunctionOperator:
        return SinkFunctionOperator(self.function)
