"""Map, flat map, filter, process and reduce on a keyed stream, where the functions may use state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, final

from headgate.functions.api import ReduceFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.base import FunctionWrapper, method_of
from headgate.operators.calls import FILTER, FLAT_MAP, MAP, PROCESS, Method
from headgate.operators.keyed import KeyedCall, KeyedContext, KeyedOperator
from headgate.operators.outputs import OutputType
from headgate.operators.runtime_context import Runtime
from headgate.operators.user_function import FunctionFactory
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import TypeInformation, Types


class _KeyedFactory(FunctionFactory):
    """Makes a keyed operator that calls `method` of the function."""

    method: ClassVar[Method]

    def create(self) -> KeyedOperator:
        return KeyedOperator(self.function, self.method.call, self.errors)


@final
class KeyedMapFactory(_KeyedFactory):
    """Makes a keyed operator of a `MapFunction` or a callable."""

    method = MAP


@final
class KeyedFlatMapFactory(_KeyedFactory):
    """Makes a keyed operator of a `FlatMapFunction` or a callable."""

    method = FLAT_MAP


@final
class KeyedFilterFactory(_KeyedFactory):
    """Makes a keyed operator of a `FilterFunction` or a callable."""

    method = FILTER


@final
class KeyedProcessFactory(_KeyedFactory):
    """Makes a keyed operator of a `KeyedProcessFunction`."""

    method = PROCESS


STATE_NAME: Final = "_reduce"


def _bind(function: object, runtime: Runtime) -> KeyedCall:
    combine = method_of(function, "reduce")
    state = runtime.get_state(ValueStateDescriptor(STATE_NAME, Types.PICKLED_BYTE_ARRAY()))
    if runtime.native is not None:
        compiled: KeyedCall = runtime.native.Call("reduced", combine, state)
        return compiled

    def call(value: Any, context: KeyedContext) -> Iterable[Any]:
        so_far = state.value()
        result = value if so_far is None else combine(so_far, value)
        state.update(result)
        return (result,)

    return call


@final
class TypedReduce(FunctionWrapper, ReduceFunction):
    """A reduce function that converts each result to a declared type, so that the next call receives that type."""

    def __init__(self, function: ReduceFunction | Callable[[Any, Any], Any], type_info: TypeInformation) -> None:
        self.function = function
        self.type_info = type_info

    @property
    def inner(self) -> tuple[object]:
        return (self.function,)

    def open(self, runtime_context: RuntimeContext) -> None:
        self._type = OutputType.of(self.type_info)
        self._combine = method_of(self.function, "reduce")
        super().open(runtime_context)

    def reduce(self, value1: Any, value2: Any) -> Any:
        result = self._combine(value1, value2)
        return result if self._type is None else self._type.results((result,))[0]


@final
class ReduceFactory(FunctionFactory):
    """Makes a keyed operator of a `ReduceFunction` or a callable of two arguments.

    It emits the combination after each record. The first record of a key is emitted unchanged.
    """

    def create(self) -> KeyedOperator:
        return KeyedOperator(self.function, _bind, self.errors)
