"""Flat map: one record in, any number out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from headgate.elements import Batch
from headgate.operators.base import USER_ERRORS, failed_at
from headgate.operators.calls import FLAT_MAP, many_of_one
from headgate.operators.process import ProcessOperator
from headgate.operators.user_function import FunctionFactory, FunctionOperator


@final
class FlatMapOperator(FunctionOperator):
    """Calls the function once for each record and takes what it yields or returns."""

    method = "flat_map"

    def __init__(self, function: object) -> None:
        super().__init__(function)
        self._call = many_of_one(self._call)

    def process(self, batch: Batch) -> Batch:
        call, extend, records, timestamps = self._call, self._passing.extend, batch.records, batch.timestamps
        position = iter(records)
        out: list[Any] = []
        times: list[int] = []
        try:
            if timestamps is None:
                for value in position:
                    results = call(value)
                    if results is not None:
                        extend(out, results)
            else:
                for time, value in zip(timestamps, position, strict=True):
                    results = call(value)
                    if results is not None:
                        extend(out, results)
                        times += [time] * (len(out) - len(times))
        except USER_ERRORS as error:
            raise failed_at(records, position) from error
        return Batch(out, None if timestamps is None else times)


@final
@dataclass(frozen=True, slots=True)
class FlatMapFactory(FunctionFactory):
    """Makes a `FlatMapOperator` of a `FlatMapFunction` or a callable of one argument.

    Where failing records are left out, a `ProcessOperator`, which has side output.
    """

    def create(self) -> FlatMapOperator | ProcessOperator:
        if self.errors is None:
            return FlatMapOperator(self.function)
        return ProcessOperator(self.function, FLAT_MAP, self.errors)
