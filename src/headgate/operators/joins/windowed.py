"""Window joins: they run as a window over the union of two streams, in which each record has its stream's number.

As with Flink's `CoGroupedStreams`, the window operators know nothing of joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, final

from headgate.functions.api import KeySelector
from headgate.functions.context import RuntimeContext
from headgate.functions.joins import CoGroupFunction, FlatJoinFunction, JoinFunction
from headgate.functions.windows.functions import WindowFunction
from headgate.operators.base import FunctionWrapper, method_of
from headgate.operators.runtime_context import Runtime

AnyJoin = JoinFunction | FlatJoinFunction | Callable[[Any, Any], Any]


@final
class OfStream(NamedTuple):
    """A record with the number of its stream: 0 for the first, 1 for the second."""

    stream: int
    value: Any


def of_first(value: Any) -> OfStream:
    """Mark a record of the first stream."""
    return OfStream(0, value)


def of_second(value: Any) -> OfStream:
    """Mark a record of the second stream."""
    return OfStream(1, value)


@final
class KeyOfEither(FunctionWrapper, KeySelector):
    """A key selector that calls the selector of the record's stream."""

    def __init__(self, first: Any, second: Any) -> None:
        self._selectors = first, second

    @property
    def inner(self) -> tuple[object, object]:
        return self._selectors

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._keys = [method_of(selector, "get_key") for selector in self._selectors]

    def get_key(self, value: OfStream) -> Any:
        return self._keys[value.stream](value.value)


class _OfBoth(FunctionWrapper, WindowFunction[OfStream, Any, Any, Any]):
    """A window function that calls a user's function with the records of both streams."""

    def __init__(self, function: Any) -> None:
        self._function = function

    @property
    def inner(self) -> tuple[object]:
        return (self._function,)


@final
class CoGrouped(_OfBoth):
    """Calls a `CoGroupFunction` with the records of a window."""

    def __init__(self, function: CoGroupFunction) -> None:
        super().__init__(function)

    def apply(self, key: Any, window: Any, inputs: Iterable[OfStream]) -> Iterable[Any]:
        sides: tuple[list[Any], list[Any]] = ([], [])
        for stream, value in inputs:
            sides[stream].append(value)
        return self._function.co_group(*sides) or ()


@final
class Joined(_OfBoth):
    """Calls a function with each pair of records of a window, in the order of the first stream, then of the second."""

    def __init__(self, function: AnyJoin) -> None:
        super().__init__(function)

    def open(self, runtime_context: RuntimeContext) -> None:
        assert isinstance(runtime_context, Runtime)
        self._copied = runtime_context.passing.copied
        super().open(runtime_context)

    def apply(self, key: Any, window: Any, inputs: Iterable[OfStream]) -> Iterable[Any]:
        records = list(inputs)
        seconds = [value for stream, value in records if stream]
        join, flat = method_of(self._function, "join"), isinstance(self._function, FlatJoinFunction)
        pairs = [(first, second) for stream, first in records if not stream for second in seconds]
        for first, second in pairs:
            result = join(self._copied(first), self._copied(second))
            if flat:
                yield from result or ()
            else:
                yield result
