"""Filter: keeps or drops records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any, final

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
            if not (batch.is_plain or self._passing.is_plain(records)):
                self._filter(batch, position)
                return batch
            if batch.timestamps is None:
                batch.records = [value for value in position if call(value)]
            else:
                kept = [bool(call(value)) for value in position]
                batch.records = list(compress(records, kept))
                batch.timestamps = list(compress(batch.timestamps, kept))
        except USER_ERRORS as error:
            raise failed_at(records, position) from error
        batch.is_plain = True
        return batch

    def _filter(self, batch: Batch, position: Iterator[Any]) -> None:
        """Filter records that the function may keep and change later: such a record is copied when it passes."""
        call = self._call
        passed, _ = self._passing.mapped(lambda value: value if call(value) else _Dropped, position)
        if batch.timestamps is not None:
            batch.timestamps = [
                time for time, value in zip(batch.timestamps, passed, strict=True) if value is not _Dropped
            ]
        batch.records = [value for value in passed if value is not _Dropped]


@final
class _Dropped:
    """Takes the place of a record that does not pass: a class, as classes are never copied, and need no look."""


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
