"""The methods of a DataFrame that make other rows of rows: collections, and functions of rows and batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, Final, Self

from headgate.columns import logical_types as types
from headgate.columns.given_types import logical_type
from headgate.columns.logical_types import Kind, LogicalType
from headgate.columns.nodes import Call, Column, Node, UserCall, literal, name_of
from headgate.columns.typed import Typed
from headgate.columns.user_kernels import DeclaredFunction, OfDict
from headgate.dataframe.declarations import called_of, check_positive, check_takes_row, name_of_function
from headgate.dataframe.frame import Columns, Frame, node_of_column, refuse
from headgate.dataframe.planner.logical import Expand, MapBatches
from headgate.dataframe.udf import udf
from headgate.dataframe.udtf import SINGLE, TableFunctionCall, UserDefinedTableFunction, udtf
from headgate.errors import InvalidExpressionError
from headgate.table.expression import Expression

FORMATS: Final = ("pandas", "pyarrow", "polars")


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
        _check_new(dict(kept), names, "explode()")
        return self._expanded_with(kept, typed, names, own, outer=not ignore_empty_and_null)

    def _expanded_with(
        self, kept: list[tuple[str, Typed]], typed: Typed, names: list[str], own: str | None, *, outer: bool
    ) -> Self:
        inner = [kind.nulls(kind.nullable or outer) for _, kind in typed.type.fields]
        below = self._projected([*kept, (_unused(name for name, _ in kept), typed)])
        expanded = self._with(Expand(below._plan, tuple(names), tuple(inner), outer))
        if own is None:
            return expanded
        order = [name for name, _ in kept]
        place = self.columns.index(own)
        columns = dict(expanded._all())
        return expanded._projected((name, columns[name]) for name in [*order[:place], *names, *order[place:]])

    def flat_map(self, func: Any, *, return_dtype: Any = None) -> Self:
        """Return the rows that a function yields or returns for each row; only their columns remain.

        `func` gets a dict of the row. It is a function of `udtf`, or what `udtf` takes, with the same types of rows and
        results. A row without fields makes one column, `f0`. Raises TypeError for an object that cannot be called, or
        if the type of the results is missing; ValueError for a function that does not take one dict, a tuple without
        names, or `return_dtype` together with a function of `udtf`.

        >>> from headgate import dataframe as pf
        >>> lines = pf.from_records([{"line": "to be"}])
        >>> lines.flat_map(lambda row: row["line"].split(), return_dtype=str).collect()
        [Row(f0='to'), Row(f0='be')]
        """
        if isinstance(func, UserDefinedTableFunction):
            if return_dtype is not None:
                raise ValueError(f"{func.name}() has its return_dtype from udtf(): remove it from flat_map()")
            declared = func
            check_takes_row(declared.function, "flat_map")
        else:
            check_takes_row(func, "flat_map")
            declared = udtf(func, return_dtype=return_dtype)
        names = declared.names
        if names is None and declared.row_type.kind is Kind.ROW:
            raise ValueError(
                f"flat_map() needs names for the fields of {declared.name}(): emit a TypedDict or a struct"
            )
        call = declared.typed(tuple(own for _, own in self._all()), self._scope.zone, OfDict(tuple(self.columns)))
        return self._with_rows([], call, [SINGLE] if names is None else names, outer=False)

    def join_lateral(
        self, table_function_call: TableFunctionCall, *, on: Expression | None = None, ignore_empty: bool = True
    ) -> Self:
        """Return each row together with each of the rows that a function of `udtf` emits for it.

        The columns of the function follow the columns of the row; `.alias(...)` names them. `on` is a predicate on all
        columns, for the rows to keep. A row for which the function emits nothing is dropped, or, with
        `ignore_empty=False`, stays with NULL in the columns of the function.

        Raises TypeError for other arguments; ValueError for columns without names, names that exist already, and `on`
        together with `ignore_empty=False`.

        >>> from headgate import dataframe as pf
        >>> letters = pf.udtf(lambda text: list(text), return_dtype=str, name="letters")
        >>> words = pf.from_records([{"word": "ab"}, {"word": ""}])
        >>> words.join_lateral(letters(pf.col("word")).alias("letter"), ignore_empty=False).collect()
        [Row(word='ab', letter='a'), Row(word='ab', letter='b'), Row(word='', letter=None)]
        """
        if not isinstance(table_function_call, TableFunctionCall):
            raise TypeError(f"join_lateral() takes the call of a function of udtf(), not {table_function_call!r:.100}")
        if not isinstance(ignore_empty, bool):
            raise TypeError(f"ignore_empty is true or false, not {ignore_empty!r}")
        if on is not None and not isinstance(on, Expression):
            refuse("join_lateral", on)
        if on is not None and not ignore_empty:
            raise ValueError("join_lateral() takes no predicate with ignore_empty=False: filter the result instead")
        function, names = table_function_call.function, table_function_call.names
        if names is None:
            raise ValueError(f"join_lateral() needs names for the columns of {function.name}(): add .alias(...)")
        _check_new(self.columns, names, "join_lateral()")
        call = self._typed(UserCall(function, table_function_call.arguments), "join_lateral()")
        made = self._with_rows(self._all(), call, names, outer=not ignore_empty)
        return made if on is None else made._filtered(made._scope.predicate(on.node))

    def _with_rows(self, kept: list[tuple[str, Typed]], call: Typed, names: list[str], *, outer: bool) -> Self:
        """Return the kept columns with the rows of the ARRAY that a call returns, whose fields become columns."""
        if call.type.element.kind is not Kind.ROW:
            return self._expanded_with(kept, call, names, None, outer=outer)
        whole = _unused(name for name, _ in kept)
        rows = self._expanded_with(kept, call, [whole], None, outer=outer)
        return rows._with_fields(len(kept), Column(whole), names)

    def _with_fields(self, kept: int, row: Node, names: list[str]) -> Self:
        """Return the first columns, and the fields of a ROW with these names."""
        typed = self._scope.typed(row)
        fields = [self._scope.typed(Call("get", (row, literal(name)))) for name, _ in typed.type.fields]
        return self._projected([*self._all()[:kept], *zip(names, fields, strict=True)])

    def map(self, func: Any, *, return_dtype: Any = None, concurrency: int | None = None) -> Self:
        """Return the row that a function returns for each row, which it gets as a dict; only its columns remain.

        `func` is a function, an object that can be called or has a method `eval`, or a class of such objects, which
        each subtask instantiates. `concurrency` is the number of subtasks that call it. The columns are the fields of
        `return_dtype`, or of the return annotation: a TypedDict or a struct; another type makes one column, `f0`.
        Raises TypeError for an object that cannot be called, or if the type of the results is missing; ValueError for a
        function that does not take one dict.
        """
        check_takes_row(func, "map")
        declared = udf(
            func, return_dtype=return_dtype, deterministic=False, func_type="general", concurrency=concurrency
        )
        arguments = tuple(own for _, own in self._all())
        call = declared.typed(arguments, self._scope.zone, OfDict(tuple(self.columns)))
        made = self._projected([(SINGLE, call)])
        if call.type.kind is not Kind.ROW:
            return made
        return made._with_fields(0, Column(SINGLE), [name for name, _ in call.type.fields])

    def map_batches(
        self,
        func: Any,
        *,
        return_dtype: Any = None,
        batch_format: str = "pyarrow",
        concurrency: int | None = None,
        batch_size: int | None = None,
    ) -> Self:
        """Return the rows of the batches that a function returns for batches of rows.

        `func` gets a pandas DataFrame, a `pyarrow.RecordBatch` or a Polars DataFrame, by `batch_format`, and returns
        a frame of the same kind, or a dict of columns, with any number of rows. It is a function, an object that can be
        called or has a method `eval`, or a class of such objects, which each subtask instantiates. `concurrency` is the
        number of subtasks that call it. The job determines the size of the batches, which is at most `batch_size`.
        `return_dtype`, a struct or a TypedDict, declares the columns; the default is this DataFrame's columns.

        Raises ValueError for an unknown format, or numbers below 1; TypeError for an object that cannot be called, or
        another type.

        >>> import pyarrow.compute as pc
        >>> from headgate import dataframe as pf
        >>> numbers = pf.range(3)
        >>> numbers.map_batches(lambda batch: {"id": pc.multiply(batch["id"], 10)}).collect()
        [Row(id=0), Row(id=10), Row(id=20)]
        """
        if batch_format not in FORMATS:
            raise ValueError(f"batch_format is one of {', '.join(FORMATS)}, not {batch_format!r}")
        called_of(func, "map_batches")
        check_positive("concurrency", concurrency)
        check_positive("batch_size", batch_size)
        kind = types.row(self.schema) if return_dtype is None else logical_type(return_dtype)
        if kind.kind is not Kind.ROW:
            raise TypeError(f"return_dtype of map_batches() is a struct of the columns, not {kind}")
        name = name_of_function(func, None, deterministic=False)
        declared = DeclaredFunction(name, func, kind, False, concurrency, batch_size)
        return self._with(MapBatches(self._plan, declared, batch_format))


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


def _check_new(columns: Iterable[str], names: Iterable[str], where: str) -> None:
    taken = set(columns)
    clash = next((name for name in names if name in taken), None)
    if clash is not None:
        raise InvalidExpressionError(f"{where}: there is a column {clash!r} already: give another name")


def _unused(names: Iterable[str]) -> str:
    """Return a name that is not among the names."""
    taken = set(names)
    return next(name for name in map("$".__mul__, itertools.count(1)) if name not in taken)
