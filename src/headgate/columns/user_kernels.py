"""Functions of users within expressions: each is opened in the slot before it computes, and closed at the end.

A *general* function gets the Python values of one row. A *pandas* function gets a Series for each column, an *arrow*
function an Arrow array; they return a column of the same length.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol, final

import pyarrow as pa

from headgate.columns.logical_types import LogicalType
from headgate.columns.python_values import MISFITS, column_of_values, misfit, python_values
from headgate.errors import InternalError, ProgramError
from headgate.types.row import Row


class FailedRowError(Exception):
    """A function of single rows raised `__cause__` for the row at a position. `during` names the function."""

    def __init__(self, row: int, during: str) -> None:
        super().__init__(during)
        self.row = row
        self.during = during


@final
@dataclass(frozen=True, slots=True, eq=False)
class DeclaredFunction:
    """A function of the user as declared: a function, an object that is called or has `eval`, or a class of such.

    `concurrency` is the number of subtasks that call it, None for the parallelism of the operator. `batch_size` is the
    greatest number of rows of a call that takes columns, None for all rows of a record batch.
    """

    name: str
    function: Any
    result: LogicalType
    deterministic: bool = True
    concurrency: int | None = None
    batch_size: int | None = None

    def __repr__(self) -> str:
        return f"{self.name} -> {self.result}"


class UserKernel(ABC):
    """A kernel that calls a function of the user, which `UserFunctions` makes and opens in the slot."""

    def __init__(self, declared: DeclaredFunction) -> None:
        self.declared = declared
        self.name = declared.name
        self._result = declared.result
        self.call: Callable[..., Any] = _unopened

    def bind(self, call: Callable[..., Any]) -> None:
        """Set the function to call, before the first batch."""
        self.call = call

    @abstractmethod
    def __call__(self, rows: int, *arguments: Any) -> pa.Array:
        """Return the column of results. Raises `FailedRowError`, or the function's own error."""


def _unopened(*_: Any) -> Any:
    raise InternalError("a function of the user is called before it is opened")


class FunctionCaller(Protocol):
    """What calls a declared function, such as a kernel."""

    declared: DeclaredFunction

    def bind(self, call: Any) -> None:
        """Set the function to call."""
        ...


@final
class UserFunctions:
    """The functions of an operator's kernels: each is made and opened once, and closed at the end.

    Objects that are made here from a class, and objects with a method `eval`, are opened and closed if they have
    methods `open` and `close`.
    """

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        self._closing = ExitStack()

    def open(self, kernels: Iterable[FunctionCaller], runtime: Any) -> None:
        """Make the functions. Called before the first batch; `runtime` is the `RuntimeContext` of the operator."""
        for kernel in kernels:
            made = self.made(kernel.declared.function, runtime)
            kernel.bind(made.eval if hasattr(made, "eval") else made)

    def made(self, function: Any, runtime: Any) -> Any:
        """Return the opened object of a function, the same for each call."""
        made = self._made.get(id(function))
        if made is not None:
            return made
        made = self._made[id(function)] = function() if isinstance(function, type) else function
        if isinstance(function, type) or hasattr(made, "eval"):
            self._closing.callback(getattr(made, "close", _nothing))
            getattr(made, "open", _nothing)(runtime)
        return made

    def close(self) -> None:
        """Close all functions, whatever one of them raises. Called also after a failure, and without `open`."""
        self._closing.close()


def _nothing(*_: Any) -> None:
    """Do nothing for an object without the method."""


Adapt = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Makes a function of the values of a row, which returns one value, from a function of the user."""


@final
@dataclass(frozen=True, slots=True)
class OfDict:
    """Adapts a function that takes a dict of a row to the values of these columns."""

    names: tuple[str, ...]

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        names = self.names
        return lambda *row: function(dict(zip(names, row, strict=True)))


@final
@dataclass(frozen=True, slots=True)
class Emitting:
    """Adapts a function that returns or yields any number of rows: the result is the list of its rows."""

    inner: Adapt

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        call = self.inner(function)
        return lambda *row: _emitted(call(*row))


def _emitted(result: Any) -> list[Any]:
    """Return the rows of a result: none for None, one for a text, a dict, a tuple, a `Row` or a single value."""
    if result is None:
        return []
    single = isinstance(result, str | bytes | Mapping | tuple | Row) or not isinstance(result, Iterable)
    return [result] if single else list(result)


def as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which takes the values of a row and returns a value."""
    return function


