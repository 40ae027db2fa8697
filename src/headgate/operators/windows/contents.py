"""Contents: what is kept of the records of a window, and what of it the window function is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import reduce
from typing import Any, Final, final

from headgate.errors import ProgramError
from headgate.functions.aggregation import FieldReduce, RecordChoice
from headgate.functions.api import AggregateFunction, ReduceFunction
from headgate.functions.windows.evictors import Evictor, TimestampedValue
from headgate.functions.windows.window import Window
from headgate.operators.base import Runtime, close_function, method_of, open_function
from headgate.operators.reduce import TypedReduce
from headgate.state.backend import KeyedBackend
from headgate.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from headgate.state.keyed.immutable import own
from headgate.state.kinds.binding import merged
from headgate.state.type_check import TypeCheck
from headgate.types.typeinfo import PickledBytesTypeInfo, TypeInformation, Types

STATE_NAME: Final = "window-contents"


First = Callable[[Any], Any]
More = Callable[[Any, Any], Any]


class Contents(ABC):
    """What the windows of an operator keep. All methods but `fold` work on the backend's current namespace."""

    _state: Any
    _described: StateDescriptor
    _function: object = None
    """The program's function that combines records, if there is one."""

    @abstractmethod
    def _descriptor(self) -> StateDescriptor:
        """Return the descriptor of the state that holds the contents."""

    @abstractmethod
    def fold(self, values: list[Any]) -> list[Any]:
        """Return what the window function is given where these records are all there are."""

    @abstractmethod
    def inputs(self, window: Window) -> list[Any] | None:
        """Return what the window function is given, None for nothing: then it is not called."""

    def open(self, runtime: Runtime, backend: KeyedBackend, times: Evictor.EvictorContext) -> None:
        """Declare the state, and open the program's function. Raises `UserCodeError`."""
        self._backend = backend
        self._described = self._descriptor()
        self._state = backend.namespaced_state(self._described)
        open_function(self._function, runtime)

    def close(self) -> None:
        """Close the program's function. Raises `UserCodeError`."""
        close_function(self._function)

    def add(self, value: Any, timestamp: int | None) -> None:
        """Add a record."""
        self._state.add(value)

    def evaluated(self, window: Window) -> None:
        """Remove what is to go once the window function has been called."""

    def clear(self) -> None:
        """Remove everything."""
        self._state.clear()

    def merge(self, target: Any, sources: list[Any]) -> None:
        """Move the contents of the namespaces `sources` to those of `target`."""
        self._backend.merge_namespaces(self._described, target, sources)


class Combined(Contents):
    """One value, which a function has made of all records."""

    _type: TypeInformation

    @property
    def type_info(self) -> TypeInformation:
        """The type of the value."""
        return self._described.type_info

    def take(self) -> Any:
        """Remove and return the value of the current namespace; None for none."""
        stored = self._state.stored()
        self.clear()
        return stored

    def merged(self, values: list[Any]) -> Any:
        """Return what the values of several windows come to, which may be changed for it; None for none."""
        target, *sources = values or [None]
        return merged(self._described, target, sources, 0)

    @property
    @abstractmethod
    def is_mergeable(self) -> bool:
        """Whether two values may be combined."""

    @abstractmethod
    def combiner(self) -> More:
        """Return what makes one value of two, and leaves both as they are. Only for values that may be combined."""

    def owner(self) -> First:
        """Return a function that copies a value, unless nothing can change it."""
        return own

    @abstractmethod
    def steps(self) -> tuple[First, More]:
        """Return what makes of the first record a value, and what makes of a record and the value so far the next."""

    @abstractmethod
    def result(self, value: Any) -> Any:
        """Return what the window function is given, None for nothing."""

    def none_made(self) -> None:
        """The program's function has returned None, which is no value: the next record is the first."""

    def _checked(self, first: First, more: More) -> tuple[First, More]:
        """Have values checked as the state would check them, if the state is declared with a type."""
        if isinstance(self._type, PickledBytesTypeInfo):
            return first, more
        check = TypeCheck(self._descriptor()).value
        return lambda value: check(first(value)), lambda value, so_far: check(more(value, so_far))

    def inputs(self, window: Window) -> list[Any] | None:
        value = self._state.get()
        return None if value is None else [value]


