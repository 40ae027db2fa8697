"""Reduce: the running combination of all records of a key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, final

from headgate.operators.base import Runtime, method_of
from headgate.operators.keyed import KeyedCall, KeyedContext, KeyedOperator
from headgate.operators.user_function import FunctionFactory
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types

STATE_NAME: Final = "_reduce"


def _bind(function: object, runtime: Runtime) -> KeyedCall:
    combine = method_of(function, "reduce")
    state = runtime.get_state(ValueStateDescriptor(STATE_NAME, Types.PICKLED_BYTE_ARRAY()))

    def call(value: Any, context: KeyedContext) -> Iterable[Any]:
        so_far = state.value()
        result = value if so_far is None else combine(so_far, value)
        state.update(result)
        return (result,)

    return call


@final
@dataclass(frozen=True, slots=True)
class ReduceFactory(FunctionFactory):
    """Makes a keyed operator of a `ReduceFunction` or a callable of two arguments.

    It emits the combination after each record; the first record of a key is emitted as it is.
    """

    def create(self) -> KeyedOperator:
        return KeyedOperator(self.function, _bind, self.errors)
