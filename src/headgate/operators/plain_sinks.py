"""Sinks that write each record at least once: `SinkFunction`, and `print` to the standard output of the slot."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from headgate.elements import Batch
from headgate.operators.base import USER_ERRORS, Operator, OperatorContext, failed_at
from headgate.operators.plain import RecordContext
from headgate.operators.user_function import FunctionOperator
from headgate.types.text import printed_prefix, printed_text_of
from headgate.types.type_information import TypeInformation


@final
class PrintOperator(Operator):
    """Writes one line for each record, with Flink's prefix: `identifier:subtask> `."""

    def __init__(self, identifier: str | None, record_type: TypeInformation | None) -> None:
        self._identifier = identifier
        self._text = printed_text_of(record_type)

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._prefix = printed_prefix(self._identifier, context.subtask, context.parallelism)

    def process(self, batch: Batch) -> Batch:
        prefix, text = self._prefix, self._text
        sys.stdout.write("".join(f"{prefix}{text(record)}\n" for record in batch.records))
        sys.stdout.flush()
        return Batch([])


@final
@dataclass(frozen=True, slots=True)
class PrintFactory:
    """Makes a `PrintOperator` for records of a declared type, or of none."""

    identifier: str | None = None
    record_type: TypeInformation | None = None

    def create(self) -> PrintOperator:
        return PrintOperator(self.identifier, self.record_type)


@final
class SinkFunctionOperator(FunctionOperator):
    """Calls the function once for each record. It emits nothing."""

    method = "invoke"

    def process(self, batch: Batch) -> Batch:
        call, records, context = self._call, batch.records, RecordContext()
        times: Sequence[int | None] = batch.timestamps or [None] * len(records)
        position = iter(records)
        try:
            for time, value in zip(times, position, strict=True):
                call(value, context.at(time))
        except USER_ERRORS as error:
            raise failed_at(records, position) from error
        return Batch([])


@final
@dataclass(frozen=True, slots=True)
class SinkFunctionFactory:
    """Makes the operator of a `SinkFunction`."""

    function: object

    def create(self) -> SinkFunctionOperator:
        return SinkFunctionOperator(self.function)
