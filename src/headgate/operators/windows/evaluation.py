"""Evaluation: how a window function of each kind is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headgate.functions.windows.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from headgate.operators.calls import expect_records
from headgate.operators.windows.contexts import WindowContext

AnyProcessFunction = ProcessWindowFunction[Any, Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any]
"""A window function with a context."""

AnyWindowFunction = WindowFunction[Any, Any, Any, Any] | AllWindowFunction[Any, Any, Any] | AnyProcessFunction
"""A window function of any kind."""

Evaluation = Callable[[Any, WindowContext, list[Any]], Iterable[Any]]
"""Returns the results of a window, given its key, the context and the inputs."""


def evaluation(function: AnyWindowFunction) -> Evaluation:
    """Return the call of a window function. It raises ProgramError for results that are no records."""
    call = _call(function)
    method = function.apply if isinstance(function, WindowFunction | AllWindowFunction) else function.process

    def checked(key: Any, context: WindowContext, inputs: list[Any]) -> Iterable[Any]:
        results = call(key, context, inputs)
        if results is None:
            return ()
        expect_records(results, method)
        return results

    return checked


def clearing(function: AnyWindowFunction) -> AnyProcessFunction | None:
    """Return the function if it clears state of windows that are over."""
    inherited = (ProcessWindowFunction.clear, ProcessAllWindowFunction.clear)
    if isinstance(function, ProcessWindowFunction | ProcessAllWindowFunction):
        return None if type(function).clear in inherited else function
    return None


def _call(function: AnyWindowFunction) -> Callable[[Any, WindowContext, list[Any]], Iterable[Any] | None]:
    if isinstance(function, WindowFunction):
        return lambda key, context, inputs: function.apply(key, context.current, inputs)
    if isinstance(function, AllWindowFunction):
        return lambda key, context, inputs: function.apply(context.current, inputs)
    if isinstance(function, ProcessWindowFunction):
        return function.process
    return lambda key, context, inputs: function.process(context, inputs)
