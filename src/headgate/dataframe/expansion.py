"""The methods of a DataFrame that make other rows of rows: collections, and functions of rows and batches."""

from __future__ import annotations

import inspect
import itertools
import typing
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, final

import pyarrow as pa

from headgate.columns.given_types import logical_type
from headgate.columns.logical_types import Kind, LogicalType
from headgate.columns.nodes import Column, name_of
from headgate.columns.python_values import column_of_values, python_values
from headgate.columns.schema import Schema
from headgate.columns.typed import Typed
from headgate.dataframe.frame import Columns, Frame, node_of_column
from headgate.dataframe.planner.logical import Batches, Expand
from headgate.errors import InvalidExpressionError
from headgate.types.row import Row

FORMATS: Final = ("pandas", "pyarrow", "polars")
SINGLE: Final = "f0"
"""The name of the column of a function whose results have no fields."""


class Expansion(Frame):
    """Rows of collections, and of functions."""

    __slots__ = ()

    def explode(
        self,
        column: Columns,
        *,
        output_column: str | list[str] | None = None,
        ignore_empty_and_null: bool = False,
    ) -> Self:
        """Return a row for each element of an ARRAY, or each entry of a MAP; the other columns are repeated.

        A column is replaced in place, an expression becomes the last column. `output_column` names the element, or key
        and value of a MAP. A row whose collection is empty or NULL stays, with NULL as element, or is dropped if
        `ignore_empty_and_null`. Raises TypeError for a column that is no collection, ValueError for wrong names.

        >>> from headgate import dataframe as pf
        >>> pf.from_records([{"id": 1, "tags": ["a", "b"]}]).explode("tags").collect()
        [Row(id=1, tags='a'), Row(id=1, tags='b')]
        """
        if not isinstance(ignore_empty_and_null, bool):
            raise TypeError(f"ignore_empty_and_null is true or false, not {ignore_empty_and_null!r}")
        node = node_of_column(column, "explode")
        typed = self._typed(node, "explode()")
        if typed.type.kind not in (Kind.ARRAY, Kind.MAP):
            raise TypeError(f"explode() takes an ARRAY or a MAP, but {column!r} is a {typed.type}")
        names = _output_names(output_column, typed.type, name_of(node))
        own = node.name if isinstance(node, Column) else None
        kept = [(name, field) for name, field in self._all() if name != own]
        clash = next((name for name in names if name in dict(kept)), None)
        if clash is not None:
            raise InvalidExpressionError(f"explode(): there is a column {clash!r} already: give output_column")
        return self._expanded_with(kept, typed, names, own, outer=not ignore_empty_and_null)

    def _expanded_with(
        self, kept: list[tuple[str, Typed]], typed: Typed, names: list[str], own: str | None, *, outer: bool
    ) -> Self:
        inner = [kind.nulls(kind.nullable or outer) for _, kind in typed.type.fields]
        hidden = next(name for name in map("$".__mul__, itertools.count(1)) if name not in dict(kept))
        below = self._projected([*kept, (hidden, typed)])
        expanded = self._with(Expand(below._plan, tuple(names), tuple(inner), outer))
        if own is None:
            return expanded
        order = [name for name, _ in kept]
        place = self.columns.index(own)
        columns = dict(expanded._all())
        return expanded._projected((name, columns[name]) for name in [*order[:place], *names, *order[place:]])

    def flat_map(self, func: Any, *, return_dtype: Any = None) -> Self:
        """Return the rows that a function yields or returns for each row; only their columns remain.

        `func` gets a dict of the row. It is a function, an object that can be called, or a class of such objects, which
        each subtask instantiates. The columns are those of its results' type: `return_dtype`, or the element of its
        return annotation (`Iterator[T]`, `list[T]`), a TypedDict or a struct; another type makes one column, `f0`.
        A function that returns None emits no row; a text, a dict, a tuple or a `Row` is one row. Raises TypeError for
        an object that cannot be called, or if the type of the results is missing.
        """
        kind = _element_type(func, return_dtype, "flat_map")
        return self._of_rows("FlatMap", func, kind, _many)

    def map(self, func: Any, *, return_dtype: Any = None) -> Self:
        """Return the row that a function returns for each row, which it gets as a dict; only its columns remain.

        `func` and `return_dtype` are as in `flat_map`, but the function returns exactly one row.
        """
        kind = _row_type(func, return_dtype, "map")
        return self._of_rows("Map", func, kind, _one)

    def _of_rows(self, name: str, func: Any, kind: LogicalType, results: Callable[[Any], Iterable[Any]]) -> Self:
        _check_callable(func, name)
        schema = Schema(kind.fields if kind.kind is Kind.ROW else [(SINGLE, kind)])
        make = RowFunction(func, self._scope.zone, kind, schema.arrow, results)
        return self._with(Batches(self._plan, name, make, schema))

    def map_batches(self, func: Any, *, return_dtype: Any = None, batch_format: str = "pyarrow") -> Self:
        """Return the rows of the batches that a function returns for batches of rows.

        `func` gets a pandas DataFrame, a `pyarrow.RecordBatch` or a Polars DataFrame, by `batch_format`, and returns
        a frame of the same kind, or a dict of columns, with any number of rows. The job determines the size of the
        batches. `return_dtype`, a struct or a TypedDict, declares the columns; the default is this DataFrame's columns.

        Raises ValueError for an unknown format, TypeError for an object that cannot be called, or another type.
        """
        if batch_format not in FORMATS:
            raise ValueError(f"batch_format is one of {', '.join(FORMATS)}, not {batch_format!r}")
        _check_callable(func, "map_batches")
        schema = self.schema
        if return_dtype is not None:
            kind = logical_type(return_dtype)
            if kind.kind is not Kind.ROW:
                raise TypeError(f"return_dtype of map_batches() is a struct of the columns, not {kind}")
            schema = Schema(kind.fields)
        return self._with(Batches(self._plan, "MapBatches", BatchFunction(func, batch_format, schema.arrow), schema))


