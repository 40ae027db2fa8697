"""Operators on integers and floats, as Java computes them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns.logical_types import BIGINT, DOUBLE, FLOAT, INT, SMALLINT, STRING, TINYINT, LogicalType, text
from headgate.errors import InvalidExpressionError
from headgate.table.expression import Expression
from headgate.table.expressions import col, if_then_else, lit, null_of
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of

INTEGERS: dict[LogicalType, int] = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}


def wrapped(value: int, bits: int) -> int:
    half: int = 2 ** (bits - 1)
    return (value + half) % (2 * half) - half


def quotient(one: int, other: int) -> int:
    return abs(one) // abs(other) * (-1 if (one < 0) != (other < 0) else 1)


@st.composite
def integers(draw: st.DrawFn) -> tuple[LogicalType, list[tuple[int | None, int | None]]]:
    kind = draw(st.sampled_from(list(INTEGERS)))
    least = -(2 ** (INTEGERS[kind] - 1))
    value = st.none() | st.integers(least, -least - 1) | st.sampled_from([least, -1, 1, -least - 1])
    return kind, draw(st.lists(st.tuples(value, value), min_size=1, max_size=8))


@given(integers())
def test_integers_wrap_around(given: tuple[LogicalType, list[tuple[int | None, int | None]]]) -> None:
    kind, rows = given
    table = {"one": (kind, [one for one, _ in rows]), "other": (kind, [other for _, other in rows])}
    one, other = col("one"), col("other")
    exact: list[tuple[Expression, Any]] = [
        (one + other, int.__add__),
        (one - other, int.__sub__),
        (one * other, int.__mul__),
    ]
    if all(value != 0 for _, value in rows):
        exact += [(one / other, quotient), (one % other, lambda a, b: a - quotient(a, b) * b)]
    for made, compute in exact:
        assert type_of(made, table) == kind
        assert evaluate(made, table).to_pylist() == [
            None if a is None or b is None else wrapped(compute(a, b), INTEGERS[kind]) for a, b in rows
        ], made
    assert evaluate(-one, table).to_pylist() == [None if a is None else wrapped(-a, INTEGERS[kind]) for a, _ in rows]
    assert evaluate(one.abs, table).to_pylist() == [
        None if a is None else wrapped(abs(a), INTEGERS[kind]) for a, _ in rows
    ]


def test_division_truncates_towards_zero() -> None:
    check(
        lambda a, b: a / b,
        [INT, INT],
        [
            ((-7, 2), -3),
            ((7, -2), -3),
            ((7, -1), -7),
            ((-(2**31), -1), -(2**31)),
            ((None, 0), None),
            ((1, None), None),
        ],
        INT,
    )


@pytest.mark.parametrize("made", [col("n") / 0, col("n") % 0, 5 / (col("n") - col("n"))])
def test_division_of_integers_by_zero_fails(made: Expression) -> None:
    with pytest.raises(ArithmeticError, match="5 is divided by zero"):
        evaluate(made, {"n": (INT, [None, 5])})
    assert evaluate(made, {"n": (INT, [None])}).to_pylist() == [None]


def test_division_by_zero_fails_only_where_it_is_needed() -> None:
    made = if_then_else(col("n") == 0, null_of(INT), 10 / col("n"))
    assert evaluate(made, {"n": (INT, [0, 5, None])}).to_pylist() == [None, 2, None]


def test_division_of_doubles_by_zero() -> None:
    check(
        lambda a, b: a / b,
        [DOUBLE, INT],
        [((1.0, 0), math.inf), ((-1.0, 0), -math.inf), ((0.0, 0), math.nan), ((None, 0), None), ((7.0, 2), 3.5)],
        DOUBLE,
    )


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        (INT.nulls(False), INT.nulls(False), INT.nulls(False)),
        (TINYINT.nulls(False), SMALLINT, SMALLINT),
        (INT, BIGINT, BIGINT),
        (BIGINT, FLOAT, FLOAT),
        (FLOAT, DOUBLE, DOUBLE),
        (INT, DOUBLE.nulls(False), DOUBLE),
    ],
)
def test_result_has_the_widest_type(one: LogicalType, other: LogicalType, result: LogicalType) -> None:
    table: Columns = {"one": (one, []), "other": (other, [])}
    for made in (col("one") + col("other"), col("other") * col("one"), col("one") / col("other")):
        assert type_of(made, table) == result


def test_remainder_has_the_type_of_the_divisor() -> None:
    check(lambda a, b: a % b, [INT, BIGINT], [((-7, 4), -3), ((7, -4), 3)], BIGINT)


def test_remainder_is_for_exact_numbers() -> None:
    with pytest.raises(InvalidExpressionError, match="exact numbers, not DOUBLE, INT"):
        type_of(col("d") % col("n"), {"d": (DOUBLE, []), "n": (INT, [])})


def test_power() -> None:
    check(
        lambda a, b: a**b,
        [INT, DOUBLE],
        [((2, 10.0), 1024.0), ((4, 0.5), 2.0), ((-8, 0.5), math.nan), ((0, -1.0), math.inf), ((None, 1.0), None)],
        DOUBLE,
    )


def test_constants_on_the_left() -> None:
    table = {"n": (INT, [4])}
    for made, value in [
        (10 + col("n"), 14),
        (10 - col("n"), 6),
        (10 * col("n"), 40),
        (10 / col("n"), 2),
        (10 % col("n"), 2),
        (2 ** col("n"), 16.0),
    ]:
        assert evaluate(made, table).to_pylist() == [value]


def test_plus_joins_texts() -> None:
    check(
        lambda a, b: a + b,
        [STRING, text(3)],
        [(("ab", "c"), "abc"), (("", ""), ""), (("é", "😀"), "é😀"), ((None, "a"), None)],
        STRING,
    )
    with pytest.raises(InvalidExpressionError, match=r"plus\(\) takes numbers"):
        type_of(col("s") + 1, {"s": (STRING, [])})
    with pytest.raises(InvalidExpressionError, match=r"minus\(\) takes numbers"):
        type_of(col("s") - col("s"), {"s": (STRING, [])})


def test_null_without_a_type_takes_the_type_of_the_other_argument() -> None:
    made = col("n") + lit(None)
    assert type_of(made, {"n": (INT.nulls(False), [])}) == INT
    assert evaluate(made, {"n": (INT, [1])}).to_pylist() == [None]
    with pytest.raises(InvalidExpressionError, match="takes numbers, not NULL, NULL"):
        type_of(lit(None) + lit(None), {})
