"""round, truncate, floor and ceil, by the decimal digits of numbers."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns.logical_types import BIGINT, DOUBLE, FLOAT, INT, STRING, TINYINT, LogicalType
from headgate.columns.logical_types import decimal as decimal_type
from headgate.errors import InvalidExpressionError
from headgate.table.expressions import col
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of
from tests.unit.columns.test_decimals import columns


def test_round_of_doubles_goes_by_their_digits() -> None:
    check(
        lambda a: a.round(2),
        [DOUBLE],
        [
            ((2.675,), 2.68),  # less than 2.675 in binary
            ((-2.675,), -2.68),
            ((1.005,), 1.01),
            ((1e300,), 1e300),
            ((0.004,), 0.0),
            ((math.inf,), math.inf),
            ((math.nan,), math.nan),
            ((None,), None),
        ],
        DOUBLE,
    )
    check(lambda a, n: a.round(n), [DOUBLE, INT], [((1250.0, -2), 1300.0), ((1.25, 1), 1.3), ((1.25, None), None)])
    check(lambda a: a.round(1), [FLOAT], [((0.25,), 0.30000001192092896), ((None,), None)], FLOAT)


PRICES = st.integers(-(10**9), 10**9).map(lambda digits: digits / 1000)


@given(st.floats(allow_nan=False, allow_infinity=False) | PRICES, st.integers(-5, 10))
def test_rounding_of_doubles_equals_rounding_of_their_decimals(value: float, places: int) -> None:
    table = {"x": (DOUBLE, [value])}
    for made, mode in ((col("x").round(places), ROUND_HALF_UP), (col("x").truncate(places), ROUND_DOWN)):
        context = Context(prec=700, rounding=mode)
        expected = float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), context=context))
        assert evaluate(made, table).to_pylist() == [expected], made


def test_round_of_integers_wraps_around() -> None:
    check(
        lambda a, n: a.round(n),
        [INT, INT],
        [
            ((15, -1), 20),
            ((-15, -1), -20),
            ((14, -1), 10),
            ((15, 2), 15),
            ((7, -5), 0),
            ((2**31 - 1, -1), -2147483646),
            ((None, 1), None),
        ],
        INT,
    )
    check(lambda a: a.round(-2), [TINYINT], [((99,), 100), ((-128,), -100)], TINYINT)
    check(lambda a: a.round(-19), [BIGINT], [((4 * 10**18,), 0), ((6 * 10**18,), 10**19 - 2**64)], BIGINT)
    check(lambda a: a.truncate(-1), [BIGINT], [((19,), 10), ((-19,), -10), ((-(2**63),), -9223372036854775800)], BIGINT)


@given(st.integers(-(2**62), 2**62), st.integers(-25, 3))
def test_rounding_of_integers_equals_rounding_of_decimals(value: int, places: int) -> None:
    for made, mode in ((col("n").round(places), ROUND_HALF_UP), (col("n").truncate(places), ROUND_DOWN)):
        context = Context(prec=50, rounding=mode)
        exact = int(Decimal(value).quantize(Decimal(1).scaleb(max(-places, 0)), context=context))
        expected = (exact + 2**63) % 2**64 - 2**63
        assert evaluate(made, {"n": (BIGINT, [value])}).to_pylist() == [expected], made


def test_round_of_decimals_has_the_digits_that_are_left() -> None:
    check(
        lambda a: a.round(1),
        [decimal_type(4, 3)],
        [((Decimal("9.95"),), Decimal("10.0")), ((Decimal("-0.05"),), Decimal("-0.1")), ((None,), None)],
        decimal_type(3, 1),
    )
    check(lambda a: a.round(5), [decimal_type(4, 3)], [((Decimal("9.951"),), Decimal("9.951"))], decimal_type(4, 3))
    check(lambda a: a.round(-1), [decimal_type(4, 1)], [((Decimal(955),), Decimal(960))], decimal_type(4, 0))
    check(lambda a: a.round(-7), [decimal_type(4, 1)], [((Decimal(955),), Decimal(0))], decimal_type(4, 0))
    check(lambda a: a.truncate(1), [decimal_type(4, 3)], [((Decimal("9.99"),), Decimal("9.9"))], decimal_type(3, 1))
    table: Columns = {"d": (decimal_type(4, 2), [Decimal("9.55"), Decimal("9.55"), None]), "n": (INT, [1, 0, 1])}
    assert type_of(col("d").round(col("n")), table) == decimal_type(4, 2)
    assert evaluate(col("d").round(col("n")), table).to_pylist() == [Decimal("9.60"), Decimal("10.00"), None]


@given(columns(), st.integers(-40, 40))
def test_rounding_of_decimals_is_exact(
    given: tuple[LogicalType, LogicalType, list[tuple[Decimal | None, Decimal | None]]], places: int
) -> None:
    kind, _, rows = given
    values = [value for value, _ in rows]
    table: Columns = {"d": (kind, values)}
    for made, mode, digits in (
        (col("d").round(places), ROUND_HALF_UP, places),
        (col("d").truncate(places), ROUND_DOWN, places),
        (col("d").floor(), ROUND_FLOOR, 0),
        (col("d").ceil(), ROUND_CEILING, 0),
    ):
        result = type_of(made, table)
        step = Decimal(1).scaleb(-min(digits, kind.scale))
        exact = [None if d is None else d.quantize(step, context=Context(prec=100, rounding=mode)) for d in values]
        limit = Decimal(10) ** (result.precision - result.scale)
        expected = [None if d is None or d.copy_abs() >= limit else d for d in exact]
        assert evaluate(made, table).to_pylist() == expected, made


def test_truncate() -> None:
    check(
        lambda a: a.truncate(1),
        [DOUBLE],
        [((4.35,), 4.3), ((-4.35,), -4.3), ((4.3,), 4.3), ((0.3,), 0.3), ((None,), None)],
        DOUBLE,
    )
    check(lambda a: a.truncate(), [DOUBLE], [((4.99,), 4.0), ((-4.99,), -4.0)], DOUBLE)
    check(lambda a: a.truncate(), [INT], [((4,), 4)], INT)


def test_floor_and_ceil_keep_the_type() -> None:
    check(
        lambda a: a.floor(),
        [DOUBLE],
        [((1.5,), 1.0), ((-1.5,), -2.0), ((math.inf,), math.inf), ((None,), None)],
        DOUBLE,
    )
    check(lambda a: a.ceil(), [DOUBLE], [((1.5,), 2.0), ((-1.5,), -1.0), ((None,), None)], DOUBLE)
    check(lambda a: a.ceil(), [INT], [((5,), 5), ((None,), None)], INT)
    check(lambda a: a.floor(), [decimal_type(3, 1)], [((Decimal("-99.5"),), Decimal(-100))], decimal_type(3, 0))
    check(
        lambda a: a.ceil(),
        [decimal_type(2, 2)],
        [((Decimal("0.01"),), Decimal(1)), ((None,), None)],
        decimal_type(2, 0),
    )


def test_wrong_arguments_are_refused() -> None:
    for made in (col("s").round(1), col("s").floor(), col("n").round("a"), col("n").round(1.5)):
        with pytest.raises(InvalidExpressionError, match="a number"):
            type_of(made, {"s": (STRING, []), "n": (INT, [])})
