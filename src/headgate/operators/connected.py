"""Operators with two inputs: co-map, co-flat-map and co-process, on streams without keys and on keyed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, final

from headgate.elements import Batch
from headgate.operators.base import OperatorContext, Runtime, method_of
from headgate.operators.keyed import KeyedOperator
from headgate.operators.plain import PlainOperator
from headgate.operators.plain_context import PlainContext

CoCall = Callable[[Any, Any], "Iterable[Any] | None"]
"""How a record becomes results: given the record and a context."""


def _at_most_one(method: Callable[..., Any]) -> CoCall:
    def call(value: Any, context: Any) -> Iterable[Any] | None:
        result = method(value)
        return None if result is None else (result,)

    return call


def _without_context(method: Callable[..., Any]) -> CoCall:
    return lambda value, context: method(value)


def _as_it_is(method: Callable[..., Any]) -> CoCall:
    return method


@final
@dataclass(frozen=True, slots=True)
class CoMethods:
    """The two methods of a kind of function, and how their results become those of an operator."""

    names: tuple[str, str]
    adapt: Callable[[Callable[..., Any]], CoCall]

    def call(self, function: Any, index: int) -> CoCall:
        """Return the call for the records of input `index`."""
        return self.adapt(method_of(function, self.names[index]))


CO_MAP: Final = CoMethods(("map1", "map2"), _at_most_one)
CO_FLAT_MAP: Final = CoMethods(("flat_map1", "flat_map2"), _without_context)
CO_PROCESS: Final = CoMethods(("process_element1", "process_element2"), _as_it_is)


@final
class CoOperator(PlainOperator):
    """Calls one method of a function for the records of its first input, another for those of its second."""

    def __init__(self, function: Any, methods: CoMethods) -> None:
        super().__init__(function)
        self._calls = methods.call(function, 0), methods.call(function, 1)
        self._names = methods.names

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._context = PlainContext(self._times)

    def process(self, batch: Batch) -> Batch:
        return self._run(batch, self._calls[0], self._context, f"{self._names[0]}()")

    def process_second(self, batch: Batch) -> Batch:
        return self._run(batch, self._calls[1], self._context, f"{self._names[1]}()")


@final
class KeyedCoOperator(KeyedOperator):
    """The same on two keyed streams: both inputs share the state and the timers of a key."""

    def __init__(self, function: Any, methods: CoMethods) -> None:
        super().__init__(function, self._bind_first)
        self._methods = methods

    def _bind_first(self, function: Any, runtime: Runtime) -> CoCall:
        self._call_second = self._methods.call(function, 1)
        return self._methods.call(function, 0)

    def process(self, batch: Batch) -> Batch:
        return self._process(batch, self._call, f"{self._methods.names[0]}()")

    def process_second(self, batch: Batch) -> Batch:
        return self._process(batch, self._call_second, f"{self._methods.names[1]}()")


@final
@dataclass(frozen=True, slots=True)
class CoMapFactory:
    """Makes an operator of a `CoMapFunction`."""

    function: Any

    def create(self) -> CoOperator:
        return CoOperator(self.function, CO_MAP)


@final
@dataclass(frozen=True, slots=True)
class CoFlatMapFactory:
    """Makes an operator of a `CoFlatMapFunction`."""

    function: Any

    def create(self) -> CoOperator:
        return CoOperator(self.function, CO_FLAT_MAP)


@final
@dataclass(frozen=True, slots=True)
class CoProcessFactory:
    """Makes an operator of a `CoProcessFunction`."""

    function: Any

    def create(self) -> CoOperator:
        return CoOperator(self.function, CO_PROCESS)


@final
@dataclass(frozen=True, slots=True)
class KeyedCoMapFactory:
    """Makes a keyed operator of a `CoMapFunction`."""

    function: Any

    def create(self) -> KeyedCoOperator:
        return KeyedCoOperator(self.function, CO_MAP)


@final
@dataclass(frozen=True, slots=True)
class KeyedCoFlatMapFactory:
    """Makes a keyed operator of a `CoFlatMapFunction`."""

    function: Any

    def create(self) -> KeyedCoOperator:
        return KeyedCoOperator(self.function, CO_FLAT_MAP)


@final
@dataclass(frozen=True, slots=True)
class KeyedCoProcessFactory:
    """Makes a keyed operator of a `KeyedCoProcessFunction`, or of a `CoProcessFunction`, which has no timers."""

    function: Any

    def create(self) -> KeyedCoOperator:
        return KeyedCoOperator(self.function, CO_PROCESS)