@final
class Reduced(Combined):
    """The combination of all records, by a `ReduceFunction` or a callable of two arguments."""

    def __init__(self, function: ReduceFunction | Callable[[Any, Any], Any], type_info: TypeInformation) -> None:
        self._function: Any = function
        self._type = type_info

    def _descriptor(self) -> StateDescriptor:
        return ReducingStateDescriptor(STATE_NAME, self._function, self._type)

    @property
    def is_mergeable(self) -> bool:
        return True

    @property
    def _is_pure(self) -> bool:
        """Whether the function is known to change no record."""
        inner = self._function.function if isinstance(self._function, TypedReduce) else self._function
        return isinstance(inner, FieldReduce | RecordChoice)

    def combiner(self) -> More:
        function = method_of(self._function, "reduce")
        return function if self._is_pure else lambda one, other: function(own(one), own(other))

    def owner(self) -> First:
        return (lambda value: value) if self._is_pure else own

    def fold(self, values: list[Any]) -> list[Any]:
        return [reduce(method_of(self._function, "reduce"), values)]

    def steps(self) -> tuple[First, More]:
        function = method_of(self._function, "reduce")
        return self._checked(lambda value: value, lambda value, so_far: function(so_far, value))

    def result(self, value: Any) -> Any:
        return value


@final
class Aggregated(Combined):
    """An accumulator of all records, by an `AggregateFunction`."""

    def __init__(self, function: AggregateFunction, type_info: TypeInformation) -> None:
        self._function: AggregateFunction = function
        self._type = type_info

    def _descriptor(self) -> StateDescriptor:
        return AggregatingStateDescriptor(STATE_NAME, self._function, self._type)

    @property
    def is_mergeable(self) -> bool:
        return bool(getattr(self._function, "mergeable", False))

    def combiner(self) -> More:
        merge = self._function.merge

        def combined(one: Any, other: Any) -> Any:
            merged = merge(own(one), own(other))
            if merged is None:
                raise ProgramError(f"merge() of {type(self._function).__name__} returned None; return the accumulator")
            return merged

        return combined

    def fold(self, values: list[Any]) -> list[Any]:
        accumulator = self._function.create_accumulator()
        for value in values:
            accumulator = self._function.add(value, accumulator)
        return [self._function.get_result(accumulator)]

    def steps(self) -> tuple[First, More]:
        create, add = self._function.create_accumulator, self._function.add
        return self._checked(lambda value: add(value, create()), add)

    def result(self, value: Any) -> Any:
        if value is None:
            self.none_made()
        return self._function.get_result(value)

    def none_made(self) -> None:
        raise ProgramError(
            f"add() of {type(self._function).__name__} returned None; return the accumulator, also when it was changed "
            "in place"
        )


@final
class Elements(Contents):
    """All records, in order of arrival."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type = type_info

    def _descriptor(self) -> StateDescriptor:
        return ListStateDescriptor(STATE_NAME, self._type)

    def fold(self, values: list[Any]) -> list[Any]:
        return values

    def inputs(self, window: Window) -> list[Any] | None:
        return self._state.get() or None


@final
class Evicting(Contents):
    """All records, with their timestamps. When the window is evaluated, an evictor removes some of them."""

    def __init__(self, evictor: Evictor[Any, Any], combined: Contents) -> None:
        """What is left becomes what it becomes in `combined`."""
        self._function = combined._function
        self._fold = combined.fold
        self._evictor = evictor
        self._left: list[TimestampedValue[Any]] = []

    def _descriptor(self) -> StateDescriptor:
        return ListStateDescriptor(STATE_NAME, Types.PICKLED_BYTE_ARRAY())

    def open(self, runtime: Runtime, backend: KeyedBackend, times: Evictor.EvictorContext) -> None:
        super().open(runtime, backend, times)
        self._times = times

    def fold(self, values: list[Any]) -> list[Any]:
        return self._fold(values)

    def add(self, value: Any, timestamp: int | None) -> None:
        self._state.add((timestamp, value))

    def inputs(self, window: Window) -> list[Any] | None:
        self._left = left = [TimestampedValue(value, timestamp) for timestamp, value in self._state.get()]
        if not left:
            return None
        self._evictor.evict_before(left, len(left), window, self._times)
        return self._fold([element.value for element in left]) if left else None

    def evaluated(self, window: Window) -> None:
        if self._left:
            self._evictor.evict_after(self._left, len(self._left), window, self._times)
        self._state.update([(element.timestamp, element.value) for element in self._left])
