"""A rolling aggregate of a batch job: each key's last value, when the key ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, final

from headgate.elements import MAX_TIMESTAMP
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.base import Around, method_of
from headgate.operators.reduce import STATE_NAME
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types


@final
class FinalReduce(Around, KeyedProcessFunction):
    """Combines the records of a key by a `ReduceFunction` or a callable, and emits what they come to."""

    def __init__(self, function: object) -> None:
        self._function = function

    @property
    def inner(self) -> tuple[object]:
        return (self._function,)

    def open(self, runtime_context: RuntimeContext) -> None:
        self._combine = method_of(self._function, "reduce")
        self._state = runtime_context.get_state(ValueStateDescriptor(STATE_NAME, Types.PICKLED_BYTE_ARRAY()))
        super().open(runtime_context)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        so_far = self._state.value()
        if so_far is None:
            ctx.timer_service().register_event_time_timer(MAX_TIMESTAMP)
            self._state.update(value)
        else:
            self._state.update(self._combine(so_far, value))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield self._state.value()
