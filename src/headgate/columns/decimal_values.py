"""Columns of DECIMALs: rounding, and conversions from and to other numbers, all on whole columns."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
    """Return the same integers, at most `precision` digits with another point, as 256-bit decimals.

    Arrow checks digits by the type and not by the values: a label of fewer digits is allowed.
    """
    if isinstance(values, pa.Scalar):
        return relabelled(pa.array([values.as_py()], values.type), precision, scale)[0]
    if not pa.types.is_decimal256(values.type):
        values = pc.cast(values, pa.decimal256(values.type.precision, values.type.scale))
    return pa.Array.from_buffers(
        pa.decimal256(precision, scale), len(values), values.buffers(), values.null_count, values.offset
    )


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
    wide = pa.decimal256(WIDEST, own.scale)
    values = relabelled(values, WIDEST, own.scale)
    whole = kind.precision - kind.scale
    if own.precision - own.scale >= whole:
        least = Decimal(10) ** whole
        if own.scale > kind.scale:
            least -= Decimal(5).scaleb(-kind.scale - 1)  # rounds up to one digit more
        values = pc.if_else(pc.less(pc.abs(values), _decimal(least, wide)), values, pa.scalar(None, wide))
    if own.scale > kind.scale:
        values = pc.round(values, ndigits=kind.scale, round_mode="half_towards_infinity")
    return pc.cast(values, kind)


def _decimal(value: Decimal, kind: pa.DataType) -> pa.Scalar:
    with localcontext(prec=WIDEST + 1):
        return pa.scalar(value, kind)


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
