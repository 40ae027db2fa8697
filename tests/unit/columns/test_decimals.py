"""DECIMAL arithmetic against Python's decimals, and the digits of results against Flink's rules."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.columns.logical_types import BIGINT, DOUBLE, INT, TINYINT, LogicalType, decimal
from headgate.table.expressions import col
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of

EXACT = Context(prec=400, rounding=ROUND_HALF_UP)


@pytest.mark.parametrize(
    ("function", "one", "other", "result"),
    [
        ("plus", decimal(5, 2), decimal(4, 3), decimal(7, 3)),
        ("plus", decimal(38, 8), decimal(32, 8), decimal(38, 7)),  # of LogicalTypeMerging's documentation
        ("minus", decimal(5, 2), INT, decimal(13, 2)),
        ("plus", TINYINT, decimal(1, 0), decimal(4, 0)),
        ("times", decimal(5, 2), decimal(4, 3), decimal(10, 5)),
        ("times", decimal(38, 18), decimal(38, 18), decimal(38, 6)),
        ("times", decimal(20, 2), BIGINT, decimal(38, 2)),
        ("divide", decimal(5, 2), decimal(4, 3), decimal(13, 7)),
        ("divide", decimal(38, 18), decimal(38, 18), decimal(38, 6)),
        ("divide", INT, decimal(2, 1), decimal(17, 6)),
        ("modulo", decimal(5, 2), decimal(4, 3), decimal(4, 3)),
        ("modulo", decimal(5, 2), INT, decimal(5, 2)),
        ("plus", decimal(5, 2), DOUBLE, DOUBLE),
        ("divide", DOUBLE, decimal(5, 2), DOUBLE),
    ],
)
def test_type_of_result(function: str, one: LogicalType, other: LogicalType, result: LogicalType) -> None:
    made = OPERATORS[function](col("one"), col("other"))
    assert type_of(made, {"one": (one, []), "other": (other, [])}) == result
    never_null: Columns = {"one": (one.nulls(False), []), "other": (other.nulls(False), [])}
    if result.precision < 38:
        assert type_of(made, never_null) == result.nulls(False)


OPERATORS: dict[str, Any] = {
    "plus": lambda one, other: one + other,
    "minus": lambda one, other: one - other,
    "times": lambda one, other: one * other,
    "divide": lambda one, other: one / other,
    "modulo": lambda one, other: one % other,
}

COMPUTED: dict[str, Any] = {
    "plus": EXACT.add,
    "minus": EXACT.subtract,
    "times": EXACT.multiply,
    "divide": EXACT.divide,
    "modulo": EXACT.remainder,
}


def expected(function: str, one: Decimal | None, other: Decimal | None, result: LogicalType) -> Decimal | None:
    if one is None or other is None:
        return None
    value: Decimal = COMPUTED[function](one, other)
    value = value.quantize(Decimal(1).scaleb(-result.scale), context=EXACT)
    return value if value.adjusted() < result.precision - result.scale else None


def decimals(kind: LogicalType) -> st.SearchStrategy[Decimal]:
    """Also numbers with few bits set or missing, of which Arrow divides some wrong."""
    most = 10**kind.precision - 1
    bit = st.integers(0, most.bit_length()).map(lambda power: 2**power)
    few = st.tuples(bit, bit, bit).map(lambda bits: max(-most, min(bits[0] + bits[1] - bits[2], most)))
    return (st.integers(-most, most) | few).map(lambda digits: Decimal(digits).scaleb(-kind.scale, EXACT))


@st.composite
def columns(draw: st.DrawFn) -> tuple[LogicalType, LogicalType, list[tuple[Decimal | None, Decimal | None]]]:
    kinds = []
    for _ in range(2):
        precision = draw(st.integers(1, 38) | st.just(38))
        kinds.append(decimal(precision, draw(st.integers(0, precision))))
    values = [decimals(kind) for kind in kinds]
    rows = draw(st.lists(st.tuples(st.none() | values[0], st.none() | values[1]), min_size=1, max_size=6))
    return kinds[0], kinds[1], rows


WRONG_IN_ARROW = (decimal(38, 30), decimal(38, 7), [(Decimal(0), Decimal("312499999999999999999999999999.9999995"))])


@given(columns(), st.sampled_from(sorted(OPERATORS)))
@example(WRONG_IN_ARROW, "minus")  # which rounds this wrong
def test_equals_exact_arithmetic_rounded_half_up(
    given: tuple[LogicalType, LogicalType, list[tuple[Decimal | None, Decimal | None]]], function: str
) -> None:
    one, other, rows = given
    rows = [(a, b) for a, b in rows if b != 0 or function not in ("divide", "modulo")]
    made = OPERATORS[function](col("one"), col("other"))
    table = {"one": (one, [a for a, _ in rows]), "other": (other, [b for _, b in rows])}
    result = type_of(made, table)
    assert evaluate(made, table).to_pylist() == [expected(function, a, b, result) for a, b in rows]


def test_rounds_half_up_and_gives_null_for_too_many_digits() -> None:
    check(
        lambda a, b: a / b,
        [decimal(38, 18), decimal(38, 18)],
        [
            ((Decimal(2), Decimal(3)), Decimal("0.666667")),
            ((Decimal(-2), Decimal(3)), Decimal("-0.666667")),
            ((Decimal("0.000001"), Decimal(2)), Decimal("0.000001")),
            ((Decimal(10) ** 19, Decimal(10) ** -18), None),
            ((None, Decimal(0)), None),
        ],
        decimal(38, 6),
    )
    check(
        lambda a, b: a * b,
        [decimal(38, 18).nulls(False), decimal(38, 18).nulls(False)],
        [((Decimal(10) ** 19, Decimal(10) ** 19), None), ((Decimal("1.5"), Decimal("1.0000005")), Decimal("1.500001"))],
        decimal(38, 6),  # has NULL for too many digits
    )


@pytest.mark.parametrize("function", ["divide", "modulo"])
def test_division_by_zero_names_the_dividend(function: str) -> None:
    made = OPERATORS[function](col("one"), Decimal(0))
    with pytest.raises(ArithmeticError, match=r"2\.50 is divided by zero"):
        evaluate(made, {"one": (decimal(3, 2), [None, Decimal("2.5")])})
    assert evaluate(made, {"one": (decimal(3, 2), [None])}).to_pylist() == [None]


@given(columns())
def test_decimal_beside_a_double_is_the_nearest_double(
    given: tuple[LogicalType, LogicalType, list[tuple[Decimal | None, Decimal | None]]],
) -> None:
    kind, _, rows = given
    values = [value for value, _ in rows]
    found = evaluate(col("one") + 0.0, {"one": (kind, values)})
    assert found.type == pa.float64()
    for made, value in zip(found.to_pylist(), values, strict=True):
        if value is None:
            assert made is None
        elif kind.precision <= 15 or kind.precision > 18:
            assert made == float(value)
        else:
            assert made == pytest.approx(float(value), rel=3e-16)  # Flink divides an int64, which rounds twice
