"""Filter: keeps or drops records."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import final

from headgate.elements import Batch
from headgate.operators.base import USER_ERRORS, failed_at
from headgate.operators.calls import FILTER
from headgate.operators.process import ProcessOperator
from headgate.operators.user_function import FunctionFactory, FunctionOperator


@final
class FilterOperator(FunctionOperator):
    """Keeps the records for which the function returns something true."""

    method = "filter"

    def process(self, batch: Batch) -> Batch:
        call, records = self._call, batch.records
        position = iter(records)
        try:
            if batch.timestamps is None:
                batch.records = [value for value in position if call(value)]
            else:
                kept = [bool(call(value)) for value in position]
                batch.records = list(compress(records, kept))
                batch.timestamps = list(compress(batch.timestamps, kept))
        except USER_ERRORS as error:
            raise failed_at(records, position) from error
        return batch


@final
@dataclass(frozen=True, slots=True)
class FilterFactory(FunctionFactory):
    """Makes a `FilterOperator` of a `FilterFunction` or a callable of one argument.

    Where failing records are left out, a `ProcessOperator`, which has side output.
    """

    def create(self) -> FilterOperator | ProcessOperator:
        if self.errors is None:
            return FilterOperator(self.function)
        return ProcessOperator(self.function, FILTER, self.errors)
