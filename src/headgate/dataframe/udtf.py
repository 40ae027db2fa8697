"""`udtf`: functions of users that emit rows, for `join_lateral` and `flat_map`."""

from __future__ import annotations

import functools
import inspect
import types as python_types
import typing
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, Final, final, overload

from headgate.columns import logical_types as types
from headgate.columns.given_types import logical_type
from headgate.columns.logical_types import Kind, LogicalType
from headgate.columns.nodes import Node
from headgate.columns.operand import node_of
from headgate.columns.typed import Typed
from headgate.columns.user_kernels import Adapt, DeclaredFunction, Emitting, GeneralKernel, as_it_is
from headgate.dataframe.data_type import DataType
from headgate.dataframe.declarations import called_of, hints_of, name_of_function, user_call
from headgate.functions.asynchronous import is_coroutine_function

SINGLE: Final = "f0"
"""The name of the column of a function whose results have no fields."""


@final
class UserDefinedTableFunction:
    """A function that emits rows: called with expressions and Python values, it returns a call for `join_lateral`."""

    def __init__(self, declared: DeclaredFunction, *, is_named: bool) -> None:
        """Made by `udtf`."""
        self._declared = declared
        self._is_named = is_named
        self.name = self.__name__ = declared.name
        self.__doc__ = inspect.getdoc(declared.function)

    def __repr__(self) -> str:
        return f"udtf {self._declared!r}"

    @property
    def function(self) -> Any:
        """What was given to `udtf`."""
        return self._declared.function

    @property
    def row_type(self) -> LogicalType:
        """The logical type of an emitted row."""
        return self._declared.result.element

    @property
    def return_dtype(self) -> DataType:
        """The type of an emitted row."""
        return DataType(self.row_type)

    @property
    def names(self) -> list[str] | None:
        """The names of the columns that the type of the rows has; None if it has none."""
        return [name for name, _ in self.row_type.fields] if self._is_named else None

    def __call__(self, *arguments: Any) -> TableFunctionCall:
        return TableFunctionCall(self, tuple(map(node_of, arguments)), self.names)

    def typed(self, arguments: tuple[Typed, ...], zone: str, adapt: Adapt = as_it_is) -> Typed:
        """Return the call with typed arguments, whose value for a row is the ARRAY of the rows to emit."""
        return user_call(GeneralKernel(self._declared, zone, Emitting(adapt)), arguments)


@final
class TableFunctionCall:
    """A call of a function that emits rows, for `join_lateral`."""

    def __init__(self, function: UserDefinedTableFunction, arguments: tuple[Node, ...], names: list[str] | None):
        """Made by a function of `udtf`."""
        self.function = function
        self.arguments = arguments
        self.names = names

    def alias(self, *names: str) -> TableFunctionCall:
        """Return the call with names for its columns. Raises ValueError unless each column has a name of its own."""
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"the name of a column is a str, not {name!r}")
        row = self.function.row_type
        wanted = len(row.fields) if row.kind is Kind.ROW else 1
        if len(names) != wanted or not all(names) or len(set(names)) < wanted:
            raise ValueError(f"alias() of {self.function.name}() takes {wanted} different names for {row}, not {names}")
        return TableFunctionCall(self.function, self.arguments, list(names))


@overload
def udtf(
    func: Any, *, return_dtype: Any = ..., deterministic: bool = ..., name: str | None = ...
) -> UserDefinedTableFunction: ...
@overload
def udtf(
    func: None = None, *, return_dtype: Any = ..., deterministic: bool = ..., name: str | None = ...
) -> Callable[[Any], UserDefinedTableFunction]: ...


def udtf(func: Any = None, *, return_dtype: Any = None, deterministic: bool = True, name: str | None = None) -> Any:
    """Make a function that emits any number of rows for each call: as a decorator, or by a call.

    `func` is a function, an object that can be called or has a method `eval`, or a class of such objects, which each
    subtask instantiates without arguments. It gets the Python values of one row, and returns or yields rows: None emits
    no row; a text, bytes, a dict, a tuple, a `Row` or a single value is one row; each item of another iterable is a
    row. The type of a row is `return_dtype`, or follows from the return annotation: `Iterator[T]`, `Iterable[T]`,
    `Generator[T, ...]`, `list[T]`, or `T`. A TypedDict or a struct names the columns. A tuple or a
    single value has no names: give them with `.alias(...)`.

    Raises TypeError for an object that cannot be called, an `async` function, or a missing type; ValueError for a
    struct without fields.

    >>> from collections.abc import Iterator
    >>> from headgate import dataframe as pf
    >>> @udtf
    ... def words(text: str) -> Iterator[str]:
    ...     yield from text.split()
    >>> lines = pf.from_records([{"line": "to be"}])
    >>> lines.join_lateral(words(pf.col("line")).alias("word")).collect()
    [Row(line='to be', word='to'), Row(line='to be', word='be')]
    """
    if func is None:
        return functools.partial(udtf, return_dtype=return_dtype, deterministic=deterministic, name=name)
    called = called_of(func, "udtf")
    if is_coroutine_function(called) or inspect.isasyncgenfunction(called):
        raise TypeError("udtf() takes no async function: compute a value with an async udf(), and use explode()")
    own_name = name_of_function(func, name, deterministic=deterministic)
    row, is_named = _row_type(called, return_dtype, own_name)
    return UserDefinedTableFunction(
        DeclaredFunction(own_name, func, types.array(row), deterministic), is_named=is_named
    )


def _row_type(called: Callable[..., Any], given: Any, name: str) -> tuple[LogicalType, bool]:
    """Return the type of an emitted row, and whether its fields have names that the user gave."""
    hint = given
    if hint is None:
        hint = hints_of(called).get("return")
        if typing.get_origin(hint) in (list, Iterator, Iterable, Generator):
            hint = typing.get_args(hint)[0]
    if hint is None or hint is python_types.NoneType or (isinstance(hint, str) and given is None):
        raise TypeError(f"{name}() needs return_dtype, the type of the rows that it emits, such as DataType.int64()")
    if typing.get_origin(hint) is tuple:
        inner = typing.get_args(hint)
        if Ellipsis in inner:
            raise TypeError(f"{name}() emits tuples of any length: give the type of each field, as in tuple[int, str]")
        return types.row((f"f{place}", logical_type(own)) for place, own in enumerate(inner)), False
    row = logical_type(hint)
    if row.kind is Kind.ROW and not row.fields:
        raise ValueError(f"the rows of {name}() have no fields")
    return row, row.kind is Kind.ROW
