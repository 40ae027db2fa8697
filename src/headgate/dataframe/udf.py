"""`udf`: functions of users within expressions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final, final, overload

import pyarrow as pa

from headgate.columns.given_types import logical_type
from headgate.columns.logical_types import LogicalType
from headgate.columns.nodes import UserCall
from headgate.columns.operand import node_of
from headgate.columns.typed import Constant, Typed
from headgate.columns.user_kernels import (
    Adapt,
    ArrowKernel,
    AsyncKernel,
    DeclaredFunction,
    GeneralKernel,
    PandasKernel,
    UserKernel,
    as_it_is,
)
from headgate.dataframe.data_type import DataType
from headgate.dataframe.declarations import called_of, check_positive, hints_of, name_of_function, user_call
from headgate.functions.asynchronous import is_coroutine_function
from headgate.table.expression import Expression

FUNC_TYPES: Final = ("general", "pandas", "arrow")


@final
class UserDefinedFunction:
    """A function for expressions: called with expressions and Python values, it returns an expression."""

    def __init__(self, declared: DeclaredFunction, func_type: str) -> None:
        """Made by `udf`."""
        self._declared = declared
        self._func_type = func_type
        self.name = self.__name__ = declared.name
        self.__doc__ = inspect.getdoc(declared.function)

    def __repr__(self) -> str:
        return f"udf {self._declared!r}"

    @property
    def return_dtype(self) -> DataType:
        """The type of the results."""
        return DataType(self._declared.result)

    def __call__(self, *arguments: Any) -> Expression:
        return Expression(UserCall(self, tuple(map(node_of, arguments))))

    def typed(self, arguments: tuple[Typed, ...], zone: str, adapt: Adapt = as_it_is) -> Typed:
        """Return the call with typed arguments. Raises TypeError for an arrow function without a column."""
        if self._func_type == "arrow" and all(isinstance(own, Constant) for own in arguments):
            raise TypeError(f"{self.name}() is an arrow function, which needs at least one column")
        return user_call(self._kernel(zone, adapt), arguments)

    def _kernel(self, zone: str, adapt: Adapt) -> UserKernel:
        match self._func_type:
            case "pandas":
                return PandasKernel(self._declared)
            case "arrow":
                return ArrowKernel(self._declared)
        if is_coroutine_function(called_of(self._declared.function, "udf")):
            return AsyncKernel(self._declared, zone)
        return GeneralKernel(self._declared, zone, adapt)


@overload
def udf(
    func: Any,
    *,
    return_dtype: Any = ...,
    deterministic: bool = ...,
    name: str | None = ...,
    func_type: str | None = ...,
    concurrency: int | None = ...,
    batch_size: int | None = ...,
) -> UserDefinedFunction: ...
@overload
def udf(
    func: None = None,
    *,
    return_dtype: Any = ...,
    deterministic: bool = ...,
    name: str | None = ...,
    func_type: str | None = ...,
    concurrency: int | None = ...,
    batch_size: int | None = ...,
) -> Callable[[Any], UserDefinedFunction]: ...


def udf(  # noqa: PLR0913  # as in PyFlink
    func: Any = None,
    *,
    return_dtype: Any = None,
    deterministic: bool = True,
    name: str | None = None,
    func_type: str | None = None,
    concurrency: int | None = None,
    batch_size: int | None = None,
) -> Any:
    """Make a function for expressions: as a decorator, with or without arguments, or by a call.

    `func` is a function, an object that can be called or has a method `eval`, or a class of such objects, which each
    subtask instantiates without arguments. A *general* function gets the Python values of one row, and its result type
    follows from its return annotation unless `return_dtype` is given. A function whose annotations name pandas or Arrow
    columns is a *pandas* or *arrow* function: it gets and returns whole columns, and needs `return_dtype`.

    A *coroutine* function gets the values of one row, too. Many of its calls are in progress at a time, and their
    results keep the order of the rows. `table.exec.async-scalar.max-concurrent-operations` limits the calls,
    `table.exec.async-scalar.timeout` the time for a row, and a call that raises is repeated by
    `table.exec.async-scalar.retry-strategy`, `retry-delay` and `max-attempts`. After a restart the calls in progress
    are repeated.

    The planner merges equal calls into one call. It does not do so for a function that is not `deterministic`.
    `concurrency` is the number of subtasks that call the function, by default the parallelism of the job. A pandas or
    arrow function gets at most `batch_size` rows at a time.

    Raises TypeError for an object that cannot be called, or a missing type of the results; ValueError for an unknown
    `func_type`, an empty name, annotations of both kinds, or numbers below 1.

    >>> from headgate import dataframe as pf
    >>> @udf
    ... def shout(text: str) -> str:
    ...     return text.upper() + "!"
    >>> pf.from_records([{"word": "hey"}]).select(loud=shout(pf.col("word"))).collect()
    [Row(loud='HEY!')]
    """
    if func is None:
        return functools.partial(
            udf,
            return_dtype=return_dtype,
            deterministic=deterministic,
            name=name,
            func_type=func_type,
            concurrency=concurrency,
            batch_size=batch_size,
        )
    called = called_of(func, "udf")
    kind = _func_type(called, func_type)
    is_async = is_coroutine_function(called)
    if is_async and kind != "general":
        raise ValueError(f"a function of {kind} columns cannot be async: it must return a column")
    if inspect.isasyncgenfunction(called) or (not is_async and is_coroutine_function(inspect.unwrap(called))):
        raise TypeError(f"{func!r:.100} is no coroutine function, but makes one: declare it with async def")
    if name == "":
        raise ValueError("the name of a function must not be empty")
    check_positive("concurrency", concurrency)
    check_positive("batch_size", batch_size)
    if batch_size is not None and kind == "general":
        raise ValueError("batch_size is for functions of pandas and Arrow columns: a general function gets one row")
    own_name = name_of_function(func, name, deterministic=deterministic)
    result = _result(called, kind, return_dtype, own_name)
    return UserDefinedFunction(DeclaredFunction(own_name, func, result, deterministic, concurrency, batch_size), kind)


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
    kinds = {kind for hint in hints_of(called).values() if (kind := _kind_of(hint)) is not None}
    if len(kinds) > 1:
        raise ValueError("the annotations name columns of pandas and of Arrow: give func_type")
    return kinds.pop() if kinds else "general"


def _result(called: Callable[..., Any], kind: str, given: Any, name: str) -> LogicalType:
    if given is not None:
        return logical_type(given)
    hint = hints_of(called).get("return")
    if kind != "general" or hint is None or isinstance(hint, str):
        raise TypeError(f"{name}() needs return_dtype, the type of its results, such as DataType.int64()")
    return logical_type(hint)
