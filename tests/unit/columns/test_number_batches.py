"""Functions of numbers and casts on batches without rows, and on columns of NULLs, as columns and beside constants."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from operator import attrgetter
from typing import Any

import pytest

from headgate.columns.logical_types import BIGINT, DOUBLE, FLOAT, FLOATS, INT, TINYINT, Kind, LogicalType, decimal
from headgate.table.expression import Expression
from headgate.table.expressions import atan2, col, greatest, least, lit
from tests.unit.columns.evaluate import evaluate, type_of
from tests.unit.columns.test_casts import CASES, FAILURES
from tests.unit.columns.test_decimals import OPERATORS

NUMBERS = [TINYINT, INT, BIGINT, FLOAT, DOUBLE, decimal(10, 2), decimal(38, 18), decimal(38, 38)]

OF_ONE: dict[str, Callable[[Expression], Expression]] = {
    **{name: attrgetter(name) for name in ("abs", "sign", "sqrt", "ln", "log2", "is_nan")},
    "round": lambda a: a.round(1),
    "round before the point": lambda a: a.round(-1),
    "truncate": lambda a: a.truncate(1),
    "floor": lambda a: a.floor(),
    "ceil": lambda a: a.ceil(),
    "negate": lambda a: -a,
}
OF_TWO: dict[str, Callable[[Any, Any], Expression]] = {
    **OPERATORS,
    "power": lambda a, b: a**b,
    "greatest": greatest,
    "least": least,
    "atan2": atan2,
    "log": lambda a, b: a.log(b),
}


def assert_only_nulls(made: Expression, kinds: dict[str, LogicalType]) -> None:
    own = type_of(made, {name: (kind, []) for name, kind in kinds.items()})
    for rows in (0, 2):
        found = evaluate(made, {name: (kind, [None] * rows) for name, kind in kinds.items()})
        assert found.type == own.arrow
        assert len(found) == rows
        assert found.null_count == (rows if own.nullable else 0), made


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_one_number(name: str, kind: LogicalType) -> None:
    assert_only_nulls(OF_ONE[name](col("a")), {"a": kind})


@pytest.mark.parametrize("other", NUMBERS, ids=str)
@pytest.mark.parametrize("one", NUMBERS, ids=str)
def test_functions_of_two_numbers(one: LogicalType, other: LogicalType) -> None:
    constant = Decimal("0.5") if other.kind is Kind.DECIMAL else 1
    for name, function in OF_TWO.items():
        if name == "modulo" and (one.kind in FLOATS or other.kind in FLOATS):
            continue
        assert_only_nulls(function(col("a"), col("b")), {"a": one, "b": other})
        for value in (constant, None):
            assert_only_nulls(function(col("a"), lit(value, other)), {"a": one})
            assert_only_nulls(function(lit(value, other), col("a")), {"a": one})


@pytest.mark.parametrize(("own", "wanted"), sorted({(own, wanted) for own, wanted, _ in [*CASES, *FAILURES]}, key=str))
def test_casts(own: LogicalType, wanted: LogicalType) -> None:
    assert_only_nulls(col("a").cast(wanted), {"a": own})
    assert_only_nulls(col("a").try_cast(wanted), {"a": own})
