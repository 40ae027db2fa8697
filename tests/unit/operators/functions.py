"""User functions of every kind that fail at one record, for the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headgate.errors import ProgramError
from headgate.functions.api import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
)
from headgate.functions.context import Context, RuntimeContext

Judge = Callable[[Any], None]
"""Raises for the record that is to fail."""


class Mapping(MapFunction):
    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def map(self, value: Any) -> Any:
        self.judge(value)
        return value


class Filtering(FilterFunction):
    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def filter(self, value: Any) -> bool:
        self.judge(value)
        return True


class FlatMapping(FlatMapFunction):
    """Fails after it has yielded something."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def flat_map(self, value: Any) -> Iterable[Any]:
        yield value
        self.judge(value)
        yield value


class FlatMappingToList(FlatMapping):
    """Fails before it returns."""

    def flat_map(self, value: Any) -> Iterable[Any]:
        self.judge(value)
        return [value, value]


class Processing(ProcessFunction):
    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def process_element(self, value: Any, ctx: Context) -> Iterable[Any]:
        yield value
        self.judge(value)


class Invoking(SinkFunction):
    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def invoke(self, value: Any, context: Context) -> None:
        self.judge(value)


class KeyedProcessing(KeyedProcessFunction):
    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        yield value
        self.judge(value)


class Reducing(ReduceFunction):
    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def reduce(self, value1: Any, value2: Any) -> Any:
        self.judge(value2)
        return value2


PLAIN: list[Callable[[Judge], Function]] = [Mapping, Filtering, FlatMapping, FlatMappingToList, Processing, Invoking]
KEYED: list[Callable[[Judge], Function]] = [
    KeyedProcessing,
    Reducing,
    Mapping,
    Filtering,
    FlatMapping,
    FlatMappingToList,
]


class Opening(MapFunction):
    """Fails in open() and in close()."""

    def open(self, runtime_context: RuntimeContext) -> None:
        raise OSError("no such database")

    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        raise OSError("no connection to close")


def time_of(ctx: Context) -> int | None:
    """Return the timestamp of the current record, None where the stream has none."""
    try:
        return ctx.timestamp()
    except ProgramError:
        return None
