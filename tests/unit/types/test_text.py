"""Text: the values of a declared type as Java writes them."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.types.instant import Instant
from headgate.types.row import Row, RowKind
from headgate.types.text import printed_text_of, text_of
from headgate.types.typeinfo import TypeInformation, Types

AB = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])


@pytest.mark.parametrize(
    ("type_info", "value", "text"),
    [
        (Types.INT(), 7, "7"),
        (Types.STRING(), "a'b", "a'b"),
        (Types.BOOLEAN(), True, "true"),
        (Types.BOOLEAN(), None, "null"),
        (Types.DOUBLE(), 1.0, "1.0"),
        (Types.DOUBLE(), -0.0, "-0.0"),
        (Types.DOUBLE(), 1e10, "1.0E10"),
        (Types.DOUBLE(), 12345678.9, "1.23456789E7"),
        (Types.DOUBLE(), 9999999.0, "9999999.0"),
        (Types.DOUBLE(), 0.001, "0.001"),
        (Types.DOUBLE(), -0.00012, "-1.2E-4"),
        (Types.DOUBLE(), 5e-324, "5.0E-324"),
        (Types.DOUBLE(), math.inf, "Infinity"),
        (Types.DOUBLE(), math.nan, "NaN"),
        (Types.FLOAT(), 0.10000000149011612, "0.1"),
        (Types.FLOAT(), 16777216.0, "1.6777216E7"),
        (Types.FLOAT(), 1.401298464324817e-45, "1.4E-45"),
        (Types.SQL_TIMESTAMP(), dt.datetime(33, 4, 3), "0033-04-03 00:00:00.0"),
        (Types.FLOAT(), 3.4028234663852886e38, "3.4028235E38"),
        (Types.FLOAT(), -1e300, "-Infinity"),
        (Types.FLOAT(), 1e-50, "0.0"),
        (Types.BIG_DEC(), Decimal("1.50"), "1.50"),
        (Types.BIG_DEC(), Decimal("1E+3"), "1E+3"),
        (Types.SQL_DATE(), dt.date(2020, 1, 2), "2020-01-02"),
        (Types.SQL_TIME(), dt.time(1, 2, 3, 400000), "01:02:03"),
        (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 2, 3, 4, 5), "2020-01-02 03:04:05.0"),
        (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 2, 3, 4, 5, 250000), "2020-01-02 03:04:05.25"),
        (Types.INSTANT(), Instant(1, 0), "1970-01-01T00:00:01Z"),
        (Types.INSTANT(), Instant(-1, 5_000_000), "1969-12-31T23:59:59.005Z"),
        (Types.INSTANT(), Instant(0, 1), "1970-01-01T00:00:00.000000001Z"),
        (Types.LIST(Types.STRING()), ["a", None], "[a, null]"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"a\xff", "[97, -1]"),
        (Types.MAP(Types.STRING(), Types.DOUBLE()), {"a": 1.0, "b": None}, "{a=1.0, b=null}"),
        (Types.TUPLE([Types.STRING(), Types.INT()]), ("a", 1), "(a,1)"),
        (Types.TUPLE([AB, Types.BOOLEAN()]), (Row(a=1, b="x"), False), "(+I[1, x],false)"),
        (AB, Row.of_kind(RowKind.DELETE, 1, None), "-D[1, null]"),
        (Types.PICKLED_BYTE_ARRAY(), [True, None], "[True, None]"),
        (Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]), (None,), "(null)"),
    ],
    ids=str,
)
def test_the_text_of_a_value_is_that_of_java(type_info: TypeInformation, value: Any, text: str) -> None:
    assert text_of(type_info)(value) == text


def test_print_writes_the_values_of_a_row_as_python_does() -> None:
    row = Types.ROW([Types.BOOLEAN(), Types.DOUBLE(), Types.STRING()])
    assert printed_text_of(row)(Row.of_kind(RowKind.UPDATE_AFTER, True, 1e10, None)) == "+U[True,10000000000.0,None]"
    assert printed_text_of(row)(None) == "None"
    assert printed_text_of(None)((1, "a")) == "(1, 'a')"
    assert printed_text_of(Types.TUPLE([Types.INT(), Types.STRING()]))((1, "a")) == "(1,a)"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_double_tells_it_from_all_others(number: float) -> None:
    assert float(text_of(Types.DOUBLE())(number)) == number


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_text_of_a_float_tells_it_from_all_others_of_32_bits(number: float) -> None:
    text = text_of(Types.FLOAT())(number)
    assert math.isclose(float(text), number, rel_tol=2**-24, abs_tol=2**-150)
    assert len(text) <= 15
