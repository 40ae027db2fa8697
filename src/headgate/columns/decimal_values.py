"""Columns of DECIMALs: rounding, and conversions from and to other numbers, all on whole columns."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal, localcontext
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.logical_types import MAX_PRECISION
from headgate.columns.typed import Values

WIDEST: Final = 76
"""The most digits of Arrow's widest decimals."""

_LONG_DIGITS: Final = 18
"""DECIMALs with so many digits fit an int64."""

_FIRST_INEXACT: Final = 23
"""10 to this power has no exact float64."""


def on_columns(compute: Callable[..., Any], *values: Values) -> Values:
    """Return what a function of arrays returns. Scalars become arrays of the same length, or of one value."""
    rows = next((len(own) for own in values if not isinstance(own, pa.Scalar)), None)
    if rows is None:
        return compute(*(pa.array([own.as_py()], own.type) for own in values))[0]
    return compute(*(pa.repeat(own, rows) if isinstance(own, pa.Scalar) else own for own in values))


def relabelled(values: Values, precision: int, scale: int) -> Values:
    """Return the same integers as decimals with other numbers of digits.

    Arrow checks digits by the type and not by the values: a label of fewer digits is allowed. The result has 256 bits
    if the values have, or for more than 38 digits.
    """
    if isinstance(values, pa.Scalar):
        return relabelled(pa.array([values.as_py()], values.type), precision, scale)[0]
    if precision > MAX_PRECISION:
        values = widened(values)
    make = pa.decimal256 if pa.types.is_decimal256(values.type) else pa.decimal128
    return pa.Array.from_buffers(
        make(precision, scale), len(values), values.buffers(), values.null_count, values.offset
    )


def widened(values: Values) -> Values:
    """Return decimals as decimals of 256 bits."""
    own = values.type
    return values if pa.types.is_decimal256(own) else pc.cast(values, pa.decimal256(own.precision, own.scale))


def fitted(values: Values, kind: pa.DataType) -> Values:
    """Return decimals rounded half up to a type; NULL where a value has too many digits before the point.

    >>> from decimal import Decimal
    >>> fitted(pa.array([Decimal("1.25"), Decimal("99.95")]), pa.decimal128(3, 1)).to_pylist()
    [Decimal('1.3'), None]
    """
    own = values.type
    if own == kind:
        return values
    if own.scale <= kind.scale and own.precision - own.scale <= kind.precision - kind.scale:
        return pc.cast(values, kind)
    values = relabelled(values, min(own.precision + 1, WIDEST), own.scale)  # a digit more, for what is rounded up
    wide = values.type
    whole = kind.precision - kind.scale
    if own.precision - own.scale >= whole:
        least = _least_overflow(whole, kind.scale if own.scale > kind.scale else None, wide)
        values = pc.if_else(pc.less(pc.abs(values), least), values, pa.scalar(None, wide))
    if own.scale > kind.scale:
        values = truncated_to(values, kind.scale + 1)
        values = pc.round(values, ndigits=kind.scale, round_mode="half_towards_infinity")
    return pc.cast(values, kind)


_SINGLE_WORD: Final = 9
"""Arrow divides right by 10 to this power, a word of 32 bits. By more words, it makes a quotient too small by one for
a few numbers: it gives up the correction where the highest words of dividend and divisor are equal."""


def truncated_to(values: Values, scale: int) -> Values:
    """Return decimals without the digits after the point that `scale` does not have."""
    while values.type.scale > scale:
        less = min(values.type.scale - scale, _SINGLE_WORD)
        make = pa.decimal256 if pa.types.is_decimal256(values.type) else pa.decimal128
        values = pc.cast(values, make(max(values.type.precision - less, 1), values.type.scale - less), safe=False)
    return values


def quotient(dividend: Values, divisor: Values, digits: int) -> Values:
    """Return the truncated quotients of integers, with `digits` digits after the point, which are at least 6.

    The dividend and these digits have at most 76 digits together. No divisor is zero.
    """
    if dividend.type.precision + digits > MAX_PRECISION:
        dividend, divisor = widened(dividend), widened(divisor)
    one, other = (relabelled(own, own.type.precision, 0) for own in (dividend, divisor))
    made = pc.divide(one, relabelled(other, digits - 1, 0))
    if other.type.precision <= _SINGLE_WORD:
        return made
    return on_columns(_corrected, made, one, other)


def _corrected(made: pa.Array, dividend: pa.Array, divisor: pa.Array) -> pa.Array:
    """Compute the quotients that are not near enough one by one."""
    digits = made.type.scale
    scaled = pc.cast(widened(dividend), pa.decimal256(WIDEST, digits))
    half = MAX_PRECISION - 1
    product = pc.multiply(relabelled(widened(made), half, 0), relabelled(widened(divisor), half, 0))
    rest = pc.subtract(relabelled(scaled, WIDEST - 1, 0), relabelled(product, WIDEST - 1, 0))
    wrong = pc.fill_null(pc.greater_equal(pc.abs(rest), pc.abs(divisor)), False)  # a value, no flag
    places = pc.indices_nonzero(wrong)
    if not len(places):
        return made
    pairs = zip(dividend.take(places).to_pylist(), divisor.take(places).to_pylist(), strict=True)
    with localcontext(prec=WIDEST + 1, rounding=ROUND_DOWN):
        right = [(one.scaleb(digits) / other).quantize(1).scaleb(-digits) for one, other in pairs]
        return pc.replace_with_mask(made, wrong, pa.array(right, made.type))


def _least_overflow(whole: int, scale: int | None, kind: pa.DataType) -> pa.Scalar:
    """Return the least number of more than `whole` digits before the point, after it is rounded to a scale."""
    with localcontext(prec=WIDEST + 1):
        least = Decimal(10) ** whole
        return pa.scalar(least if scale is None else least - Decimal(5).scaleb(-scale - 1), kind)


def to_double(values: Values) -> Values:
    """Return the nearest float64 of each decimal, as Java divides or parses it."""
    own = values.type
    if own.precision > _LONG_DIGITS or own.scale >= _FIRST_INEXACT:
        return pc.cast(pc.cast(values, pa.string()), pa.float64())
    if isinstance(values, pa.Scalar):
        return to_double(pa.array([values.as_py()], own))[0]
    return pc.divide(pc.cast(to_unscaled(values), pa.float64(), safe=False), 10.0**own.scale)


def to_unscaled(values: pa.Array) -> pa.Array:
    """Return the digits of 128-bit decimals of at most 18 digits, without the point, as int64."""
    if not len(values):
        return pa.array([], pa.int64())
    halves = np.frombuffer(values.buffers()[1], np.int64)
    lower = np.ascontiguousarray(halves[2 * values.offset : 2 * (values.offset + len(values)) : 2])
    return pa.array(lower, mask=pc.is_null(values).to_numpy(zero_copy_only=False))
