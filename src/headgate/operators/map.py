"""Map: one record in, one out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from headgate.elements import Batch
from headgate.operators.base import USER_ERRORS, failed_at
from headgate.operators.user_function import FunctionOperator


@final
class MapOperator(FunctionOperator):
    """Calls the function once for each record."""

    method = "map"

    def process(self, batch: Batch) -> Batch:
        call, records = self._call, batch.records
        position = iter(records)
        try:
            batch.records = [call(value) for value in position]
        except USER_ERRORS as error:
            raise failed_at(records, position) from error
        return batch


@final
@dataclass(frozen=True, slots=True)
class MapFactory:
    """Makes a `MapOperator` of a `MapFunction` or a callable of one argument."""

    function: Any

    def create(self) -> MapOperator:
        return MapOperator(self.function)
