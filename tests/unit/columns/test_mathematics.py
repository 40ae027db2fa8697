"""Mathematical functions: values, edges, and types of results."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from headgate.columns.logical_types import BIGINT, BOOLEAN, DATE, DOUBLE, FLOAT, INT, STRING, TINYINT, LogicalType
from headgate.columns.logical_types import decimal as decimal_type
from headgate.errors import InvalidExpressionError
from headgate.table.expression import Expression
from headgate.table.expressions import atan2, col, e, greatest, least, lit, log, negative, pi
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of

NAN, INF = math.nan, math.inf

OF_ONE: dict[str, list[tuple[float, float]]] = {
    "sqrt": [(9.0, 3.0), (0.0, 0.0), (-1.0, NAN), (INF, INF)],
    "exp": [(0.0, 1.0), (1.0, math.e), (1000.0, INF), (-INF, 0.0)],
    "ln": [(1.0, 0.0), (0.0, -INF), (-1.0, NAN)],
    "log10": [(1000.0, 3.0), (0.0, -INF), (-1.0, NAN)],
    "log2": [(8.0, 3.0), (0.5, -1.0), (-1.0, NAN)],
    "sin": [(0.0, 0.0), (math.pi / 2, 1.0), (INF, NAN)],
    "cos": [(0.0, 1.0), (math.pi, -1.0)],
    "tan": [(0.0, 0.0), (1.0, math.tan(1))],
    "cot": [(1.0, 1 / math.tan(1)), (0.0, INF)],
    "asin": [(1.0, math.pi / 2), (2.0, NAN)],
    "acos": [(1.0, 0.0), (-1.0, math.pi), (2.0, NAN)],
    "atan": [(1.0, math.pi / 4), (INF, math.pi / 2)],
    "sinh": [(0.0, 0.0), (1.0, math.sinh(1))],
    "cosh": [(0.0, 1.0), (1.0, math.cosh(1))],
    "tanh": [(0.0, 0.0), (INF, 1.0)],
    "degrees": [(math.pi, 180.0), (0.0, 0.0)],
    "radians": [(180.0, math.pi), (0.0, 0.0)],
}


@pytest.mark.parametrize("name", sorted(OF_ONE))
def test_functions_of_a_double(name: str) -> None:
    made = getattr(col("x"), name)
    rows = [*OF_ONE[name], (None, None)]
    table: Columns = {"x": (DOUBLE, [value for value, _ in rows])}
    assert type_of(made, table) == DOUBLE
    assert type_of(made, {"x": (DOUBLE.nulls(False), [])}) == DOUBLE.nulls(False)
    assert type_of(made, {"x": (decimal_type(4, 2), [])}) == DOUBLE
    expected = pytest.approx([value for _, value in rows], nan_ok=True)
    assert evaluate(made, table).to_pylist() == expected
    constants = [evaluate(getattr(lit(value, DOUBLE), name), {}).to_pylist()[0] for value, _ in rows]
    assert constants == expected
    with pytest.raises(InvalidExpressionError, match=f"{name}.. takes numbers, not STRING"):
        type_of(made, {"x": (STRING, [])})


def test_functions_of_integers_and_decimals() -> None:
    check(lambda a: a.sqrt, [INT], [((16,), 4.0), ((None,), None)], DOUBLE)
    check(lambda a: a.exp, [decimal_type(3, 2)], [((Decimal(0),), 1.0)], DOUBLE)
    check(lambda a: a.ln, [BIGINT], [((1,), 0.0)], DOUBLE)


def test_log() -> None:
    check(lambda a, b: a.log(b), [DOUBLE, INT], [((8.0, 2), 3.0), ((None, 2), None), ((8.0, None), None)], DOUBLE)
    check(lambda a: a.log(), [DOUBLE], [((1.0,), 0.0), ((None,), None)], DOUBLE)
    check(lambda a: log(a, 10), [INT], [((1,), 0.0)], DOUBLE)
    check(lambda a: log(a), [INT], [((1,), 0.0)], DOUBLE)  # the module's function


def test_atan2() -> None:
    check(atan2, [DOUBLE, INT], [((0.0, 1), 0.0), ((1.0, 0), math.pi / 2), ((0.0, -1), math.pi), ((None, 1), None)])


def test_constants() -> None:
    assert (type_of(pi(), {}), evaluate(pi(), {}).to_pylist()) == (DOUBLE.nulls(False), [3.141592653589793])
    assert (type_of(e(), {}), evaluate(e(), {}).to_pylist()) == (DOUBLE.nulls(False), [2.718281828459045])


KEEPING_TYPE: list[tuple[Callable[[Expression], Expression], LogicalType, list[tuple[Any, Any]]]] = [
    (lambda a: a.abs, TINYINT, [(-5, 5), (5, 5), (-128, -128), (None, None)]),
    (lambda a: a.abs, DOUBLE, [(-5.5, 5.5), (-INF, INF), (NAN, NAN)]),
    (lambda a: a.abs, decimal_type(3, 1), [(Decimal("-9.5"), Decimal("9.5")), (None, None)]),
    (negative, BIGINT, [(5, -5), (-(2**63), -(2**63)), (None, None)]),
    (negative, decimal_type(38, 0), [(Decimal("9" * 38), Decimal("-" + "9" * 38))]),
    (lambda a: a.sign, INT, [(-7, -1), (0, 0), (7, 1), (None, None)]),
    (lambda a: a.sign, DOUBLE, [(-7.5, -1.0), (0.0, 0.0), (NAN, NAN), (INF, 1.0)]),
    (lambda a: a.sign, FLOAT, [(-7.5, -1.0)]),
    (lambda a: a.sign, decimal_type(5, 2), [(Decimal("-7.50"), Decimal("-1.00")), (Decimal(0), Decimal("0.00"))]),
]


@pytest.mark.parametrize(("build", "kind", "rows"), KEEPING_TYPE)
def test_functions_that_keep_the_type(
    build: Callable[[Expression], Expression], kind: LogicalType, rows: list[tuple[Any, Any]]
) -> None:
    check(build, [kind], [((value,), expected) for value, expected in rows], kind)


def test_is_nan_is_never_null() -> None:
    rows: list[tuple[tuple[Any, ...], Any]] = [((NAN,), True), ((1.0,), False), ((INF,), False), ((None,), False)]
    check(lambda a: a.is_nan, [DOUBLE], rows, BOOLEAN.nulls(False))
    check(lambda a: a.is_not_nan, [DOUBLE], [(row, not found) for row, found in rows], BOOLEAN.nulls(False))
    check(lambda a: a.is_nan, [INT], [((1,), False), ((None,), False)], BOOLEAN.nulls(False))


def test_greatest_and_least() -> None:
    check(greatest, [INT, BIGINT], [((1, 2), 2), ((-1, -2), -1), ((None, 1), None)], BIGINT)
    check(least, [INT, BIGINT], [((1, 2), 1), ((-1, -2), -2), ((None, 1), None)], BIGINT)
    check(greatest, [STRING, STRING], [(("a", "é"), "é"), (("", "a"), "a")], STRING)
    check(least, [decimal_type(3, 1), INT], [((Decimal("1.5"), 2), Decimal("1.5"))], decimal_type(11, 1))
    check(greatest, [BOOLEAN, BOOLEAN], [((True, False), True), ((True, None), None)], BOOLEAN)
    check(least, [BOOLEAN, BOOLEAN], [((True, False), False), ((False, None), None)], BOOLEAN)
    check(greatest, [DATE, DATE], [((datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)), datetime.date(2021, 1, 1))])
    check(greatest, [INT], [((1,), 1)], INT)
    with pytest.raises(InvalidExpressionError, match="arguments of one type"):
        type_of(greatest(col("n"), "a"), {"n": (INT, [])})
