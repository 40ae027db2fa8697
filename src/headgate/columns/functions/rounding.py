"""round, truncate, floor and ceil of numbers. Halves are rounded away from zero, by the digits that a float shows."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.decimal_values import WIDEST, fitted, on_columns, relabelled, truncated_to, widened
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.logical_types import FLOATS, INT, INTEGERS, MAX_PRECISION, NUMBERS, Kind, LogicalType, decimal
from headgate.columns.nodes import literal
from headgate.columns.typed import Constant, Kernel, Typed, Values
from headgate.columns.vectors import on_numbers


def numeric_rounding(call: CallSite) -> Typed:
    """Return `floor` or `ceil` of a number, which keeps its type; a DECIMAL loses the digits after the point."""
    call.expect_count(1)
    own = call.expect(0, NUMBERS, "a number").type
    if own.kind in INTEGERS:
        return call.arguments[0]
    if own.kind is Kind.NULL:
        call.fail("a number")
    if own.kind in FLOATS:
        return call.apply(_WHOLE[call.function], own)
    result = decimal(own.precision, 0)
    return call.apply(partial(_whole_decimal, call.function == "ceil", result.arrow), result)


_WHOLE: Final[dict[str, Kernel]] = {"floor": pc.floor, "ceil": pc.ceil}


def _whole_decimal(up: bool, result: pa.DataType, values: Values) -> Values:
    if not values.type.scale:
        return values
    exact = widened(values)
    whole = truncated_to(exact, 0)
    further = pc.less(whole, exact) if up else pc.greater(whole, exact)
    step = pa.scalar(Decimal(1), pa.decimal256(1, 0))
    next_one = (pc.add if up else pc.subtract)(whole, step)
    return fitted(pc.if_else(further, next_one, pc.cast(whole, next_one.type)), result)


@function("round", "truncate")
def round_to_places(call: CallSite) -> Typed:
    """Round to a number of digits after the point; before it, if the number is negative. Without a number, to 0."""
    call.expect_count(1, 2)
    value = call.expect(0, NUMBERS, "a number, and an INT")
    if value.type.kind is Kind.NULL:
        call.fail("a number, and an INT")
    if len(call.arguments) == 1:
        zero = literal(0)
        places: Typed = Constant(zero.value, zero.type)
    else:
        call.expect(1, (Kind.TINYINT, Kind.SMALLINT, Kind.INT), "a number, and an INT")
        places = call.converted(1, INT)
    up = call.function == "round"
    own = value.type
    if own.kind in INTEGERS:
        return call.apply(partial(on_columns, partial(_round_integers, up)), own, (value, places))
    if own.kind in FLOATS:
        return call.apply(partial(on_columns, partial(_round_floats, up)), own, (value, places))
    result = _rounded_type(own, places)
    return call.apply(partial(_round_decimals, up, result.arrow), result, (value, places))


def _rounded_type(own: LogicalType, places: Typed) -> LogicalType:
    wanted = places.value.as_py() if isinstance(places, Constant) else None
    if wanted is None or wanted >= own.scale:
        return own
    whole = own.precision - own.scale
    return decimal(min(MAX_PRECISION, 1 + whole), 0) if wanted < 0 else decimal(1 + whole + wanted, wanted)


def _round_decimals(up: bool, result: pa.DataType, values: Values, places: Values) -> Values:
    if not isinstance(places, pa.Scalar):
        return on_columns(partial(_round_each, up, result), values, places)
    digits = places.as_py()
    if digits is None:
        return _nulls(values, result)
    scale = values.type.scale
    if digits >= scale:
        return fitted(values, result)
    before = min(max(-digits, 0), values.type.precision - scale + 1)  # 10 to this power is the step of a rounding
    kept = max(digits, 0)
    precision = min(values.type.precision + 1, MAX_PRECISION)
    shifted = relabelled(widened(values), min(values.type.precision + before, WIDEST), scale + before)
    target = pa.decimal256(precision, kept)
    made = fitted(shifted, target) if up else pc.cast(truncated_to(shifted, kept), target)
    return fitted(relabelled(pc.cast(made, pa.decimal256(WIDEST, kept + before)), WIDEST, kept), result)


def _round_each(up: bool, result: pa.DataType, values: pa.Array, places: pa.Array) -> pa.Array:
    """Round by each number of places that there is, because Arrow rounds a column to one number of places."""
    made: Values = pa.nulls(len(values), result)
    for digits in pc.unique(places).drop_null():
        made = pc.if_else(
            pc.fill_null(pc.equal(places, digits), False), _round_decimals(up, result, values, digits), made
        )
    return made


def _nulls(values: Values, kind: pa.DataType) -> Values:
    return pa.scalar(None, kind) if isinstance(values, pa.Scalar) else pa.nulls(len(values), kind)


_MOST_DIGITS: Final = 19
"""10 to this power is the greatest that an unsigned integer of 64 bits has."""


def _round_integers(up: bool, values: pa.Array, places: pa.Array) -> pa.Array:
    return on_numbers(partial(_rounded_integers, up), values.type, values, places)


def _rounded_integers(up: bool, values: npt.NDArray[Any], places: npt.NDArray[Any]) -> npt.NDArray[Any]:
    given = values.astype(np.int64)
    digits = -places.astype(np.int64)
    step = np.uint64(10) ** np.clip(digits, 0, _MOST_DIGITS).astype(np.uint64)
    size = np.abs(given).view(np.uint64)
    rest = size % step
    made = size - rest
    if up:
        made = made + np.where(rest >= step - step // np.uint64(2), step, np.uint64(0))
    made = np.where(digits > _MOST_DIGITS, np.uint64(0), np.where(digits <= 0, size, made)).view(np.int64)
    return np.where(given < 0, -made, made).astype(values.dtype)


_EXACT_POWERS: Final = 22
"""10 to this power is a float64 without rounding."""
_EXACT_INTEGERS: Final = 2.0**52


def _round_floats(up: bool, values: pa.Array, places: pa.Array) -> pa.Array:
    return on_numbers(partial(_rounded_floats, up), values.type, values, places)


def _rounded_floats(up: bool, values: npt.NDArray[Any], places: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Compute in float64; by the digits of the value where that might not be exact: near a half, or for many digits."""
    given = values.astype(np.float64)
    size = np.abs(given)
    power = 10.0 ** np.minimum(np.abs(places), _EXACT_POWERS)
    scaled = np.where(places >= 0, size * power, size / power)
    whole = np.floor(scaled)
    rest = scaled - whole
    made = whole + (rest >= 0.5) if up else whole  # a half
    made = np.copysign(np.where(places >= 0, made / power, made * power), given)
    near = np.abs(rest - 0.5) if up else np.minimum(rest, 1 - rest)
    sure = (near > np.maximum(scaled, 1) * 1e-15) & (scaled < _EXACT_INTEGERS) & (np.abs(places) <= _EXACT_POWERS)
    for index in np.nonzero(~sure & np.isfinite(given))[0]:
        made[index] = _by_digits(up, float(given[index]), int(places[index]))
    return np.where(np.isfinite(given), made, given).astype(values.dtype)


_HALF_UP: Final = Context(prec=700, rounding=ROUND_HALF_UP)
_DOWN: Final = Context(prec=700, rounding=ROUND_DOWN)


def _by_digits(up: bool, value: float, places: int) -> float:
    if not -310 <= places <= 340:  # float64 has no digits there
        return value if places > 0 else 0.0
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), context=_HALF_UP if up else _DOWN))
