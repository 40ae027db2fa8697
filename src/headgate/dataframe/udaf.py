"""`udaf`: functions of users that aggregate groups of rows, for `agg`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final, NoReturn, final, overload

from headgate.columns.aggregates import Aggregate, first_of
from headgate.columns.given_types import logical_type
from headgate.columns.logical_types import Kind, LogicalType
from headgate.columns.nodes import UserCall
from headgate.columns.operand import node_of
from headgate.columns.typed import Typed
from headgate.columns.user_aggregates import Accumulation, PandasAggregateKernel, WholeGroup
from headgate.columns.user_kernels import DeclaredFunction
from headgate.dataframe.data_type import DataType
from headgate.dataframe.declarations import called_of, check_constructor, hints_of, name_of_function, user_call
from headgate.functions.asynchronous import is_coroutine_function
from headgate.table.expression import Expression

_METHODS: Final = ("create_accumulator", "accumulate", "get_value")


@final
class UserDefinedAggregateFunction:
    """A function that aggregates groups: called with expressions, it returns an expression for `agg`."""

    def __init__(self, declared: DeclaredFunction, accumulator: LogicalType | None) -> None:
        """Made by `udaf`. Without the type of accumulators, it is a function of pandas columns."""
        self._declared = declared
        self._accumulator = accumulator
        self.name = self.__name__ = declared.name
        self.__doc__ = inspect.getdoc(declared.function)

    def __repr__(self) -> str:
        return f"udaf {self._declared!r}"

    @property
    def return_dtype(self) -> DataType:
        """The type of the results."""
        return DataType(self._declared.result)

    @property
    def can_merge(self) -> bool:
        """Whether two parts of a group can be merged, as sessions need it."""
        return self._accumulator is None or hasattr(self._declared.function, "merge")

    def __call__(self, *arguments: Any) -> Expression:
        if not arguments:
            raise TypeError(f"{self.name}() aggregates the values of at least one column")
        return Expression(UserCall(self, tuple(map(node_of, arguments))))

    def typed(self, arguments: tuple[Typed, ...], zone: str) -> NoReturn:
        """Raise TypeError: the call is no value of a single row."""
        raise TypeError(f"{self.name}() aggregates rows: call it in agg() of group_by()")

    def aggregate(self, zone: str) -> Aggregate | None:
        """Return the aggregate of a ROW of the arguments; None for a function of pandas columns."""
        if self._accumulator is None:
            return None
        accumulation = Accumulation(self._declared, self._accumulator, zone)
        return Aggregate(self._declared.result, (accumulation,), first_of)

    def of_lists(self) -> ListsFunction:
        """Return the function that takes, for each argument, the ARRAY of the values of a group."""
        return ListsFunction(self._declared)


@final
class ListsFunction:
    """A function of pandas columns as a function of the ARRAYs of the values of each group."""

    def __init__(self, declared: DeclaredFunction) -> None:
        self._declared = declared
        self.name = declared.name

    def typed(self, arguments: tuple[Typed, ...], zone: str) -> Typed:
        """Return the typed call."""
        return user_call(PandasAggregateKernel(self._declared), arguments)


@overload
def udaf(
    func: Any,
    *,
    return_dtype: Any = ...,
    accumulator_type: Any = ...,
    func_type: str = ...,
    deterministic: bool = ...,
    name: str | None = ...,
) -> UserDefinedAggregateFunction: ...
@overload
def udaf(
    func: None = None,
    *,
    return_dtype: Any = ...,
    accumulator_type: Any = ...,
    func_type: str = ...,
    deterministic: bool = ...,
    name: str | None = ...,
) -> Callable[[Any], UserDefinedAggregateFunction]: ...


def udaf(  # noqa: PLR0913  # as in PyFlink
    func: Any = None,
    *,
    return_dtype: Any = None,
    accumulator_type: Any = None,
    func_type: str = "general",
    deterministic: bool = True,
    name: str | None = None,
) -> Any:
    """Make a function that aggregates the rows of a group: as a decorator, or by a call.

    A *general* function is an object or a class, which each subtask instantiates without arguments, with the methods
    `create_accumulator()`, `accumulate(accumulator, *values)`, which changes the accumulator, and
    `get_value(accumulator)`. Sessions also need `merge(accumulator, others)`, which adds the rows of the others.
    `accumulator_type`, or its method `get_accumulator_type()`, declares the type of the accumulators, such as
    `list[int]` or a struct. The type of the results is `return_dtype`, or `get_result_type()`, or the return annotation
    of `get_value`.

    A function with `func_type="pandas"` gets a Series of all values of a group for each column, and returns one value.
    All values of a group are kept until its window ends.

    Raises TypeError for an object without these methods, an `async` function, or a missing type; ValueError for an
    unknown `func_type`, or a pandas function whose result is a MAP.

    >>> from datetime import datetime, timedelta
    >>> from headgate import dataframe as pf
    >>> class Longest:
    ...     def create_accumulator(self):
    ...         return [""]
    ...     def accumulate(self, longest, word):
    ...         longest[0] = max(longest[0], word, key=len)
    ...     def get_value(self, longest):
    ...         return longest[0]
    >>> longest = udaf(Longest, return_dtype=str, accumulator_type=list[str])
    >>> words = pf.from_dict({"at": [datetime(2024, 5, 1)] * 2, "word": ["to", "see"]}, watermark=("at", "at"))
    >>> days = words.tumble(on="at", size=timedelta(days=1)).group_by("window_start", "window_end")
    >>> [row.word for row in days.agg(word=longest(pf.col("word"))).collect()]
    ['see']
    """
    if func is None:
        return functools.partial(
            udaf,
            return_dtype=return_dtype,
            accumulator_type=accumulator_type,
            func_type=func_type,
            deterministic=deterministic,
            name=name,
        )
    if func_type not in ("general", "pandas"):
        raise ValueError(f"func_type of udaf() is general or pandas, not {func_type!r}")
    own_name = name_of_function(func, name, deterministic=deterministic)
    has_methods = all(callable(getattr(func, method, None)) for method in _METHODS)
    if func_type == "pandas":
        return _of_pandas(func, return_dtype, own_name, has_methods=has_methods, deterministic=deterministic)
    if not has_methods:
        raise TypeError(f"udaf() takes an object or a class with the methods {', '.join(_METHODS)}, not {func!r:.100}")
    if isinstance(func, type):
        check_constructor(func)
    accumulator = accumulator_type if accumulator_type is not None else _declared_by(func, "get_accumulator_type")
    if accumulator is None:
        raise TypeError(f"{own_name}() needs accumulator_type, the type of its accumulators, such as list[int]")
    result = _result(func, func.get_value, return_dtype, own_name)
    return UserDefinedAggregateFunction(
        DeclaredFunction(own_name, func, result, deterministic), logical_type(accumulator)
    )


def _of_pandas(
    func: Any, return_dtype: Any, name: str, *, has_methods: bool, deterministic: bool
) -> UserDefinedAggregateFunction:
    made = func() if has_methods and isinstance(func, type) else func
    called = made.get_value if has_methods else called_of(func, "udaf")
    result = _result(func, called, return_dtype, name)
    if result.kind is Kind.MAP:
        raise ValueError(f"{name}() returns a MAP, which a function of pandas columns cannot return")
    own = WholeGroup(made) if has_methods else func
    return UserDefinedAggregateFunction(DeclaredFunction(name, own, result, deterministic), None)


def _result(func: Any, called: Callable[..., Any], given: Any, name: str) -> LogicalType:
    if is_coroutine_function(called):
        raise TypeError(f"{name}() is async: aggregate functions are not")
    hint = given if given is not None else _declared_by(func, "get_result_type")
    if hint is None:
        hint = hints_of(called).get("return")
        hint = None if isinstance(hint, str) else hint
    if hint is None:
        raise TypeError(f"{name}() needs return_dtype, the type of its results, such as DataType.int64()")
    return logical_type(hint)


def _declared_by(func: Any, method: str) -> Any:
    """Return the type that a method of the object, or of an object of the class, declares; None without the method."""
    if not hasattr(func, method):
        return None
    return getattr(func() if isinstance(func, type) else func, method)()
