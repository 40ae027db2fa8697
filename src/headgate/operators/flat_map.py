"""Flat map: one record in, any number out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from headgate.elements import Batch
from headgate.operators.base import USER_ERRORS, failed_at
from headgate.operators.user_function import FunctionOperator


@final
class FlatMapOperator(FunctionOperator):
    """Calls the function once for each record and takes what it yields or returns."""

    method = "flat_map"

    def process(self, batch: Batch) -> Batch:
        call, records, timestamps = self._call, batch.records, batch.timestamps
        position = iter(records)
        out: list[Any] = []
        times: list[int] = []
        try:
            if timestamps is None:
                for value in position:
                    results = call(value)
                    if results is not None:
                        out += results
            else:
                for time, value in zip(timestamps, position, strict=True):
                    results = call(value)
                    if results is not None:
                        out += results
                        times += [time] * (len(out) - len(times))
        except USER_ERRORS as error:
            raise failed_at(records, position) from error
        return Batch(out, None if timestamps is None else times)


@final
@dataclass(frozen=True, slots=True)
class FlatMapFactory:
    """Makes a `FlatMapOperator` of a `FlatMapFunction` or a callable of one argument."""

    function: Any

    def create(self) -> FlatMapOperator:
        return FlatMapOperator(self.function)
