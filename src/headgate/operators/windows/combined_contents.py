"""Contents that are combined: of the records of a window there is one value, which grows with each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import reduce
from types import ModuleType
from typing import Any, final

from headgate.errors import ProgramError
from headgate.functions.aggregation import FieldReduce, RecordChoice
from headgate.functions.api import AggregateFunction, ReduceFunction
from headgate.functions.windows.evictors import Evictor
from headgate.functions.windows.window import Window
from headgate.operators.base import method_of
from headgate.operators.keyed_functions import TypedReduce
from headgate.operators.runtime_context import Runtime
from headgate.operators.windows.contents import STATE_NAME, First, More, PaneContents
from headgate.operators.windows.slice_values import CombinedSlices
from headgate.operators.windows.two_stacks import SlicesBetween
from headgate.state.backend import KeyedBackend
from headgate.state.descriptors import AggregatingStateDescriptor, ReducingStateDescriptor, StateDescriptor
from headgate.state.kinds.aggregating_state import merge_of
from headgate.types.record_copies import copied
from headgate.types.typeinfo import TypeInformation


class Combined(PaneContents):
    """One value, which a function has made of all records."""

    result: Callable[[Any], Any]
    """Returns what the window function is given for a value, None for nothing."""

    @abstractmethod
    def combiner(self) -> More:
        """Return what makes one value of two, and leaves both as they are. Only for contents that are sliceable."""

    def owner(self) -> First:
        return copied

    def _checked(self, first: First, more: More) -> tuple[First, More]:
        """Have values checked as the state would check them, if the state is declared with a type."""
        check = self._check()
        if check is None:
            return first, more
        return lambda value: check(first(value)), lambda value, so_far: check(more(value, so_far))

    def take(self) -> Any:
        stored = self._state.stored()
        self.clear()
        return stored

    def inputs(self, window: Window) -> list[Any] | None:
        value = self._state.get()
        return None if value is None else [self._passing.copied(value)]

    def inputs_of(self, value: Any) -> list[Any] | None:
        result = self.none_made() if value is None else self.result(value)
        return None if result is None else [result]

    def slice_values(self, between: SlicesBetween) -> CombinedSlices:
        return CombinedSlices(self.steps(), self.combiner(), self.owner(), between)


@final
class Reduced(Combined):
    """The combination of all records, by a `ReduceFunction` or a callable of two arguments."""

    def __init__(self, function: ReduceFunction | Callable[[Any, Any], Any], type_info: TypeInformation) -> None:
        self._function: Any = function
        self._type = type_info

    def open(self, runtime: Runtime, backend: KeyedBackend, times: Evictor.EvictorContext) -> None:
        super().open(runtime, backend, times)
        self.result = itself(backend.native)

    def _descriptor(self) -> StateDescriptor:
        return ReducingStateDescriptor(STATE_NAME, self._function, self._type)

    @property
    def is_sliceable(self) -> bool:
        return True

    @property
    def _is_pure(self) -> bool:
        """Whether the function is known to change no record."""
        inner = self._function.function if isinstance(self._function, TypedReduce) else self._function
        return isinstance(inner, FieldReduce | RecordChoice)

    def combiner(self) -> More:
        function = method_of(self._function, "reduce")
        return function if self._is_pure else lambda one, other: function(copied(one), copied(other))

    def owner(self) -> First:
        return (lambda value: value) if self._is_pure else copied

    def fold(self, values: list[Any]) -> list[Any]:
        return [reduce(method_of(self._function, "reduce"), values)]

    def steps(self) -> tuple[First, More]:
        function = method_of(self._function, "reduce")
        return self._checked(self.result, swapped(self._backend.native, function))


@final
class Aggregated(Combined):
    """An accumulator of all records, by an `AggregateFunction`."""

    def __init__(self, function: AggregateFunction, type_info: TypeInformation) -> None:
        self._function: AggregateFunction = function
        self._type = type_info
        self.result = function.get_result

    def _descriptor(self) -> StateDescriptor:
        return AggregatingStateDescriptor(STATE_NAME, self._function, self._type)

    @property
    def is_sliceable(self) -> bool:
        return bool(getattr(self._function, "mergeable", False))

    def combiner(self) -> More:
        merge = merge_of(self._function)
        return lambda one, other: merge(copied(one), copied(other))

    def fold(self, values: list[Any]) -> list[Any]:
        accumulator = self._function.create_accumulator()
        for value in values:
            accumulator = self._function.add(value, accumulator)
        return [self._function.get_result(accumulator)]

    def steps(self) -> tuple[First, More]:
        create, add = self._function.create_accumulator, self._function.add
        return self._checked(added(self._backend.native, add, create), add)

    def none_made(self) -> Any:
        raise ProgramError(
            f"add() of {type(self._function).__name__} returned None; return the accumulator, also when it was changed "
            "in place"
        )


# --- the steps of contents: in compiled code where the job is, because the frame of a lambda takes a third of the time
# of a short function of the program


def itself(native: ModuleType | None) -> First:
    """Return a function that returns its argument."""
    if native is None:
        return lambda value: value
    made: First = native.Step("itself", None, None)
    return made


def added(native: ModuleType | None, add: More, create: Callable[[], Any]) -> First:
    """Return a function that adds its argument to what `create` returns."""
    if native is None:
        return lambda value: add(value, create())
    made: First = native.Step("added", add, create)
    return made


def swapped(native: ModuleType | None, function: Callable[[Any, Any], Any]) -> More:
    """Return the function with its two arguments in the other order."""
    if native is None:
        return lambda value, so_far: function(so_far, value)
    made: More = native.Step("swapped", function, None)
    return made
