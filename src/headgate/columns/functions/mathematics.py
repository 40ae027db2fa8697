"""Mathematical functions. Most compute with DOUBLE; the others keep the type of the number."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.functions.numbers import as_doubles
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.logical_types import BOOLEAN, DOUBLE, NUMBERS, Kind, LogicalType
from headgate.columns.nodes import literal
from headgate.columns.typed import Constant, Kernel, Typed, Values


def _log2(values: Values) -> Values:
    return pc.divide(pc.ln(values), math.log(2))


def _cot(values: Values) -> Values:
    return pc.divide(1.0, pc.tan(values))


def _times(factor: float, values: Values) -> Values:
    return pc.multiply(values, factor)


_OF_ONE: Final[dict[str, Kernel]] = {
    "sqrt": pc.sqrt,
    "exp": pc.exp,
    "ln": pc.ln,
    "log10": pc.log10,
    "log2": _log2,
    "sin": pc.sin,
    "cos": pc.cos,
    "tan": pc.tan,
    "cot": _cot,
    "asin": pc.asin,
    "acos": pc.acos,
    "atan": pc.atan,
    "sinh": pc.sinh,
    "cosh": pc.cosh,
    "tanh": pc.tanh,
    "degrees": partial(_times, 180 / math.pi),
    "radians": partial(_times, math.pi / 180),
}


@function(*_OF_ONE)
def of_a_double(call: CallSite) -> Typed:
    """A DOUBLE: NaN, or an infinity, where the function is not defined."""
    call.expect_count(1)
    return call.apply(_OF_ONE[call.function], DOUBLE, as_doubles(call))


@function("log")
def logarithm(call: CallSite) -> Typed:
    """The natural logarithm of one argument; of two, the logarithm of the second to the base of the first."""
    call.expect_count(1, 2)
    return call.apply(_log, DOUBLE, as_doubles(call))


def _log(*values: Values) -> Values:
    *base, value = map(pc.ln, values)
    return pc.divide(value, base[0]) if base else value


@function("atan2")
def atan2(call: CallSite) -> Typed:
    """The angle of the point (second, first argument)."""
    call.expect_count(2)
    return call.apply(pc.atan2, DOUBLE, as_doubles(call))


@function("sign")
def sign(call: CallSite) -> Typed:
    """-1, 0 or 1 as a value of the number's type; NaN for NaN."""
    call.expect_count(1)
    own = call.expect(0, NUMBERS, "a number").type
    if own.kind is Kind.NULL:
        call.fail("a number")
    return call.apply(partial(_sign, own.arrow), own)


def _sign(kind: pa.DataType, values: Values) -> Values:
    if not pa.types.is_decimal(kind):
        return pc.cast(pc.sign(values), kind)
    if kind.precision == kind.scale:  # has no 1
        return pc.if_else(pc.equal(values, pa.scalar(0, kind)), values, pa.scalar(None, kind))
    return pc.cast(pc.cast(pc.sign(values), pa.decimal128(19, 0)), kind)


@function("pi", "e")
def constant(call: CallSite) -> Typed:
    """A DOUBLE that is never NULL."""
    call.expect_count(0)
    value = literal(math.pi if call.function == "pi" else math.e)
    return Constant(value.value, value.type)


@function("is_nan", "is_not_nan")
def is_nan(call: CallSite) -> Typed:
    """Never NULL: NULL is a value, which is not NaN."""
    call.expect_count(1)
    kernel = _is_nan if call.function == "is_nan" else _is_not_nan
    return call.apply(kernel, BOOLEAN, as_doubles(call), nullable=False)


def _is_nan(values: Values) -> Values:
    return pc.fill_null(pc.is_nan(values), False)  # a value, no flag


def _is_not_nan(values: Values) -> Values:
    return pc.invert(_is_nan(values))


_UNORDERED: Final = (Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.NULL)


@function("greatest", "least")
def extreme(call: CallSite) -> Typed:
    """NULL if an argument is NULL. The result has the widest type of all arguments."""
    if not call.arguments:
        call.fail("at least one argument")
    given = call.to_widest()
    own = given[0].type
    if own.kind in _UNORDERED:
        call.fail("numbers, texts, bytes, times or booleans")
    return call.apply(_kernel(call.function, own), own, given)


def _kernel(function: str, own: LogicalType) -> Kernel:
    if own.kind is Kind.BOOLEAN:
        return _or_all if function == "greatest" else _and_all
    return partial(_extreme, pc.max_element_wise if function == "greatest" else pc.min_element_wise)


def _extreme(choose: Kernel, *values: Values) -> Values:
    return choose(*values, skip_nulls=False)


def _or_all(first: Values, *values: Values) -> Values:
    for own in values:
        first = pc.or_(first, own)
    return first


def _and_all(first: Values, *values: Values) -> Values:
    for own in values:
        first = pc.and_(first, own)
    return first
