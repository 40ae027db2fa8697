"""Text of values as Flink's text encoder writes it: each was seen in a file that PyFlink had written."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pytest

from headgate.types.instant import Instant
from headgate.types.java_text import java_text
from headgate.types.row import Row, RowKind


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("b c", "b c"),
        (-2, "-2"),
        (True, "true"),
        (("be", 2, True, 1.5), "(be,2,true,1.5)"),
        (((1, 2), [3, 4]), "((1,2),[3, 4])"),
        (Row(None, 3), "+I[null, 3]"),
        (Row(a="be", b=2), "+I[be, 2]"),
        (Row(Row(1, 2), True), "+I[+I[1, 2], true]"),
        ({"a": 1}, "{a=1}"),
        (datetime.datetime(2024, 2, 29, 12, 30, 5), "2024-02-29 12:30:05.0"),
        (datetime.datetime(2024, 2, 29, 12, 30, 5, 120_000), "2024-02-29 12:30:05.12"),
        (datetime.date(2024, 2, 29), "2024-02-29"),
        (datetime.time(12, 30, 5), "12:30:05"),
        (Decimal("1.50"), "1.50"),
        (Instant.of_epoch_milli(1500), "1970-01-01T00:00:01.500Z"),
        (Instant.of_epoch_milli(1000), "1970-01-01T00:00:01Z"),
        (1.0, "1.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (-1e-4, "-1.0E-4"),
        (1e22, "1.0E22"),
        (-0.0, "-0.0"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
    ],
)
def test_a_value_has_the_text_that_java_writes(value: Any, text: str) -> None:
    assert java_text(value) == text


def test_a_row_begins_with_its_kind() -> None:
    row = Row(1)
    row.set_row_kind(RowKind.DELETE)
    assert java_text(row) == "-D[1]"


def test_what_java_has_no_class_for_is_what_str_returns() -> None:
    assert java_text({1}) == "{1}"
    assert java_text(Instant(10**15, 0)) == str(Instant(10**15, 0))