@final
class AsyncKernel(UserKernel):
    """A coroutine function of the values of a row. An operator of its own calls it: it computes no columns."""

    def __init__(self, declared: DeclaredFunction, zone: str) -> None:
        super().__init__(declared)
        self.zone = zone

    def __call__(self, rows: int, *arguments: Any) -> pa.Array:
        raise ProgramError(
            f"{self.name}() is asynchronous, and cannot be called here: add its result as a column before, with "
            "with_column()"
        )


@final
class GeneralKernel(UserKernel):
    """Calls the function for the values of each row. `adapt` makes a function of values with one result from it."""

    def __init__(self, declared: DeclaredFunction, zone: str, adapt: Adapt = as_it_is) -> None:
        super().__init__(declared)
        self._zone = zone
        self._adapt = adapt

    def bind(self, call: Callable[..., Any]) -> None:
        super().bind(self._adapt(call))

    def __call__(self, rows: int, *arguments: Any) -> pa.Array:
        columns = [self._values(own, rows) for own in arguments]
        values = zip(*columns, strict=True) if columns else itertools.repeat((), rows)
        results: list[Any] = []
        call = self.call
        try:
            for row in values:
                results.append(call(*row))  # its length tells which row failed
        except Exception as error:
            raise FailedRowError(len(results), f"{self.name}()") from error
        try:
            return column_of_values(results, self._result)
        except MISFITS as error:
            place = self._first_misfit(results)
            wrong = misfit(f"{self.name}()", results[place], self._result, error)
            raise FailedRowError(place, "") from TypeError(wrong)

    def _values(self, given: Any, rows: int) -> Sequence[Any]:
        return python_values(pa.repeat(given, rows) if isinstance(given, pa.Scalar) else given, self._zone)

    def _first_misfit(self, results: list[Any]) -> int:
        """Return the position of the first result that does not fit the result type."""
        for row, value in enumerate(results):
            try:
                column_of_values([value], self._result)
            except MISFITS:
                return row
        return 0


class ColumnKernel(UserKernel):
    """Calls the function for whole columns, at most `batch_size` rows of a record batch at a time."""

    def __call__(self, rows: int, *arguments: Any) -> pa.Array:
        size = self.declared.batch_size
        if size is None or rows <= size:
            return self._computed(rows, arguments)
        parts = [
            self._computed(min(size, rows - start), [_part(own, start, size) for own in arguments])
            for start in range(0, rows, size)
        ]
        return pa.concat_arrays(parts)

    @abstractmethod
    def _computed(self, rows: int, arguments: Sequence[Any]) -> pa.Array: ...


def _part(values: Any, start: int, size: int) -> Any:
    return values if isinstance(values, pa.Scalar) else values.slice(start, size)


@final
class PandasKernel(ColumnKernel):
    """Calls the function with a Series for each column, and a DataFrame for a ROW; constants are Python values."""

    def _computed(self, rows: int, arguments: Sequence[Any]) -> pa.Array:
        import pandas as pd  # noqa: PLC0415  # optional, and takes long to load

        result = self.call(*map(as_pandas, arguments))
        if not isinstance(result, pd.Series | pd.DataFrame):
            raise TypeError(f"{self.name}() returned a {type(result).__name__}, but must return a Series or DataFrame")
        _check_length(self.name, len(result), rows)
        if isinstance(result, pd.DataFrame):
            columns = [pa.Array.from_pandas(result[name], type=own.arrow) for name, own in self._result.fields]
            return pa.StructArray.from_arrays(columns, fields=list(self._result.arrow))
        return pa.Array.from_pandas(result, type=self._result.arrow)


def as_pandas(given: Any) -> Any:
    """Return a column as a Series, or a DataFrame for a ROW; a constant as a Python value."""
    if isinstance(given, pa.Scalar):
        return given.as_py()
    if pa.types.is_struct(given.type):
        return pa.Table.from_batches([pa.RecordBatch.from_struct_array(given)]).to_pandas()
    return given.to_pandas()


@final
class ArrowKernel(ColumnKernel):
    """Calls the function with an Arrow array for each column; constants are Python values."""

    def _computed(self, rows: int, arguments: Sequence[Any]) -> pa.Array:
        result = self.call(*(own.as_py() if isinstance(own, pa.Scalar) else own for own in arguments))
        if isinstance(result, pa.ChunkedArray):
            result = result.combine_chunks()
        if not isinstance(result, pa.Array):
            raise TypeError(f"{self.name}() returned a {type(result).__name__}, but must return a pyarrow.Array")
        _check_length(self.name, len(result), rows)
        if result.type != self._result.arrow:
            raise TypeError(f"{self.name}() returned {result.type}, but must return {self._result.arrow}: cast it")
        return result


def _check_length(name: str, found: int, rows: int) -> None:
    if found != rows:
        raise ValueError(f"{name}() returned {found} values for {rows} rows: it must return one for each row")
