"""Operators on streams without keys whose functions are called with a context."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from headgate.elements import Batch
from headgate.operators.base import USER_ERRORS, OperatorContext, failed_at
from headgate.operators.plain_context import PlainTimerService, RecordContext
from headgate.operators.side_outputs import split_sides
from headgate.operators.user_function import UserOperator
from headgate.types.output_tag import OutputTag
from headgate.types.values import Extend

C = TypeVar("C", bound=RecordContext)
RecordCall = Callable[[Any, C], "Iterable[Any] | None"]
"""How a record becomes results."""


def process_each(batch: Batch, call: RecordCall[C], context: C, extend: Extend, during: str = "") -> Batch:
    """Call `call` for each record; return the results, side outputs among them. Raises `UserCodeError`.

    `extend` adds the results of a call to a list.
    `during` names the method, where the operator has several.
    """
    records, timestamps = batch.records, batch.timestamps
    position = iter(records)
    out: list[Any] = []
    times: list[int] = []
    try:
        if timestamps is None:
            context.at(None)
            for value in position:
                results = call(value, context)
                if results is not None:
                    extend(out, results)
        else:
            for time, value in zip(timestamps, position, strict=True):
                results = call(value, context.at(time))
                if results is not None:
                    extend(out, results)
                    times += [time] * (len(out) - len(times))
    except USER_ERRORS as error:
        raise failed_at(records, position, during) from error
    return Batch(out, None if timestamps is None else times)


class PlainOperator(UserOperator):
    """Runs a user function for records without keys, and knows how far event time has come."""

    def open(self, context: OperatorContext) -> None:
        self._times = PlainTimerService(context.services.clock)
        self._extend = context.passing.extend
        super().open(context)

    def _run(self, batch: Batch, call: RecordCall[C], context: C, during: str = "") -> Batch:
        out = process_each(batch, call, context, self._extend, during)
        if not OutputTag.in_use:
            return out
        main, self.sides = split_sides(out.records, out.timestamps)
        return main

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        self._times.watermark_ms = watermark_ms
        return None
