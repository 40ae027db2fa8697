"""The aggregates of expressions."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from headgate.columns.aggregates import is_aggregate
from headgate.columns.nodes import Call
from headgate.columns.operand import Operand


class AggregateExpression(Operand):
    """Aggregates of the rows of a group. They skip NULL. Without values they are NULL; `count` and `sum0` are 0."""

    __slots__ = ()

    @property
    def sum(self) -> Self:
        """The sum, in the type of the values; a DECIMAL(38, s) for DECIMAL(p, s). Integers wrap around."""
        return self._call("sum")

    @property
    def sum0(self) -> Self:
        """The sum; 0 without values."""
        return self._call("sum0")

    @property
    def min(self) -> Self:
        """The least value."""
        return self._call("min")

    @property
    def max(self) -> Self:
        """The greatest value."""
        return self._call("max")

    @property
    def count(self) -> Self:
        """The number of values. `lit(1).count` counts rows."""
        return self._call("count")

    @property
    def avg(self) -> Self:
        """The mean, in the type of the values: truncated for integers, DECIMAL(38, max(6, s)) for decimals."""
        return self._call("avg")

    @property
    def first_value(self) -> Self:
        """The first value to arrive."""
        return self._call("first_value")

    @property
    def last_value(self) -> Self:
        """The last value to arrive."""
        return self._call("last_value")

    @property
    def stddev_pop(self) -> Self:
        """The standard deviation of the population."""
        return self._call("stddev_pop")

    @property
    def stddev_samp(self) -> Self:
        """The standard deviation of a sample; NULL for fewer than two values."""
        return self._call("stddev_samp")

    @property
    def var_pop(self) -> Self:
        """The variance of the population."""
        return self._call("var_pop")

    @property
    def var_samp(self) -> Self:
        """The variance of a sample; NULL for fewer than two values."""
        return self._call("var_samp")

    @property
    def array_agg(self) -> Self:
        """The values as an ARRAY, in the order in which they arrive."""
        return self._call("array_agg")

    @property
    def distinct(self) -> Self:
        """The aggregate of distinct values: `col("x").count.distinct`. Raises ValueError if this is no aggregate."""
        if not isinstance(self.node, Call) or not is_aggregate(self.node.function):
            raise ValueError(f"distinct is for aggregates, such as col('x').count.distinct, not {self!r}")
        return type(self)(replace(self.node, options=("distinct",)))
