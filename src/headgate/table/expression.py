"""`Expression`, with PyFlink's names: a value that a DataFrame computes for each of its rows."""

from __future__ import annotations

from typing import Any, Self, final

from headgate import unsupported
from headgate.columns.given_types import logical_type
from headgate.columns.nodes import Call, Cast, Named, SortKey, unnamed
from headgate.columns.operand import node_of
from headgate.table.aggregate_expression import AggregateExpression
from headgate.table.arithmetic_expression import ArithmeticExpression
from headgate.table.collection_expression import CollectionExpression
from headgate.table.json_expression import JsonExpression
from headgate.table.logic_expression import LogicExpression
from headgate.table.over_expression import OverExpression
from headgate.table.text_expression import TextExpression
from headgate.table.time_expression import TimeExpression, TimeIntervalUnit, TimePointUnit

__all__ = ["Expression", "TimeIntervalUnit", "TimePointUnit", "call_of"]


@final
class Expression(
    AggregateExpression,
    ArithmeticExpression,
    CollectionExpression,
    JsonExpression,
    LogicExpression,
    OverExpression,
    TextExpression,
    TimeExpression,
):
    """An expression of columns and constants. Its methods return new expressions; nothing is computed.

    Arguments that are no expressions are constants. An expression that does not fit the columns of a DataFrame is
    refused when the DataFrame is built.

    >>> from headgate.table.expressions import col
    >>> (col("price") >= 10).alias("dear")
    greater_or_equal(price, 10) as dear
    """

    __slots__ = ()

    def alias(self, name: str, *extra_names: str) -> Self:
        """Return the expression with a name for its column. `extra_names` name further columns of a table function."""
        for own in (name, *extra_names):
            if not isinstance(own, str):
                raise TypeError(f"the name of a column is a str, not {own!r}")
            if not own:
                raise ValueError("the name of a column must not be empty")
        return type(self)(Named(unnamed(self.node), (name, *extra_names)))

    def cast(self, data_type: Any) -> Self:
        """Return the value as another type. A value that cannot be converted fails the job.

        `data_type` is a `DataType`, a type of `DataTypes`, a Python class such as `int`, or SQL text such as "BIGINT".
        """
        return type(self)(Cast(self.node, logical_type(data_type)))

    def try_cast(self, data_type: Any) -> Self:
        """Return the value as another type; NULL if it cannot be converted."""
        return type(self)(Cast(self.node, logical_type(data_type), or_null=True))

    @property
    def asc(self) -> Self:
        """Sort by this expression in ascending order."""
        return type(self)(SortKey(self.node))

    @property
    def desc(self) -> Self:
        """Sort by this expression in descending order."""
        return type(self)(SortKey(self.node, descending=True))


def call_of(function: str, *arguments: Any, options: tuple[Any, ...] = ()) -> Expression:
    """Return the call of a built-in function. Arguments that are no expressions are constants."""
    return Expression(Call(function, tuple(map(node_of, arguments)), options))


unsupported.guard(__name__, globals())
