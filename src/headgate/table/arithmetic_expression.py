"""The operators and functions of expressions that compute with numbers."""

from __future__ import annotations

from typing import Any, Self

from headgate.columns.nodes import Call
from headgate.columns.operand import Operand, node_of


class ArithmeticExpression(Operand):
    """Arithmetic with SQL's types: integers stay integers and wrap around, DECIMALs are exact. NULL makes NULL."""

    __slots__ = ()

    def __add__(self, other: Any) -> Self:
        return self._call("plus", other)

    def __radd__(self, other: Any) -> Self:
        return self._reflected("plus", other)

    def __sub__(self, other: Any) -> Self:
        return self._call("minus", other)

    def __rsub__(self, other: Any) -> Self:
        return self._reflected("minus", other)

    def __mul__(self, other: Any) -> Self:
        return self._call("times", other)

    def __rmul__(self, other: Any) -> Self:
        return self._reflected("times", other)

    def __truediv__(self, other: Any) -> Self:
        return self._call("divide", other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._reflected("divide", other)

    def __mod__(self, other: Any) -> Self:
        return self._call("modulo", other)

    def __rmod__(self, other: Any) -> Self:
        return self._reflected("modulo", other)

    def __pow__(self, other: Any) -> Self:
        return self._call("power", other)

    def __rpow__(self, other: Any) -> Self:
        return self._reflected("power", other)

    def __neg__(self) -> Self:
        return self._call("negate")

    def _reflected(self, function: str, other: Any) -> Self:
        return type(self)(Call(function, (node_of(other), self.node)))

    @property
    def abs(self) -> Self:
        """The value without its sign."""
        return self._call("abs")
