"""Process: a `ProcessFunction` on a stream without keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from headgate.elements import Batch
from headgate.functions.context import Context
from headgate.operators.base import USER_ERRORS, failed_at
from headgate.operators.sides import split_sides
from headgate.operators.user_function import FunctionOperator
from headgate.types.output_tag import OutputTag


@final
class RecordContext(Context):
    """The context of the current record; the operator sets its timestamp."""

    __slots__ = ()

    def at(self, timestamp_ms: int | None) -> RecordContext:
        """Set the timestamp; return the context itself."""
        self._timestamp = timestamp_ms
        return self


@final
class ProcessOperator(FunctionOperator):
    """Calls the function once for each record with a context and takes what it yields or returns.

    What it yields with an `OutputTag` is side output.
    """

    method = "process_element"

    def process(self, batch: Batch) -> Batch:
        call, records = self._call, batch.records
        context = RecordContext()
        position = iter(records)
        out: list[Any] = []
        times: list[int] = []
        try:
            if batch.timestamps is None:
                for value in position:
                    results = call(value, context)
                    if results is not None:
                        out += results
            else:
                for time, value in zip(batch.timestamps, position, strict=True):
                    results = call(value, context.at(time))
                    if results is not None:
                        out += results
                        times += [time] * (len(out) - len(times))
        except USER_ERRORS as error:
            raise failed_at(records, position) from error
        if OutputTag.in_use:
            main, self.sides = split_sides(out, None if batch.timestamps is None else times)
            return main
        return Batch(out, None if batch.timestamps is None else times)


@final
@dataclass(frozen=True, slots=True)
class ProcessFactory:
    """Makes a `ProcessOperator` of a `ProcessFunction`."""

    function: Any

    def create(self) -> ProcessOperator:
        return ProcessOperator(self.function)
