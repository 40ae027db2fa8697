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

    @property
    def sign(self) -> Self:
        """-1, 0 or 1, by the sign of the value. The result has the type of the value."""
        return self._call("sign")

    @property
    def sqrt(self) -> Self:
        """The square root, a DOUBLE; NaN for a negative number."""
        return self._call("sqrt")

    @property
    def exp(self) -> Self:
        """e to the power of the value."""
        return self._call("exp")

    @property
    def ln(self) -> Self:
        """The natural logarithm; NaN for a negative number."""
        return self._call("ln")

    @property
    def log10(self) -> Self:
        """The logarithm to the base 10."""
        return self._call("log10")

    @property
    def log2(self) -> Self:
        """The logarithm to the base 2."""
        return self._call("log2")

    @property
    def sin(self) -> Self:
        """The sine."""
        return self._call("sin")

    @property
    def cos(self) -> Self:
        """The cosine."""
        return self._call("cos")

    @property
    def tan(self) -> Self:
        """The tangent."""
        return self._call("tan")

    @property
    def cot(self) -> Self:
        """The cotangent."""
        return self._call("cot")

    @property
    def asin(self) -> Self:
        """The arc sine."""
        return self._call("asin")

    @property
    def acos(self) -> Self:
        """The arc cosine."""
        return self._call("acos")

    @property
    def atan(self) -> Self:
        """The arc tangent."""
        return self._call("atan")

    @property
    def sinh(self) -> Self:
        """The hyperbolic sine."""
        return self._call("sinh")

    @property
    def cosh(self) -> Self:
        """The hyperbolic cosine."""
        return self._call("cosh")

    @property
    def tanh(self) -> Self:
        """The hyperbolic tangent."""
        return self._call("tanh")

    @property
    def degrees(self) -> Self:
        """The angle in degrees of this angle in radians."""
        return self._call("degrees")

    @property
    def radians(self) -> Self:
        """The angle in radians of this angle in degrees."""
        return self._call("radians")

    @property
    def bin(self) -> Self:
        """The binary digits of an integer, such as `"100"`. A negative integer has 64 digits."""
        return self._call("bin")

    @property
    def hex(self) -> Self:
        """The hexadecimal digits of an integer, or of the bytes of a text."""
        return self._call("hex")

    @property
    def unhex(self) -> Self:
        """The bytes of a text of hexadecimal digits; NULL for other characters."""
        return self._call("unhex")

    @property
    def is_nan(self) -> Self:
        """Whether the number is NaN; false for NULL."""
        return self._call("is_nan")

    @property
    def is_not_nan(self) -> Self:
        """Whether the number is not NaN; true for NULL."""
        return self._call("is_not_nan")

    def log(self, base: Any = None) -> Self:
        """The logarithm to a base; the natural logarithm without one."""
        return self._call("ln") if base is None else self._reflected("log", base)

    def round(self, places: Any) -> Self:
        """Round to `places` digits after the point, or before it if negative. Halves round away from zero."""
        return self._call("round", places)

    def truncate(self, n: Any = 0) -> Self:
        """Cut off all but `n` digits after the point."""
        return self._call("truncate", n)

    def floor(self, time_interval_unit: Any = None) -> Self:
        """Round a number down to a whole number, or a time to the beginning of a `TimeIntervalUnit`."""
        return self._call("floor", options=_unit(time_interval_unit))

    def ceil(self, time_interval_unit: Any = None) -> Self:
        """Round a number up to a whole number, or a time to the next beginning of a `TimeIntervalUnit`."""
        return self._call("ceil", options=_unit(time_interval_unit))


def _unit(given: Any) -> tuple[str, ...]:
    """Return the name of a unit that is given as a member of `TimeIntervalUnit`, or as text."""
    return () if given is None else (str(getattr(given, "name", given)).upper(),)
