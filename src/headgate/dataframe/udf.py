"""`udf`: functions of users within expressions."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, Final, final, overload

import pyarrow as pa

from headgate.columns.given_types import logical_type
from headgate.columns.logical_types import LogicalType
from headgate.columns.nodes import UserCall
from headgate.columns.operand import node_of
from headgate.columns.typed import Apply, Constant, Typed
from headgate.columns.user_kernels import ArrowKernel, GeneralKernel, PandasKernel, UserKernel
from headgate.dataframe.data_type import DataType
from headgate.errors import UnsupportedError
from headgate.operators.slot_function import is_coroutine_function
from headgate.table.expression import Expression

FUNC_TYPES: Final = ("general", "pandas", "arrow")


@final
class UserDefinedFunction:
    """A function for expressions: called with expressions and Python values, it returns an expression."""

    def __init__(self, function: Any, name: str, result: LogicalType, func_type: str, deterministic: bool) -> None:
        """Made by `udf`."""
        self._function = function
        self.name = name
        self._result = result
        self._func_type = func_type
        self._deterministic = deterministic
        self.__name__ = name
        self.__doc__ = inspect.getdoc(function)

    def __repr__(self) -> str:
        return f"udf {self.name} -> {self._result}"

    @property
    def return_dtype(self) -> DataType:
        """The type of the results."""
        return DataType(self._result)

    def __call__(self, *arguments: Any) -> Expression:
        return Expression(UserCall(self, tuple(map(node_of, arguments))))

    def typed(self, arguments: tuple[Typed, ...], zone: str) -> Typed:
        """Return the call with typed arguments. Raises TypeError for an arrow function without a column."""
        if self._func_type == "arrow" and all(isinstance(own, Constant) for own in arguments):
            raise TypeError(f"{self.name}() is an arrow function, which needs at least one column")
        return Apply(
            function=self.name,
            arguments=arguments,
            type=self._result,
            kernel=self._kernel(zone),
            options=(self,),
            can_fail=True,
            deterministic=self._deterministic,
            takes_rows=True,
            by_value=self._func_type == "general",
        )

    def _kernel(self, zone: str) -> UserKernel:
        match self._func_type:
            case "pandas":
                return PandasKernel(self.name, self._function, self._result)
            case "arrow":
                return ArrowKernel(self.name, self._function, self._result)
        return GeneralKernel(self.name, self._function, self._result, zone)


@overload
def udf(
    func: Any,
    *,
    return_dtype: Any = ...,
    deterministic: bool = ...,
    name: str | None = ...,
    func_type: str | None = ...,
) -> UserDefinedFunction: ...
@overload
def udf(
    func: None = None,
    *,
    return_dtype: Any = ...,
    deterministic: bool = ...,
    name: str | None = ...,
    func_type: str | None = ...,
) -> Callable[[Any], UserDefinedFunction]: ...


def udf(
    func: Any = None,
    *,
    return_dtype: Any = None,
    deterministic: bool = True,
    name: str | None = None,
    func_type: str | None = None,
) -> Any:
    """Make a function for expressions: as a decorator, with or without arguments, or by a call.

    `func` is a function, an object that can be called or has a method `eval`, or a class of such objects, which each
    subtask instantiates without arguments. A *general* function gets the Python values of one row, and its result type
    follows from its return annotation unless `return_dtype` is given. A function whose annotations name pandas or Arrow
    columns is a *pandas* or *arrow* function: it gets and returns whole columns, and needs `return_dtype`.

    The planner merges equal calls into one call. It does not do so for a function that is not `deterministic`.

    Raises TypeError for an object that cannot be called, or a missing type of the results; ValueError for an unknown
    `func_type`, an empty name, or annotations of both kinds; UnsupportedError for an `async` function.

    >>> from headgate import dataframe as pf
    >>> @udf
    ... def shout(text: str) -> str:
    ...     return text.upper() + "!"
    >>> pf.from_records([{"word": "hey"}]).select(loud=shout(pf.col("word"))).collect()
    [Row(loud='HEY!')]
    """
    if func is None:
        return functools.partial(
            udf, return_dtype=return_dtype, deterministic=deterministic, name=name, func_type=func_type
        )
    called = _callable(func)
    kind = _func_type(called, func_type)
    if not isinstance(deterministic, bool):
        raise TypeError(f"deterministic is true or false, not {deterministic!r}")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"the name of a function is a str, not {name!r}")
    if name == "":
        raise ValueError("the name of a function must not be empty")
    own_name = name or getattr(func, "__name__", None) or type(func).__name__
    return UserDefinedFunction(func, own_name, _result(called, kind, return_dtype, own_name), kind, deterministic)


def _callable(func: Any) -> Callable[..., Any]:
    """Return what is called for the values. Raises TypeError if there is nothing."""
    found = getattr(func, "eval", None)
    if found is None and isinstance(func, type):
        found = next((vars(own)["__call__"] for own in func.__mro__ if "__call__" in vars(own)), None)
    elif found is None:
        found = func
    if not callable(found):
        raise TypeError(f"udf() takes a function, or a class or object with a method __call__, not {func!r:.100}")
    if isinstance(func, type):
        _check_constructor(func)
    if is_coroutine_function(found):
        raise UnsupportedError(
            "async functions within expressions are not supported yet: use to_data_stream() and AsyncDataStream"
        )
    called: Callable[..., Any] = found
    return called


def _check_constructor(made: type) -> None:
    if inspect.isabstract(made):
        raise TypeError(f"{made.__name__} is abstract: give a class that can be instantiated")
    required = [
        own.name
        for own in inspect.signature(made).parameters.values()
        if own.default is own.empty and own.kind not in (own.VAR_POSITIONAL, own.VAR_KEYWORD)
    ]
    if required:
        raise TypeError(f"{made.__name__} is instantiated without arguments, but needs {', '.join(required)}")


def _hints(called: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations by name, as text where they cannot be resolved; not those of arguments of a `partial`."""
    bound: set[str] = set()
    if isinstance(called, functools.partial):
        bound = set(called.keywords) | set(list(inspect.signature(called.func).parameters)[: len(called.args)])
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


def _kind_of(hint: Any) -> str | None:
    text = hint if isinstance(hint, str) else f"{getattr(hint, '__module__', '')}.{getattr(hint, '__qualname__', '')}"
    if hint in (pa.Array, pa.ChunkedArray) or text.endswith(("pa.Array", "pyarrow.Array", "ChunkedArray")):
        return "arrow"
    return "pandas" if text.startswith(("pandas.", "pd.")) and text.endswith(("Series", "DataFrame")) else None


def _func_type(called: Callable[..., Any], given: str | None) -> str:
    if given is not None:
        if given not in FUNC_TYPES:
            raise ValueError(f"func_type is one of {', '.join(FUNC_TYPES)}, not {given!r}")
        return given
    kinds = {kind for hint in _hints(called).values() if (kind := _kind_of(hint)) is not None}
    if len(kinds) > 1:
        raise ValueError("the annotations name columns of pandas and of Arrow: give func_type")
    return kinds.pop() if kinds else "general"


def _result(called: Callable[..., Any], kind: str, given: Any, name: str) -> LogicalType:
    if given is not None:
        return logical_type(given)
    hint = _hints(called).get("return")
    if kind != "general" or hint is None or isinstance(hint, str):
        raise TypeError(f"{name}() needs return_dtype, the type of its results, such as DataType.int64()")
    return logical_type(hint)
