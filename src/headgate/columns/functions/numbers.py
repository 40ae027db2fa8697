"""Arithmetic of numbers: integers wrap around as in Java, floats follow IEEE 754."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.casting import coerced
from headgate.columns.decimal_values import on_columns
from headgate.columns.functions.decimals import decimal_arithmetic, refuse_zero
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.logical_types import DOUBLE, FLOATS, INTEGERS, NUMBERS, Kind
from headgate.columns.typed import Kernel, Typed, Values
from headgate.columns.vectors import on_numbers


def numeric_arithmetic(call: CallSite) -> Typed:
    """Return an operator on numbers.

    The result has the widest type of both. `modulo` has the type of the divisor, and is for exact numbers.
    """
    for index in range(len(call.arguments)):
        call.expect(index, NUMBERS, "numbers")
    given = _typed_nulls(call)
    if len(given) == 1:
        return call.apply(_UNARY[call.function], given[0].type, given)
    kinds = {own.type.kind for own in given}
    exact = kinds.isdisjoint(FLOATS)
    if call.function == "modulo" and not exact:
        call.fail("exact numbers")
    if Kind.DECIMAL in kinds and exact:
        return decimal_arithmetic(call, given)
    common = call.to_widest(given)
    own = common[0].type
    if call.function == "modulo":
        result = given[1].type
        return call.apply(partial(_remainder, result.arrow), result, common, can_fail=True)
    if call.function == "divide" and exact:
        return call.apply(_quotient, own, common, can_fail=True)
    return call.apply(_OPERATORS[call.function], own, common)


def _typed_nulls(call: CallSite) -> list[Typed]:
    """Return the arguments; NULL without a type gets the type of the other argument."""
    kind = next((own for own in call.types if own.kind is not Kind.NULL), None)
    if kind is None:
        call.fail("numbers")
    return [
        made
        for own in call.arguments
        if (made := coerced(own, kind.nulls()) if own.type.kind is Kind.NULL else own) is not None
    ]


_UNARY: Final[dict[str, Kernel]] = {"negate": pc.negate, "abs": pc.abs}
_OPERATORS: Final[dict[str, Kernel]] = {
    "plus": pc.add,
    "minus": pc.subtract,
    "times": pc.multiply,
    "divide": pc.divide,
}


def _quotient(dividend: Values, divisor: Values) -> Values:
    """Truncate towards zero. Arrow does not wrap around for the least integer divided by -1, so that is a negation."""
    refuse_zero(dividend, divisor)
    if isinstance(divisor, pa.Scalar):
        return pc.negate(dividend) if divisor.as_py() == -1 else pc.divide(dividend, divisor)
    turns = pc.equal(divisor, pa.scalar(-1, divisor.type))
    special = pc.is_in(divisor, value_set=pa.array([0, -1], divisor.type))
    quotient = pc.divide(dividend, pc.if_else(special, pa.scalar(1, divisor.type), divisor))
    return pc.if_else(turns, pc.negate(dividend), quotient)


def _remainder(result: pa.DataType, dividend: Values, divisor: Values) -> Values:
    """The result has the sign of the dividend. A remainder fits the type of the divisor, which may be narrower."""
    refuse_zero(dividend, divisor)
    return pc.cast(on_columns(partial(on_numbers, np.fmod, dividend.type), dividend, divisor), result)


@function("power")
def power(call: CallSite) -> Typed:
    """A DOUBLE. NaN for a negative base and a broken exponent."""
    call.expect_count(2)
    return call.apply(pc.power, DOUBLE, as_doubles(call))


def as_doubles(call: CallSite) -> list[Typed]:
    """Return the arguments as DOUBLEs. Raises `InvalidExpressionError` unless they are numbers."""
    for index in range(len(call.arguments)):
        call.expect(index, NUMBERS, "numbers")
    return [call.converted(index, DOUBLE) for index in range(len(call.arguments))]


def as_integers(call: CallSite, index: int) -> Typed:
    """Return an argument of an integer type. Raises `InvalidExpressionError` for another type."""
    return call.expect(index, INTEGERS, "integers")
