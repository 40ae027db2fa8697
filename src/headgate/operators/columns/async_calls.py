"""Calls of coroutine functions for the rows of columns: record batches become records for `AsyncOperator`, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import pyarrow as pa

from headgate.columns.python_values import MISFITS, column_of_values, misfit, python_values
from headgate.columns.user_kernels import AsyncKernel, UserFunctions
from headgate.elements import Batch
from headgate.errors import ProgramError
from headgate.functions.asynchronous import AsyncFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.base import Operator
from headgate.operators.columns.calc import columns_of
from headgate.operators.columns.keys import rows_of

CallRecord = tuple[tuple[Any, ...], tuple[Any, ...] | None]
"""The values of a row to keep, and the arguments of the call; None if the function is not called for the row."""


@final
class CallRecordsOperator(Operator):
    """Turns each record batch into records for `AsyncCall`."""

    def __init__(self, factory: CallRecordsFactory) -> None:
        self._factory = factory

    def process(self, batch: Batch) -> Batch:
        factory = self._factory
        columns = columns_of(batch, factory.schema)
        end = factory.kept + factory.arguments
        own = [python_values(column, factory.zone) for column in columns.columns[factory.kept : end]]
        rows = rows_of(columns.columns[: factory.kept], columns.num_rows)
        calls: list[Any] = list(zip(*own, strict=True)) if own else [()] * len(rows)
        for guard in columns.columns[end:]:
            calls = [call if called else None for call, called in zip(calls, guard.to_pylist(), strict=True)]
        return Batch(list(zip(rows, calls, strict=True)))


@final
@dataclass(frozen=True, slots=True)
class CallRecordsFactory:
    """Makes a `CallRecordsOperator`. The schema has `kept` columns, then `arguments`, then the guard, if any."""

    schema: pa.Schema
    kept: int
    arguments: int
    zone: str

    def create(self) -> CallRecordsOperator:
        return CallRecordsOperator(self)


@final
class AsyncCall(AsyncFunction):
    """Calls the function of a kernel for the arguments of a record, and adds its result to the kept values."""

    def __init__(self, kernel: AsyncKernel) -> None:
        self._kernel = kernel
        self._result = kernel.declared.result
        self._functions = UserFunctions()

    def open(self, runtime_context: RuntimeContext) -> None:
        self._functions.open([self._kernel], runtime_context)

    async def async_invoke(self, value: CallRecord) -> Sequence[tuple[Any, ...]]:
        kept, arguments = value
        if arguments is None:
            return [(*kept, None)]
        name = self._kernel.name
        try:
            result = await self._kernel.call(*arguments)
        except Exception as error:
            error.add_note(f"raised by {name}{arguments!r:.200}")
            raise
        try:
            column = column_of_values([result], self._result)
        except MISFITS as error:
            raise ProgramError(misfit(f"{name}()", result, self._result, error)) from None
        return [kept + own for own in rows_of([column], 1)]

    def timeout(self, value: CallRecord) -> Sequence[Any]:
        """Raise TimeoutError, which names the function and its arguments."""
        raise TimeoutError(
            f"{self._kernel.name}{value[1]!r:.200} has not ended in time: set table.exec.async-scalar.timeout"
        )

    def close(self) -> None:
        self._functions.close()
