"""Functions on streams without keys: map, flat map, filter and process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from typing import Any, ClassVar, final

from headgate.elements import Batch
from headgate.functions.record_errors import RecordErrors
from headgate.operators.base import USER_ERRORS, OperatorContext, failed_at
from headgate.operators.calls import FILTER, FLAT_MAP, MAP, PROCESS, Method, many_of_one
from headgate.operators.plain import PlainContext, PlainOperator, record_loop
from headgate.operators.user_function import FunctionFactory, FunctionOperator


class _PlainFactory(FunctionFactory):
    """Makes an operator of its own for a function without an error policy.

    With a policy it makes a `ProcessOperator`, which supports side output.
    """

    method: ClassVar[Method]
    operator: ClassVar[type[FunctionOperator]]

    def create(self) -> FunctionOperator | ProcessOperator:
        if self.errors is None:
            return self.operator(self.function)
        return ProcessOperator(self.function, self.method, self.errors)


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
class MapFactory(_PlainFactory):
    """Makes an operator of a `MapFunction` or a callable of one argument."""

    method = MAP
    operator = MapOperator


@final
class FlatMapOperator(FunctionOperator):
    """Calls the function once for each record and emits the records that it yields or returns."""

    method = "flat_map"

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._loop = record_loop(context.native, self._passing.extend)
        self._flat = many_of_one(self._call, context.native)

    def process(self, batch: Batch) -> Batch:
        records, timestamps = batch.records, batch.timestamps
        position = iter(records)
        try:
            if timestamps is None:
                return Batch(self._loop.flat(position, self._flat))
            return Batch(*self._loop.flat_timed(timestamps, position, self._flat))
        except USER_ERRORS as error:
            raise failed_at(records, position) from error


@final
class FlatMapFactory(_PlainFactory):
    """Makes an operator of a `FlatMapFunction` or a callable of one argument."""

    method = FLAT_MAP
    operator = FlatMapOperator


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
        """Filter records that the function may keep and change later: a record that passes is copied."""
        call = self._call
        passed, _ = self._passing.mapped(lambda value: value if call(value) else _Dropped, position)
        if batch.timestamps is not None:
            batch.timestamps = [
                time for time, value in zip(batch.timestamps, passed, strict=True) if value is not _Dropped
            ]
        batch.records = [value for value in passed if value is not _Dropped]


@final
class _Dropped:
    """Placeholder for a record that does not pass. It is a class, because classes are never copied."""


@final
class FilterFactory(_PlainFactory):
    """Makes an operator of a `FilterFunction` or a callable of one argument."""

    method = FILTER
    operator = FilterOperator


@final
class ProcessOperator(PlainOperator):
    """Calls a method of the function once for each record and emits the records that it yields or returns.

    Records with an `OutputTag` go to side outputs.
    """

    def __init__(self, function: object, method: Method, errors: RecordErrors | None = None) -> None:
        super().__init__(function, errors)
        self._method = method

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._context = PlainContext(self._times)
        self._call = self._user.guarded(self._method.call(self._user.function, context))

    def process(self, batch: Batch) -> Batch:
        return self._run(batch, self._call, self._context)


@final
class ProcessFactory(FunctionFactory):
    """Makes a `ProcessOperator` of a `ProcessFunction`."""

    def create(self) -> ProcessOperator:
        return ProcessOperator(self.function, PROCESS, self.errors)
