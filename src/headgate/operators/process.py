"""Process: a `ProcessFunction` on a stream without keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from headgate.elements import Batch
from headgate.operators.base import OperatorContext, method_of
from headgate.operators.plain import PlainOperator
from headgate.operators.plain_context import PlainContext


@final
class ProcessOperator(PlainOperator):
    """Calls the function once for each record with a context and takes what it yields or returns.

    What it yields with an `OutputTag` is side output.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._call = method_of(function, "process_element")

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._context = PlainContext(self._times)

    def process(self, batch: Batch) -> Batch:
        return self._run(batch, self._call, self._context)


@final
@dataclass(frozen=True, slots=True)
class ProcessFactory:
    """Makes a `ProcessOperator` of a `ProcessFunction`."""

    function: Any

    def create(self) -> ProcessOperator:
        return ProcessOperator(self.function)
