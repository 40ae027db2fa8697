"""Aggregate functions of users: with accumulators, or for the pandas columns of whole groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import pyarrow as pa

from headgate.columns.logical_types import LogicalType
from headgate.columns.python_values import MISFITS, column_of_values, misfit, python_values, stored
from headgate.columns.user_kernels import DeclaredFunction, UserKernel, as_pandas


@final
class Accumulation:
    """The accumulators of an aggregate function: how rows are added, how two merge, and the value at the end.

    The partial result of a record batch is the list of the arguments of its rows.
    """

    def __init__(self, declared: DeclaredFunction, accumulator: LogicalType, zone: str) -> None:
        self.declared = declared
        self.function = f"{declared.name}[{accumulator}]"
        self.type = declared.result
        self._accumulator = accumulator
        self._zone = zone
        self._own: Any = None

    def bind(self, function: Any) -> None:
        """Set the object to call. Raises TypeError if its accumulators have another type than declared."""
        self._own = function
        made = function.create_accumulator()
        try:
            column_of_values([made], self._accumulator)
        except MISFITS as error:
            call = f"create_accumulator() of {self.declared.name}()"
            raise TypeError(misfit(call, made, self._accumulator, error)) from None

    def rows(self, arguments: pa.StructArray) -> list[tuple[Any, ...]]:
        """Return the Python values of the arguments of each row."""
        return list(zip(*(python_values(own, self._zone) for own in arguments.flatten()), strict=True))

    def begun(self, rows: Iterable[tuple[Any, ...]]) -> Any:
        """Return a new accumulator with these rows."""
        return self.added(self._own.create_accumulator(), rows)

    def added(self, accumulator: Any, rows: Iterable[tuple[Any, ...]]) -> Any:
        """Return the accumulator with more rows. An error names the arguments that it was raised for."""
        accumulate = self._own.accumulate
        for row in rows:
            try:
                accumulate(accumulator, *row)
            except Exception as error:
                error.add_note(f"raised by accumulate() of {self.declared.name}() for {row!r:.200}")
                raise
        return accumulator

    def merged(self, accumulator: Any, other: Any) -> Any:
        """Return the accumulator with the rows of another one."""
        self._own.merge(accumulator, [other])
        return accumulator

    def value(self, accumulator: Any) -> Any:
        """Return the value of the accumulator. Raises TypeError if it has another type than declared."""
        found = self._own.get_value(accumulator)
        try:
            column_of_values([found], self.type)
        except MISFITS as error:
            raise TypeError(misfit(f"{self.declared.name}()", found, self.type, error)) from None
        return stored(found, self.type)


@final
class PandasAggregateKernel(UserKernel):
    """Calls a function with a Series of all values of a group, for each group; constants are Python values."""

    def __call__(self, rows: int, *arguments: Any) -> pa.Array:
        results = [self._of_group(row, arguments) for row in range(rows)]
        try:
            return column_of_values(results, self._result)
        except MISFITS as error:
            raise TypeError(f"{self.name}() returned a value that is no {self._result}: {error}") from None

    def _of_group(self, row: int, arguments: tuple[Any, ...]) -> Any:
        found = self.call(
            *(own.as_py() if isinstance(own, pa.Scalar) else as_pandas(own[row].values) for own in arguments)
        )
        return found.item() if hasattr(found, "item") else found  # a number of NumPy


@final
@dataclass(frozen=True, slots=True)
class WholeGroup:
    """Makes the function of a group from an object with accumulators, which each take the whole group at once."""

    function: Any

    def open(self, runtime: Any) -> None:
        """Open the object."""
        getattr(self.function, "open", bool)(runtime)

    def eval(self, *columns: Any) -> Any:
        """Return the value of a group."""
        accumulator = self.function.create_accumulator()
        self.function.accumulate(accumulator, *columns)
        return self.function.get_value(accumulator)

    def close(self) -> None:
        """Close the object."""
        getattr(self.function, "close", bool)()
