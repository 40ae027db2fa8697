"""How a record becomes results: the methods of user functions, and what is made of their return values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, final

from headgate.operators.base import Runtime, method_of

RecordCall = Callable[[Any, Any], "Iterable[Any] | None"]
"""How a record becomes results: given the record and a context."""

UserMethod = Callable[..., Any]


def _one(method: UserMethod) -> RecordCall:
    return lambda value, context: (method(value),)


def _at_most_one(method: UserMethod) -> RecordCall:
    def call(value: Any, context: Any) -> Iterable[Any] | None:
        result = method(value)
        return None if result is None else (result,)

    return call


def _itself(method: UserMethod) -> RecordCall:
    return lambda value, context: (value,) if method(value) else None


def _without_context(method: UserMethod) -> RecordCall:
    return lambda value, context: method(value)


def _as_it_is(method: UserMethod) -> RecordCall:
    return method


@final
@dataclass(frozen=True, slots=True)
class Method:
    """A method of user functions, and how its results become those of an operator."""

    name: str
    adapt: Callable[[UserMethod], RecordCall]

    def call(self, function: Any, runtime: Runtime | None = None) -> RecordCall:
        """Return the call of the method; of a plain callable, of itself."""
        return self.adapt(method_of(function, self.name))


MAP: Final = Method("map", _one)
FLAT_MAP: Final = Method("flat_map", _without_context)
FILTER: Final = Method("filter", _itself)
PROCESS: Final = Method("process_element", _as_it_is)
CO_MAP: Final = Method("map1", _at_most_one), Method("map2", _at_most_one)
CO_FLAT_MAP: Final = Method("flat_map1", _without_context), Method("flat_map2", _without_context)
CO_PROCESS: Final = Method("process_element1", _as_it_is), Method("process_element2", _as_it_is)
