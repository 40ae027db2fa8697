"""Text from formats: the values are those of Java's formatter."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headgate.columns import logical_types as types
from headgate.columns.logical_types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TINYINT, LogicalType
from headgate.errors import InvalidExpressionError
from headgate.table.expressions import col, lit
from tests.unit.columns.evaluate import check, type_of

CASES: list[tuple[str, LogicalType, Any, str | None]] = [
    ("%s", STRING, "a", "a"),
    ("%5s|%<-5s|%<S", STRING, "ab", "   ab|ab   |AB"),
    ("%.2s", STRING, "abc", "ab"),
    ("%1$s%1$s", STRING, "é", "éé"),
    ("%s %b", BOOLEAN, True, None),
    ("%s %<b", BOOLEAN, False, "false false"),
    ("%d", INT, -42, "-42"),
    ("%,d", BIGINT, 1234567, "1,234,567"),
    ("%(,d", BIGINT, -1234567, "(1,234,567)"),
    ("%+06d", INT, 42, "+00042"),
    ("%x %<X %<o", INT, -1, "ffffffff FFFFFFFF 37777777777"),
    ("%x", TINYINT, -1, "ff"),
    ("%#x", INT, 255, "0xff"),
    ("%c", INT, 233, "é"),
    ("%d", DOUBLE, 1.5, None),
    ("%f", INT, 1, None),
    ("%.1f", DOUBLE, 0.25, "0.3"),
    ("%,.2f", DOUBLE, 1234567.891, "1,234,567.89"),
    ("%e", DOUBLE, 12345.678, "1.234568e+04"),
    ("%g", DOUBLE, 12345.678, "12345.7"),
    ("%s", DOUBLE, 1e10, "1.0E10"),
    ("%f", DOUBLE, float("inf"), "Infinity"),
    ("%.1f", types.decimal(5, 2), Decimal("2.25"), "2.3"),
    ("100%% of %s%n", STRING, "it", "100% of it\n"),
    ("%s", STRING, None, "null"),
    ("%d %<b", INT, None, "null false"),
    ("%", STRING, "a", None),
    ("%y", STRING, "a", None),
    ("%-d", INT, 1, None),
    ("%2$s", STRING, "a", None),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_printf(case: int) -> None:
    source, kind, value, expected = CASES[case]
    rows = [((source, value), expected), ((None, value), None)]
    check(lambda a, b: a.printf(b), [STRING, kind], rows, STRING)


def test_printf_of_other_counts_and_types() -> None:
    check(lambda a: a.printf(), [STRING], [(("a%n",), "a\n"), (("%s",), None)], STRING)
    assert type_of(lit("a").printf(), {}) == STRING
    for build in (col("n").printf(1), lit("%s").printf(b"a"), lit("%s").printf(col("l"))):
        with pytest.raises(InvalidExpressionError):
            type_of(build, {"n": (INT, []), "l": (types.array(INT), [])})
