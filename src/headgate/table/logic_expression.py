"""The operators and functions of expressions that compare, choose, and ask for NULL."""

from __future__ import annotations

from typing import Any, Self

from headgate.columns.operand import Operand


class LogicExpression(Operand):
    """Comparisons and three-valued logic. A comparison with NULL is NULL."""

    __slots__ = ()

    __hash__ = Operand.__hash__

    def __eq__(self, other: object) -> Self:  # type: ignore[override]  # an expression, as in every library of columns
        return self._call("equals", other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._call("not_equals", other)

    def __lt__(self, other: Any) -> Self:
        return self._call("less", other)

    def __le__(self, other: Any) -> Self:
        return self._call("less_or_equal", other)

    def __gt__(self, other: Any) -> Self:
        return self._call("greater", other)

    def __ge__(self, other: Any) -> Self:
        return self._call("greater_or_equal", other)

    def __and__(self, other: Any) -> Self:
        return self._call("and", other)

    def __rand__(self, other: Any) -> Self:
        return self.__and__(other)

    def __or__(self, other: Any) -> Self:
        return self._call("or", other)

    def __ror__(self, other: Any) -> Self:
        return self.__or__(other)

    def __invert__(self) -> Self:
        return self._call("not")

    @property
    def is_null(self) -> Self:
        """Whether the value is NULL."""
        return self._call("is_null")

    @property
    def is_not_null(self) -> Self:
        """Whether the value is not NULL."""
        return self._call("is_not_null")

    @property
    def is_true(self) -> Self:
        """Whether the BOOLEAN is true; false for NULL."""
        return self._call("is_true")

    @property
    def is_false(self) -> Self:
        """Whether the BOOLEAN is false; false for NULL."""
        return self._call("is_false")

    @property
    def is_not_true(self) -> Self:
        """Whether the BOOLEAN is false or NULL."""
        return self._call("is_not_true")

    @property
    def is_not_false(self) -> Self:
        """Whether the BOOLEAN is true or NULL."""
        return self._call("is_not_false")

    def if_null(self, null_replacement: Any) -> Self:
        """Return the value, or `null_replacement` where the value is NULL. The result has the common type of both."""
        return self._call("if_null", null_replacement)

    def then(self, if_true: Any, if_false: Any) -> Self:
        """Return `if_true` where this BOOLEAN is true, else `if_false`. Each is computed only where it is the result.

        >>> from headgate.table.expressions import col
        >>> (col("n") > 5).then("large", "small")
        if_then_else(greater(n, 5), 'large', 'small')
        """
        return self._call("if_then_else", if_true, if_false)

    def in_(self, *others: Any) -> Self:
        """Whether the value equals one of the others. NULL if no other is equal and one of all these values is NULL."""
        return self._call("in", *others)

    def between(self, lower_bound: Any, upper_bound: Any) -> Self:
        """Whether the value is at least the lower, and at most the upper bound."""
        return self._call("between", lower_bound, upper_bound)

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Self:
        """Whether the value is below the lower, or above the upper bound."""
        return self._call("not_between", lower_bound, upper_bound)
