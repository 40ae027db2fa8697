"""Arithmetic of DECIMALs: Flink's digits of results, HALF_UP, and NULL for a result with too many digits."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.casting import coerced
from headgate.columns.decimal_values import WIDEST, fitted, quotient, relabelled, truncated_to, widened
from headgate.columns.functions.registry import CallSite, for_each
from headgate.columns.logical_types import MAX_PRECISION, LogicalType, as_decimal, decimal
from headgate.columns.typed import Kernel, Typed, Values

_LEAST_DIVISION_SCALE: Final = 6


def decimal_arithmetic(call: CallSite, given: list[Typed]) -> Typed:
    """Return `plus`, `minus`, `times`, `divide` or `modulo` of two exact numbers, one of which is a DECIMAL."""
    exact = [coerced(own, as_decimal(own.type)) for own in given]
    arguments = [own for own in exact if own is not None]
    one, other = (own.type for own in arguments)
    precision, scale = _DIGITS[call.function](one, other)
    result = adjusted(precision, scale)
    kernel = _kernel(call.function, one, other, result)
    fails = call.function in ("divide", "modulo")
    by_value = getattr(kernel, "func", None) is _one_by_one
    nullable = any(own.type.nullable for own in arguments) or precision > MAX_PRECISION
    return call.apply(kernel, result, arguments, can_fail=fails, by_value=by_value, nullable=nullable)


def adjusted(precision: int, scale: int) -> LogicalType:
    """Return the DECIMAL for a result: digits after the point are given up for those before, but for six.

    >>> print(adjusted(20, 4), adjusted(77, 36))
    DECIMAL(20, 4) DECIMAL(38, 6)
    """
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, _LEAST_DIVISION_SCALE)))


def _of_sum(one: LogicalType, other: LogicalType) -> tuple[int, int]:
    scale = max(one.scale, other.scale)
    return max(one.precision - one.scale, other.precision - other.scale) + scale + 1, scale


def _of_product(one: LogicalType, other: LogicalType) -> tuple[int, int]:
    return one.precision + other.precision + 1, one.scale + other.scale


def _of_quotient(one: LogicalType, other: LogicalType) -> tuple[int, int]:
    scale = max(_LEAST_DIVISION_SCALE, one.scale + other.precision + 1)
    return one.precision - one.scale + other.scale + scale, scale


def _of_remainder(one: LogicalType, other: LogicalType) -> tuple[int, int]:
    scale = max(one.scale, other.scale)
    return min(one.precision - one.scale, other.precision - other.scale) + scale, scale


_DIGITS: Final[dict[str, Callable[[LogicalType, LogicalType], tuple[int, int]]]] = {
    "plus": _of_sum,
    "minus": _of_sum,
    "times": _of_product,
    "divide": _of_quotient,
    "modulo": _of_remainder,
}

_EXACT: Final = {"plus": pc.add, "minus": pc.subtract, "times": pc.multiply}


def _kernel(function: str, one: LogicalType, other: LogicalType, result: LogicalType) -> Kernel:
    precision, _ = _DIGITS[function](one, other)
    if function in _EXACT:
        exact = _EXACT[function]
        return exact if precision <= MAX_PRECISION else partial(_wide, function, result.arrow)
    if function == "divide":
        digits = max(result.scale + 1 - one.scale + other.scale, _LEAST_DIVISION_SCALE)
        if one.precision + digits <= WIDEST:
            return partial(_divide, digits, result.arrow)
        return partial(_one_by_one, _quotient, result.arrow)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    digits = whole + max(one.scale, other.scale)
    if digits + _LEAST_DIVISION_SCALE <= WIDEST:
        return partial(_modulo, digits, result.arrow)
    return partial(_one_by_one, _remainder, result.arrow)


def _wide(function: str, result: pa.DataType, one: Values, other: Values) -> Values:
    """Compute with 256 bits, in which every sum and product fits, though Arrow's rules may ask for 77 digits."""
    scale = max(one.type.scale, other.type.scale)
    if function != "times":
        one, other = (pc.cast(own, pa.decimal256(WIDEST, scale)) for own in (one, other))
    most = MAX_PRECISION - 1 if function == "times" else WIDEST - 1
    given = [relabelled(widened(own), min(own.type.precision, most), own.type.scale) for own in (one, other)]
    return fitted(_EXACT[function](*given), result)


def _divide(digits: int, result: pa.DataType, one: Values, other: Values) -> Values:
    """Compute `digits` more digits than the dividend has, which Arrow cuts off, and round them."""
    refuse_zero(one, other)
    scale = one.type.scale - other.type.scale + digits
    made = quotient(one, _no_zero(other), digits)
    return fitted(relabelled(made, made.type.precision, scale), result)


def _modulo(digits: int, result: pa.DataType, one: Values, other: Values) -> Values:
    refuse_zero(one, other)
    scale = max(one.type.scale, other.type.scale)
    dividend, divisor = (relabelled(pc.cast(own, pa.decimal256(digits, scale)), digits, 0) for own in (one, other))
    whole = truncated_to(quotient(dividend, _no_zero(divisor), _LEAST_DIVISION_SCALE), 0)
    product = pc.multiply(relabelled(whole, MAX_PRECISION - 1, 0), relabelled(divisor, MAX_PRECISION - 1, 0))
    rest = pc.subtract(relabelled(dividend, WIDEST - 1, 0), relabelled(product, WIDEST - 1, 0))
    return fitted(relabelled(rest, WIDEST, scale), result)


def refuse_zero(dividend: Values, divisor: Values) -> None:
    """Raise ZeroDivisionError with the dividend if an exact number is divided by zero in a row."""
    zero = pc.equal(divisor, pa.scalar(0, divisor.type))
    if isinstance(zero, pa.Scalar):
        if not zero.as_py():
            return
    elif not pc.any(zero).as_py():
        return
    bad = pc.and_(pc.is_valid(dividend), pc.fill_null(zero, False))  # a value, no flag
    if isinstance(bad, pa.Scalar):
        found = dividend if bad.as_py() else None
    else:
        at = pc.index(bad, True).as_py()  # a value, no flag
        found = None if at < 0 else dividend if isinstance(dividend, pa.Scalar) else dividend[at]
    if found is not None:
        raise ZeroDivisionError(f"{found.as_py()} is divided by zero: test for zero first, or divide DOUBLEs")


def _no_zero(divisor: Values) -> Values:
    """Return the divisor with NULL for zero, which stands only where the dividend is NULL."""
    return pc.if_else(pc.equal(divisor, pa.scalar(0, divisor.type)), pa.scalar(None, divisor.type), divisor)


_CONTEXT: Final = Context(prec=4 * WIDEST, rounding=ROUND_HALF_UP)


def _one_by_one(
    compute: Callable[[Decimal, Decimal], Decimal], result: pa.DataType, one: Values, other: Values
) -> Values:
    refuse_zero(one, other)
    return for_each(partial(_rounded, compute, result), result, one, other)


def _rounded(
    compute: Callable[[Decimal, Decimal], Decimal], result: pa.DataType, one: Decimal, other: Decimal
) -> Decimal | None:
    value = compute(one, other).quantize(Decimal(1).scaleb(-result.scale), context=_CONTEXT)
    return value if value.adjusted() < result.precision - result.scale else None


def _quotient(one: Decimal, other: Decimal) -> Decimal:
    return _CONTEXT.divide(one, other)


def _remainder(one: Decimal, other: Decimal) -> Decimal:
    return _CONTEXT.remainder(one, other)
