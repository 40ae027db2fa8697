"""Map: one record in, one out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.elements import Batch
from headgate.operators.base import USER_ERRORS, failed_at
from headgate.operators.calls import MAP
from headgate.operators.process import ProcessOperator
from headgate.operators.user_function import FunctionFactory, FunctionOperator


@final
class MapOperator(FunctionOperator):
    """Calls the function once for each record."""

    method = "map"

    def process(self, batch: Batch) -> Batch:
        call, records = self._call, batch.records
        position = iter(records)
        try:
            batch.records, batch.is_plain = self._passing.mapped(call, position)
        except USER_ERRORS as error:
            raise failed_at(records, position) from error
        return batch


@final
@dataclass(frozen=True, slots=True)
class MapFactory(FunctionFactory):
    """Makes a `MapOperator` of a `MapFunction` or a callable of one argument.

    Where failing records are left out, a `ProcessOperator`, which has side output.
    """

    def create(self) -> MapOperator | ProcessOperator:
        if self.errors is None:
            return MapOperator(self.function)
        return ProcessOperator(self.function, MAP, self.errors)
