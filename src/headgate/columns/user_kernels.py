"""Functions of users within expressions: each is opened in the slot before it computes, and closed at the end.

A *general* function gets the Python values of one row. A *pandas* function gets a Series for each column, an *arrow*
function an Arrow array; they return a column of the same length.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, final

import pyarrow as pa

from headgate.columns.logical_types import LogicalType
from headgate.columns.python_values import column_of_values, python_values


class FailedRowError(Exception):
    """A function of single rows raised `__cause__` for the row at a position. `during` names the function."""

    def __init__(self, row: int, during: str) -> None:
        super().__init__(during)
        self.row = row
        self.during = during


class UserKernel(ABC):
    """A kernel that calls a function of the user. If `function` is a class, the slot makes the function from it."""

    def __init__(self, name: str, function: Any, result: LogicalType) -> None:
        self.name = name
        self._given = function
        self._result = result

    def open(self, runtime: Any) -> None:
        """Make the function. Called before the first batch; `runtime` is the `RuntimeContext` of the operator."""
        made = self._given() if isinstance(self._given, type) else self._given
        if hasattr(made, "eval"):
            self._closed: Any = made
            if hasattr(made, "open"):
                made.open(runtime)
            self._call: Callable[..., Any] = made.eval
        else:
            self._closed = None
            self._call = made

    def close(self) -> None:
        """Close the function. Called also after a failure, and without `open`."""
        made = getattr(self, "_closed", None)
        if made is not None and hasattr(made, "close"):
            made.close()

    def __call__(self, rows: int, *arguments: Any) -> pa.Array:
        """Return the column of results. Raises `FailedRowError`, or the function's own error."""
        return self._computed(rows, arguments)

    @abstractmethod
    def _computed(self, rows: int, arguments: tuple[Any, ...]) -> pa.Array: ...


@final
class GeneralKernel(UserKernel):
    """Calls the function for the values of each row."""

    def __init__(self, name: str, function: Any, result: LogicalType, zone: str) -> None:
        super().__init__(name, function, result)
        self._zone = zone

    def _computed(self, rows: int, arguments: tuple[Any, ...]) -> pa.Array:
        columns = [self._values(own, rows) for own in arguments]
        values = zip(*columns, strict=True) if columns else itertools.repeat((), rows)
        results: list[Any] = []
        call = self._call
        try:
            for row in values:
                results.append(call(*row))  # its length tells which row failed
        except Exception as error:
            raise FailedRowError(len(results), f"{self.name}()") from error
        try:
            return column_of_values(results, self._result)
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            place = self._first_misfit(results)
            wrong = f"{self.name}() returned {results[place]!r:.100}, which is no {self._result}: {error}"
            raise FailedRowError(place, "") from TypeError(wrong)

    def _values(self, given: Any, rows: int) -> Sequence[Any]:
        if isinstance(given, pa.Scalar):
            return python_values(pa.repeat(given, 1), self._zone) * rows
        return python_values(given, self._zone)

    def _first_misfit(self, results: list[Any]) -> int:
        """Return the position of the first result that does not fit the result type."""
        for row, value in enumerate(results):
            try:
                column_of_values([value], self._result)
            except (pa.ArrowException, ValueError, TypeError, OverflowError):
                return row
        return 0


@final
class PandasKernel(UserKernel):
    """Calls the function with a Series for each column, and a DataFrame for a ROW; constants are Python values."""

    def _computed(self, rows: int, arguments: tuple[Any, ...]) -> pa.Array:
        import pandas as pd  # noqa: PLC0415  # optional, and takes long to load

        result = self._call(*map(_as_pandas, arguments))
        if not isinstance(result, pd.Series | pd.DataFrame):
            raise TypeError(f"{self.name}() returned a {type(result).__name__}, but must return a Series or DataFrame")
        _check_length(self.name, len(result), rows)
        if isinstance(result, pd.DataFrame):
            columns = [pa.Array.from_pandas(result[name], type=own.arrow) for name, own in self._result.fields]
            return pa.StructArray.from_arrays(columns, fields=list(self._result.arrow))
        return pa.Array.from_pandas(result, type=self._result.arrow)


def _as_pandas(given: Any) -> Any:
    if isinstance(given, pa.Scalar):
        return given.as_py()
    if pa.types.is_struct(given.type):
        return pa.Table.from_batches([pa.RecordBatch.from_struct_array(given)]).to_pandas()
    return given.to_pandas()


@final
class ArrowKernel(UserKernel):
    """Calls the function with an Arrow array for each column; constants are Python values."""

    def _computed(self, rows: int, arguments: tuple[Any, ...]) -> pa.Array:
        result = self._call(*(own.as_py() if isinstance(own, pa.Scalar) else own for own in arguments))
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
