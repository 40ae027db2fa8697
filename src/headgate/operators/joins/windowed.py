"""Joins in windows: records of two streams in one, each with the number of its stream, and what is made of a window.

As in Flink, whose `CoGroupedStreams` are windows over a union: the window operators know nothing of joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, final

from headgate.functions.api import Function, KeySelector
from headgate.functions.joins import CoGroupFunction, FlatJoinFunction, JoinFunction
from headgate.functions.windows.functions import WindowFunction
from headgate.operators.base import close_function, method_of, open_function

AnyJoin = JoinFunction | FlatJoinFunction | Callable[[Any, Any], Any]


@final
class OfStream(NamedTuple):
    """A record, and whether it is of the first stream or of the second: 0 or 1."""

    stream: int
    value: Any


def of_first(value: Any) -> OfStream:
    """Mark a record of the first stream."""
    return OfStream(0, value)


def of_second(value: Any) -> OfStream:
    """Mark a record of the second stream."""
    return OfStream(1, value)


@final
class KeyOfEither(KeySelector):
    """The key of a record of either stream."""

    def __init__(self, first: Any, second: Any) -> None:
        self._selectors = first, second

    def open(self, runtime_context: Any) -> None:
        for selector in self._selectors:
            open_function(selector, runtime_context)
        self._keys = [method_of(selector, "get_key") for selector in self._selectors]

    def close(self) -> None:
        for selector in self._selectors:
            close_function(selector)

    def get_key(self, value: OfStream) -> Any:
        return self._keys[value.stream](value.value)


class _OfBoth(WindowFunction[OfStream, Any, Any, Any]):
    """What is made of the records of a window by a function of both streams."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def open(self, runtime_context: Any) -> None:
        if isinstance(self._function, Function):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, Function):
            self._function.close()


@final
class CoGrouped(_OfBoth):
    """A `CoGroupFunction`, called with the records of a window."""

    def __init__(self, function: CoGroupFunction) -> None:
        super().__init__(function)

    def apply(self, key: Any, window: Any, inputs: Iterable[OfStream]) -> Iterable[Any]:
        sides: tuple[list[Any], list[Any]] = ([], [])
        for stream, value in inputs:
            sides[stream].append(value)
        return self._function.co_group(*sides) or ()


@final
class Joined(_OfBoth):
    """A function called with each pair of records of a window: in the order of the first stream, then of the second."""

    def __init__(self, function: AnyJoin) -> None:
        super().__init__(function)

    def apply(self, key: Any, window: Any, inputs: Iterable[OfStream]) -> Iterable[Any]:
        records = list(inputs)
        seconds = [value for stream, value in records if stream]
        join, flat = method_of(self._function, "join"), isinstance(self._function, FlatJoinFunction)
        for stream, first in records:
            for second in () if stream else seconds:
                result = join(first, second)
                if flat:
                    yield from result or ()
                else:
                    yield result
