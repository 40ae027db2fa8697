"""Comparisons, three-valued logic, tests for NULL, and choices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns import logical_types as types
from headgate.columns.casting import coerced
from headgate.columns.functions.explicit_casts import cast
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.logical_types import BOOLEAN, Kind, LogicalType
from headgate.columns.program import folded
from headgate.columns.typed import Choose, Constant, Typed, Values, can_fail
from headgate.errors import InvalidExpressionError

_COMPARISONS: Final = {
    "equals": pc.equal,
    "not_equals": pc.not_equal,
    "less": pc.less,
    "less_or_equal": pc.less_equal,
    "greater": pc.greater,
    "greater_or_equal": pc.greater_equal,
}
_UNORDERED: Final = (Kind.ARRAY, Kind.MAP, Kind.ROW)


@function(*_COMPARISONS)
def compare(call: CallSite) -> Typed:
    """NULL if an argument is NULL. A text compared with a time, date or number is converted to its type, as in SQL."""
    call.expect_count(2)
    given = comparable(call, call.arguments)
    if given[0].type.kind in _UNORDERED:
        call.fail("numbers, texts, bytes, times or booleans")
    return call.apply(_COMPARISONS[call.function], BOOLEAN, given)


def comparable(call: CallSite, given: Sequence[Typed]) -> list[Typed]:
    """Return arguments in one type in which they are compared. Raises `InvalidExpressionError` if there is none."""
    constants = [own for own in given if isinstance(own, Constant) and own.type.is_text]
    others = [own for own in given if not own.type.is_text and own.type.kind is not Kind.NULL]
    if constants and others and all(own in constants or own in others for own in given):
        wanted = types.widest(own.type for own in others)
        if wanted is not None:
            return [cast(own, wanted, call.zone) if own in constants else own for own in given]
    if all(own.type.kind is Kind.NULL for own in given):
        return [null_of(BOOLEAN) for _ in given]  # Arrow does not compare NULLs without a type
    return call.to_widest(given)


@function("and")
def conjunction(call: CallSite) -> Typed:
    """False if an argument is false. Where an argument is false, arguments behind it that may fail are not computed."""
    return reduce(partial(_both, call), _booleans(call))


def _both(call: CallSite, one: Typed, other: Typed) -> Typed:
    both = call.apply(pc.and_kleene, BOOLEAN, (one, other))
    if not can_fail(other):
        return both
    refuted = call.apply(pc.equal, BOOLEAN, (one, _constant(value=False)), options=("refuted",))
    return folded(Choose(refuted, _constant(value=False), both, both.type))


@function("or")
def disjunction(call: CallSite) -> Typed:
    """True if an argument is true. An argument that may fail is computed only where no argument before it is true."""
    return reduce(partial(_either, call), _booleans(call))


def _either(call: CallSite, one: Typed, other: Typed) -> Typed:
    either = call.apply(pc.or_kleene, BOOLEAN, (one, other))
    if not can_fail(other):
        return either
    return folded(Choose(one, _constant(value=True), either, either.type))


def _booleans(call: CallSite) -> list[Typed]:
    if len(call.arguments) < 2:
        call.fail("two BOOLEANs or more")
    for index in range(len(call.arguments)):
        call.expect(index, (Kind.BOOLEAN,), "BOOLEANs")
    return [call.converted(index, BOOLEAN) for index in range(len(call.arguments))]


def _constant(*, value: bool) -> Constant:
    return Constant(pa.scalar(value), BOOLEAN.nulls(nullable=False))


@function("not")
def negation(call: CallSite) -> Typed:
    """NULL for NULL."""
    call.expect_count(1)
    call.expect(0, (Kind.BOOLEAN,), "a BOOLEAN")
    return call.apply(pc.invert, BOOLEAN, [call.converted(0, BOOLEAN)])


@function("is_null")
def is_null(call: CallSite) -> Typed:
    """Never NULL."""
    call.expect_count(1)
    return call.apply(pc.is_null, BOOLEAN, nullable=False)


@function("is_not_null")
def is_not_null(call: CallSite) -> Typed:
    """Never NULL."""
    call.expect_count(1)
    return call.apply(pc.is_valid, BOOLEAN, nullable=False)


def _is(wanted: bool, value: Values) -> Values:
    return pc.fill_null(value if wanted else pc.invert(value), False)


def _is_not(wanted: bool, value: Values) -> Values:
    return pc.fill_null(pc.invert(value) if wanted else value, True)


_TESTS: Final = {
    "is_true": partial(_is, True),
    "is_false": partial(_is, False),
    "is_not_true": partial(_is_not, True),
    "is_not_false": partial(_is_not, False),
}


@function(*_TESTS)
def test_truth(call: CallSite) -> Typed:
    """Never NULL: NULL is neither true nor false."""
    call.expect_count(1)
    call.expect(0, (Kind.BOOLEAN,), "a BOOLEAN")
    return call.apply(_TESTS[call.function], BOOLEAN, [call.converted(0, BOOLEAN)], nullable=False)


@function("in")
def member(call: CallSite) -> Typed:
    """True if a value is equal, else NULL if a value or the argument is NULL, else false."""
    given = comparable(call, call.arguments)
    first, *values = given
    if not values:
        raise InvalidExpressionError("in_() takes at least one value")
    tests = [call.apply(pc.equal, BOOLEAN, (first, value), options=()) for value in values]
    if not all(isinstance(value, Constant) and value.value.is_valid for value in values):
        return reduce(lambda one, other: call.apply(pc.or_kleene, BOOLEAN, (one, other), options=("any",)), tests)
    members = pa.array([value.value.as_py() for value in values if isinstance(value, Constant)], first.type.arrow)
    return call.apply(partial(_among, members), BOOLEAN, (first,), options=tuple(members.to_pylist()))


def _among(members: pa.Array, value: Values) -> Values:
    if pa.types.is_floating(value.type):  # as `equals`: 0.0 is -0.0, and NaN equals nothing
        value, members = (pc.add(own, pa.scalar(0.0, own.type)) for own in (value, members))
        members = members.filter(pc.invert(pc.is_nan(members)))
    found = pc.is_in(value, value_set=members)
    return pc.if_else(pc.is_valid(value), found, pa.scalar(None, pa.bool_()))


@function("between", "not_between")
def between(call: CallSite) -> Typed:
    """Both bounds included. NULL as `value >= low AND value <= high` is."""
    call.expect_count(3)
    value, low, high = comparable(call, call.arguments)
    above = call.apply(pc.greater_equal, BOOLEAN, (value, low), options=("low",))
    below = call.apply(pc.less_equal, BOOLEAN, (value, high), options=("high",))
    both = call.apply(pc.and_kleene, BOOLEAN, (above, below), options=("both",))
    return both if call.function == "between" else call.apply(pc.invert, BOOLEAN, (both,), options=("not",))


@function("if_then_else")
def choice(call: CallSite) -> Typed:
    """The second argument where the first is true, else the third. Each is computed only where it is the result."""
    call.expect_count(3)
    call.expect(0, (Kind.BOOLEAN,), "a BOOLEAN, and two values of one type")
    then, otherwise = call.to_widest(call.arguments[1:])
    return choose(call.converted(0, BOOLEAN), then, otherwise)


def choose(condition: Typed, then: Typed, otherwise: Typed) -> Typed:
    """Return `then` where the condition is true, else `otherwise`. Both have one type, but for nullability."""
    own = then.type.nulls(then.type.nullable or otherwise.type.nullable)
    return folded(Choose(condition, then, otherwise, own))


@function("if_null")
def if_null(call: CallSite) -> Typed:
    """The first argument, or the second where the first is NULL. It has NULL only if the second has."""
    call.expect_count(2)
    given, other = call.to_widest()
    if not can_fail(other):
        return call.apply(pc.coalesce, given.type, (given, other), nullable=other.type.nullable)
    present = call.apply(pc.is_valid, BOOLEAN, (given,), options=("present",), nullable=False)
    return folded(Choose(present, given, other, given.type.nulls(other.type.nullable)))


@function("coalesce")
def coalesce(call: CallSite) -> Typed:
    """The first argument that is not NULL. It has NULL only if all arguments have."""
    if not call.arguments:
        call.fail("at least one argument")
    given = call.to_widest()
    return call.apply(pc.coalesce, given[0].type, given, nullable=all(own.type.nullable for own in given))


def null_of(kind: LogicalType) -> Constant:
    """Return NULL as a value of a type."""
    own = kind.nulls()
    return Constant(pa.scalar(None, own.arrow), own)


@function("null_if")
def null_if(call: CallSite) -> Typed:
    """NULL where both arguments are equal, else the first."""
    call.expect_count(2)
    given = comparable(call, call.arguments)
    same = call.apply(pc.equal, BOOLEAN, given, options=("same",))
    first = call.arguments[0]
    made = coerced(first, first.type)
    return choose(same, null_of(first.type), first if made is None else made)
