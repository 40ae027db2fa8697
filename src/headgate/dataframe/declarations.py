"""What `udf`, `udtf` and `udaf` check when a function is declared: what is called, its annotations, its name."""

from __future__ import annotations

import functools
import inspect
import types as python_types
import typing
from collections.abc import Callable
from typing import Any

from headgate.columns.typed import Apply, Typed
from headgate.columns.user_kernels import AsyncKernel, GeneralKernel, UserKernel


def called_of(func: Any, decorator: str) -> Callable[..., Any]:
    """Return what is called for the values of a row. Raises TypeError if `func` cannot be called."""
    found = getattr(func, "eval", None)
    if found is None and isinstance(func, type):
        found = next((vars(own)["__call__"] for own in func.__mro__ if "__call__" in vars(own)), None)
    elif found is None:
        found = func
    if not callable(found):
        raise TypeError(
            f"{decorator}() takes a function, or a class or object with a method __call__, not {func!r:.100}"
        )
    if isinstance(func, type):
        check_constructor(func)
    called: Callable[..., Any] = found
    return called


def check_constructor(made: type) -> None:
    """Raise TypeError for a class that cannot be instantiated without arguments."""
    if inspect.isabstract(made):
        raise TypeError(f"{made.__name__} is abstract: give a class that can be instantiated")
    required = [
        own.name
        for own in inspect.signature(made).parameters.values()
        if own.default is own.empty and own.kind not in (own.VAR_POSITIONAL, own.VAR_KEYWORD)
    ]
    if required:
        raise TypeError(f"{made.__name__} is instantiated without arguments, but needs {', '.join(required)}")


def hints_of(called: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations by name, as text where they cannot be resolved.

    The arguments that a `partial` binds have none.
    """
    bound: set[str] = set()
    if isinstance(called, functools.partial):
        try:
            names = list(inspect.signature(called.func).parameters)
        except ValueError:  # a function in C
            names = []
        bound = {*called.keywords, *names[: len(called.args)]}
        called = called.func
    raw = getattr(called, "__annotations__", None)
    if raw is None:
        raw = getattr(getattr(called, "__call__", None), "__annotations__", {})  # noqa: B004
    resolved = {}
    scope = getattr(inspect.unwrap(called), "__globals__", {})
    for name, own in raw.items():
        if name not in bound:
            resolved[name] = _resolved(own, scope)
    return resolved


def _resolved(hint: Any, scope: dict[str, Any]) -> Any:
    if not isinstance(hint, str):
        return hint
    try:
        return typing.get_type_hints(type("_", (), {"__annotations__": {"own": hint}}), scope)["own"]
    except Exception:  # noqa: BLE001  # whatever evaluating an annotation raises
        return hint


def name_of_function(func: Any, given: str | None, *, deterministic: Any) -> str:
    """Return the name of a declared function: `given`, or its own. Raises TypeError for arguments of other types."""
    if not isinstance(deterministic, bool):
        raise TypeError(f"deterministic is true or false, not {deterministic!r}")
    if given is not None and not isinstance(given, str):
        raise TypeError(f"the name of a function is a str, not {given!r}")
    name: str = given or getattr(func, "__name__", None) or type(func).__name__
    return name


def check_takes_row(func: Any, method: str) -> None:
    """Raise ValueError unless a function takes one argument, whose annotation, if any, admits a dict."""
    called = called_of(func, method)
    given: tuple[Any, ...] = (
        (None, {}) if isinstance(func, type) else ({},)
    )  # `self` of a method that belongs to a class
    try:
        bound = inspect.signature(called).bind(*given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{method}() calls its function with one dict of the row: {error}") from None
    hint = hints_of(called).get(list(bound.arguments)[-1], Any)
    if not _admits_dict(hint):
        raise ValueError(f"{method}() calls its function with a dict of the row, but its annotation is {hint!r}")


def _admits_dict(hint: Any) -> bool:
    if hint is Any or isinstance(hint, str | typing.TypeVar) or typing.is_typeddict(hint):
        return True
    origin = typing.get_origin(hint)
    if origin in (typing.Union, python_types.UnionType):
        return any(map(_admits_dict, typing.get_args(hint)))
    kind = origin or hint
    return not isinstance(kind, type) or issubclass(dict, kind)


def check_positive(name: str, given: Any) -> None:
    """Raise TypeError or ValueError for a number that is neither None nor an int of at least 1."""
    if given is None:
        return
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"{name} is an int of at least 1, not {given!r}")
    if given < 1:
        raise ValueError(f"{name} must be at least 1, not {given}")


def user_call(kernel: UserKernel, arguments: tuple[Typed, ...]) -> Apply:
    """Return the call of a function of the user."""
    declared = kernel.declared
    return Apply(
        function=declared.name,
        arguments=arguments,
        type=declared.result,
        kernel=kernel,
        options=(declared,),
        can_fail=True,
        deterministic=declared.deterministic,
        takes_rows=True,
        by_value=isinstance(kernel, AsyncKernel | GeneralKernel),
    )
