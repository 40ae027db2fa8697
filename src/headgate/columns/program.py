"""Computes typed expressions on Arrow record batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.typed import (
    Apply,
    Choose,
    Constant,
    Field,
    Kernel,
    Typed,
    Values,
    arguments,
    can_fail,
    fields_of,
    moved,
)
from headgate.columns.user_kernels import FailedRowError, UserKernel

_Call = tuple[Kernel, tuple[int, ...], bool]
"""A kernel, the places of its arguments, and whether it gets the number of rows first."""


@final
class ColumnProgram:
    """Computes one column for each expression. Equal expressions within them are computed once for each batch.

    >>> import pyarrow.compute as pc
    >>> from headgate.columns.logical_types import BIGINT
    >>> double = Apply(function="plus", arguments=(Field(0, BIGINT),) * 2, type=BIGINT, kernel=pc.add)
    >>> ColumnProgram([double, Field(0, BIGINT)]).columns(pa.RecordBatch.from_pydict({"n": [1, 2]}))
    ... # doctest: +NORMALIZE_WHITESPACE, +ELLIPSIS
    [<pyarrow.lib.Int64Array object at ...> [ 2, 4 ], <pyarrow.lib.Int64Array object at ...> [ 1, 2 ]]
    """

    def __init__(self, expressions: Sequence[Typed]) -> None:
        self._types = [own.type.arrow for own in expressions]
        self._places: dict[Typed, int] = {}
        self._reads: list[tuple[int, int]] = []
        self._constants: list[tuple[int, pa.Scalar]] = []
        self._calls: list[tuple[int, _Call | _Choice]] = []
        self._count = 0
        self._begun = -1
        """The place that was computed last, or whose computation failed."""
        self._results = [self._place(own) for own in expressions]
        self._places.clear()

    @property
    def user_kernels(self) -> list[UserKernel]:
        """The functions of the user, each of which is to be opened before the first batch, and closed at the end."""
        return self.kernels_of(UserKernel)

    def kernels_of(self, kind: type[Any]) -> list[Any]:
        """Return the kernels of a class."""
        found: list[Any] = []
        for _, call in self._calls:
            if isinstance(call, _Choice):
                found += [kernel for program in call.programs for kernel in program.kernels_of(kind)]
            elif isinstance(call[0], kind):
                found.append(call[0])
        return found

    def failed_results(self) -> list[int]:
        """Return the positions of the expressions that need what failed in the last call of `columns`."""
        needs = {self._begun}
        for place, call in self._calls:
            inner = call.places if isinstance(call, _Choice) else call[1]
            if not needs.isdisjoint(inner):
                needs.add(place)
        return [position for position, place in enumerate(self._results) if place in needs]

    def _place(self, expression: Typed) -> int:
        """Return the place of the expression's values, which earlier steps have computed."""
        if isinstance(expression, Apply) and not expression.deterministic:
            return self._add(expression)
        found = self._places.get(expression)
        if found is None:
            found = self._places[expression] = self._add(expression)
        return found

    def _add(self, expression: Typed) -> int:
        match expression:
            case Field():
                place = self._next()
                self._reads.append((place, expression.index))
            case Constant():
                place = self._next()
                self._constants.append((place, expression.value))
            case Apply():
                inner = tuple(map(self._place, expression.arguments))
                place = self._next()
                self._calls.append(
                    (place, (expression.kernel, inner, expression.takes_rows or not expression.deterministic))
                )
            case Choose() if can_fail(expression.then) or can_fail(expression.otherwise):
                condition = self._place(expression.condition)
                place = self._next()
                self._calls.append((place, _Choice(condition, expression)))
            case Choose():
                parts = (expression.condition, expression.then, expression.otherwise)
                inner = tuple(map(self._place, parts))
                place = self._next()
                self._calls.append((place, (_choose, inner, False)))
        return place

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """Return a column of the batch's length for each expression. Raises ArrowInvalid, or a kernel's own error."""
        values: list[Values] = [None] * self._count
        rows = batch.num_rows
        for place, index in self._reads:
            values[place] = batch.column(index)
        for place, value in self._constants:
            values[place] = value
        for place, call in self._calls:
            self._begun = place
            if isinstance(call, _Choice):
                values[place] = call.values(values[call.condition], batch)
            else:
                kernel, inner, counts = call
                own = [values[at] for at in inner]
                values[place] = kernel(rows, *own) if counts else kernel(*own)
        return [_column(values[at], rows, kind) for at, kind in zip(self._results, self._types, strict=True)]


def _column(values: Values, rows: int, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Scalar):
        return pa.repeat(values, rows)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return values if values.type == kind else values.cast(kind)


def _choose(condition: Values, then: Values, otherwise: Values) -> Values:
    return pc.if_else(pc.fill_null(condition, False), then, otherwise)  # a value, no flag


@final
class _Choice:
    """Computes each branch only for the rows that need it, because it may fail for other rows."""

    def __init__(self, condition: int, expression: Choose) -> None:
        self.condition = condition
        self.places = (condition,)
        self._type = expression.type.arrow
        self._reads = sorted(fields_of(expression.then) | fields_of(expression.otherwise))
        places = {index: place for place, index in enumerate(self._reads)}
        self._then = ColumnProgram([moved(expression.then, places)])
        self._otherwise = ColumnProgram([moved(expression.otherwise, places)])
        self.programs = (self._then, self._otherwise)

    def values(self, condition: Values, batch: pa.RecordBatch) -> pa.Array:
        read = batch.select(self._reads)
        if isinstance(condition, pa.Scalar):
            return (self._then if condition.as_py() else self._otherwise).columns(read)[0]
        chosen = pc.fill_null(condition, False)  # a value, no flag
        then = _where(chosen, self._then, read, self._type)
        otherwise = _where(pc.invert(chosen), self._otherwise, read, self._type)
        if not len(otherwise):
            return then
        mask = chosen.to_numpy(zero_copy_only=False)
        places = np.empty(len(mask), np.int64)
        places[mask] = np.arange(len(then))
        places[~mask] = len(then) + np.arange(len(otherwise))
        return pa.concat_arrays([then, otherwise]).take(pa.array(places))


def _where(chosen: pa.Array, program: ColumnProgram, batch: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
    """Compute the program for the chosen rows. A failure names the position of the row in the whole batch."""
    rows = batch.filter(chosen)
    if not rows.num_rows:
        return pa.nulls(0, kind)  # functions of columns are not called without rows
    try:
        return program.columns(rows)[0]
    except FailedRowError as error:
        row: int = pc.indices_nonzero(chosen)[error.row].as_py()
        raise FailedRowError(row, error.during) from error.__cause__


_ONE_ROW = pa.RecordBatch.from_arrays([pa.nulls(1)], [""])


def folded(expression: Apply | Choose) -> Typed:
    """Return the constant that an expression of constants is.

    The expression itself is returned if it fails, so that it fails for the rows, and if it is not deterministic.
    """
    if not all(isinstance(own, Constant) for own in arguments(expression)):
        return expression
    if isinstance(expression, Apply) and not expression.deterministic:
        return expression
    try:
        value = ColumnProgram([expression]).columns(_ONE_ROW)[0][0]
    except Exception:  # noqa: BLE001  # whatever a kernel raises, it raises again for the rows
        return expression
    return Constant(value, expression.type)
