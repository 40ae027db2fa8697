"""Evaluates public expressions on columns and on constants, as a DataFrame does."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from headgate.columns.logical_types import LogicalType
from headgate.columns.nodes import literal
from headgate.columns.program import ColumnProgram
from headgate.columns.resolve import ExpressionScope
from headgate.columns.schema import Schema
from headgate.table.expression import Expression
from headgate.table.expressions import col

Columns = Mapping[str, tuple[LogicalType, Sequence[Any]]]
"""The type and the values of each column."""


def type_of(expression: Expression, columns: Columns, zone: str = "UTC") -> LogicalType:
    """Return the type of an expression of columns."""
    schema = Schema((name, kind) for name, (kind, _) in columns.items())
    return ExpressionScope(schema, zone).typed(expression.node).type


def evaluate(expression: Expression, columns: Columns, zone: str = "UTC") -> pa.Array:
    """Return what an expression is for each row of the columns."""
    schema = Schema((name, kind) for name, (kind, _) in columns.items())
    typed = ExpressionScope(schema, zone).typed(expression.node)
    arrays = [pa.array(values, kind.arrow) for kind, values in columns.values()]
    batch = pa.record_batch(arrays, schema.arrow) if arrays else pa.RecordBatch.from_pydict({"": pa.nulls(1)})
    program = pickle.loads(pickle.dumps(ColumnProgram([typed])))  # noqa: S301  # as it is sent to slots
    return program.columns(batch)[0]


def check(
    build: Callable[..., Expression],
    kinds: Sequence[LogicalType],
    rows: Sequence[tuple[tuple[Any, ...], Any]],
    result: LogicalType | None = None,
    zone: str = "UTC",
) -> None:
    """Assert what a function is for rows of arguments and an expected value, and the result's type for these types.

    The arguments are given as columns, and then as constants; both must agree.
    """
    names = [f"a{index}" for index in range(len(kinds))]
    columns = {
        name: (kind, [arguments[index] for arguments, _ in rows])
        for index, (name, kind) in enumerate(zip(names, kinds, strict=True))
    }
    expression = build(*map(col, names))
    if result is not None:
        own = type_of(expression, columns, zone)
        assert own == result, f"{expression!r} is a {own}, not a {result}"
    # Twice the rows, of which the first half is cut off: arrays with an offset must do.
    doubled = {name: (kind, [*values, *values]) for name, (kind, values) in columns.items()}
    made = evaluate(expression, doubled, zone)
    for found in (made[: len(rows)], made[len(rows) :]):
        _compare(expression, rows, found.to_pylist())
    _compare(expression, rows, _sliced(expression, columns, zone).to_pylist())
    for arguments, expected in rows:
        constants = [Expression(literal(value, kind)) for value, kind in zip(arguments, kinds, strict=True)]
        constant = build(*constants)
        _compare(constant, [(arguments, expected)], evaluate(constant, {}, zone).to_pylist())


def _sliced(expression: Expression, columns: Columns, zone: str) -> pa.Array:
    schema = Schema((name, kind) for name, (kind, _) in columns.items())
    arrays = [pa.array([None, *values], kind.arrow)[1:] for kind, values in columns.values()]
    batch = pa.record_batch(arrays, pa.schema([(name, own.type) for name, own in zip(columns, arrays, strict=True)]))
    return ColumnProgram([ExpressionScope(schema, zone).typed(expression.node)]).columns(batch)[0]


def _compare(expression: Expression, rows: Sequence[tuple[tuple[Any, ...], Any]], found: Sequence[Any]) -> None:
    for (arguments, expected), value in zip(rows, found, strict=True):
        assert repr(value) == repr(expected), f"{expression!r} of {arguments} is {value!r}, not {expected!r}"