def _output_names(given: Any, kind: LogicalType, own: str | None) -> list[str]:
    wanted = 1 if kind.kind is Kind.ARRAY else 2
    if given is None:
        if wanted == 1 and own is not None:
            return [own]
        raise ValueError("explode() of a MAP, or of an expression without a name, needs output_column")
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"output_column is a name or a list of names, not {given!r}")
    if len(names) != wanted or not all(names) or len(set(names)) < wanted:
        raise ValueError(f"output_column has {wanted} different names for {kind}, not {names}")
    return names


def _check_callable(func: Any, method: str) -> None:
    if not callable(func):
        raise TypeError(f"{method}() takes a function, or a class of objects that can be called, not {func!r:.100}")


def _returned(func: Any, method: str) -> Any:
    called = func.__call__ if isinstance(func, type) else func
    called = called if inspect.isroutine(called) else type(called).__call__
    try:
        return typing.get_type_hints(called).get("return")
    except Exception as error:  # noqa: BLE001  # whatever evaluating an annotation raises
        raise TypeError(f"{method}() needs return_dtype: the annotations cannot be resolved ({error})") from None


def _row_type(func: Any, given: Any, method: str) -> LogicalType:
    hint = given if given is not None else _returned(func, method)
    if hint is None:
        raise TypeError(f"{method}() needs return_dtype, the type of its results")
    return logical_type(hint)


def _element_type(func: Any, given: Any, method: str) -> LogicalType:
    if given is not None:
        return logical_type(given)
    hint = _returned(func, method)
    if typing.get_origin(hint) in (list, Iterator, Iterable, Generator):
        hint = typing.get_args(hint)[0]
    if hint is None:
        raise TypeError(f"{method}() needs return_dtype, the type of the rows that it emits")
    return logical_type(hint)


def _one(result: Any) -> Iterable[Any]:
    return (result,)


def _many(result: Any) -> Iterable[Any]:
    if result is None:
        return ()
    single = isinstance(result, str | bytes | Mapping | tuple | Row) or not isinstance(result, Iterable)
    return (result,) if single else result


@final
@dataclass(frozen=True, slots=True)
class RowFunction:
    """Makes the function from batch to batch of a function of rows."""

    function: Any
    zone: str
    kind: LogicalType
    schema: pa.Schema
    results: Callable[[Any], Iterable[Any]]

    def __call__(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        call = self.function() if isinstance(self.function, type) else self.function

        def batch_of(batch: pa.RecordBatch) -> pa.RecordBatch:
            names = batch.schema.names
            columns = [python_values(column, self.zone) for column in batch.columns]
            results = self.results
            rows = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
            made = [own for row in rows for own in results(call(row))]
            column = column_of_values(made, self.kind)
            if self.kind.kind is Kind.ROW:
                return pa.RecordBatch.from_arrays(column.flatten(), schema=self.schema)
            return pa.RecordBatch.from_arrays([column], schema=self.schema)

        return batch_of


@final
@dataclass(frozen=True, slots=True)
class BatchFunction:
    """Makes the function from batch to batch of a function of pandas, Arrow or Polars frames."""

    function: Any
    batch_format: str
    schema: pa.Schema

    def __call__(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        call = self.function() if isinstance(self.function, type) else self.function

        def batch_of(batch: pa.RecordBatch) -> pa.RecordBatch:
            return self._columns(call(self._frame(batch)))

        return batch_of

    def _frame(self, batch: pa.RecordBatch) -> Any:
        match self.batch_format:
            case "pandas":
                return batch.to_pandas()
            case "polars":
                import polars  # noqa: PLC0415  # optional, and takes long to load

                return polars.from_arrow(batch)
        return batch

    def _columns(self, made: Any) -> pa.RecordBatch:
        if isinstance(made, Mapping):
            table = pa.table({name: _array(column) for name, column in made.items()})
        elif isinstance(made, pa.RecordBatch | pa.Table):
            table = pa.Table.from_batches([made]) if isinstance(made, pa.RecordBatch) else made
        elif hasattr(made, "to_arrow"):
            table = made.to_arrow()
        elif type(made).__module__.startswith("pandas"):
            table = pa.Table.from_pandas(made, preserve_index=False)
        else:
            raise TypeError(f"the function of map_batches() returned a {type(made).__name__}, which is no frame")
        missing = [name for name in self.schema.names if name not in table.column_names]
        if missing:
            raise ValueError(f"the function of map_batches() returned no column {missing[0]!r}: give return_dtype")
        cast = table.select(self.schema.names).cast(self.schema)
        columns = [column.combine_chunks() for column in cast.columns]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _array(column: Any) -> Any:
    return column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column)
