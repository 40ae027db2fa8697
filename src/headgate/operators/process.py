"""Process: a `ProcessFunction` on a stream without keys, and other functions whose results may be side output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.elements import Batch
from headgate.functions.record_errors import RecordErrors
from headgate.operators.base import OperatorContext
from headgate.operators.calls import PROCESS, Method
from headgate.operators.plain import PlainOperator
from headgate.operators.plain_context import PlainContext
from headgate.operators.user_function import FunctionFactory


@final
class ProcessOperator(PlainOperator):
    """Calls a method of the function once for each record and takes what it yields or returns.

    What it yields with an `OutputTag` is side output.
    """

    def __init__(self, function: object, method: Method, errors: RecordErrors | None = None) -> None:
        super().__init__(function, errors)
        self._method = method

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._context = PlainContext(self._times)
        self._call = self._user.guarded(self._method.call(self._user.function))

    def process(self, batch: Batch) -> Batch:
        return self._run(batch, self._call, self._context)


@final
@dataclass(frozen=True, slots=True)
class ProcessFactory(FunctionFactory):
    """Makes a `ProcessOperator` of a `ProcessFunction`."""

    def create(self) -> ProcessOperator:
        return ProcessOperator(self.function, PROCESS, self.errors)
