"""CAST and TRY_CAST, with the values of Flink's own tests of its cast rules where these have them."""

from __future__ import annotations

import datetime as dt
import math
import zoneinfo
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns.logical_types import (
    BIGINT,
    BINARY_STRING,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MONTH_INTERVAL,
    NULL,
    SMALLINT,
    STRING,
    TINYINT,
    LogicalType,
    array,
    binary,
    day_interval,
    decimal,
    map_of,
    row,
    text,
    time,
    timestamp,
    timestamp_ltz,
)
from headgate.errors import InvalidExpressionError
from headgate.table.expressions import col, lit
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of

NAN, INF = math.nan, math.inf
UTC = zoneinfo.ZoneInfo("UTC")
BERLIN = "Europe/Berlin"
PAIR = row([("a", INT), ("b", STRING)])


def D(digits: str) -> Decimal:
    return Decimal(digits)


CASES: list[tuple[LogicalType, LogicalType, list[tuple[Any, Any]]]] = [
    # numbers to numbers: integers lose upper bits, floats stop at the limits of an integer
    (INT, TINYINT, [(1234567, -121), (-1234567, 121), (-12, -12), (None, None)]),
    (BIGINT, INT, [(12345678901, -539222987), (-12345678901, 539222987)]),
    (BIGINT, SMALLINT, [(12345678901, 7221)]),
    (INT, BIGINT, [(-7, -7)]),
    (DOUBLE, TINYINT, [(123.456789, 123), (-123.9, -123)]),
    (DOUBLE, SMALLINT, [(123456.789, -7616)]),
    (DOUBLE, INT, [(9234567891.12345, 2147483647), (-1e300, -(2**31)), (NAN, 0), (INF, 2147483647)]),
    (DOUBLE, BIGINT, [(9234567891.12345, 9234567891), (1e300, 2**63 - 1), (-INF, -(2**63))]),
    (FLOAT, BIGINT, [(9234568192.0, 9234568192), (None, None)]),
    (decimal(10, 3), TINYINT, [(D("9123.87"), -93), (D("-9.87"), -9), (None, None)]),
    (decimal(20, 3), INT, [(D("3276913443134.87"), -146603714)]),
    (decimal(38, 0), BIGINT, [(D("9" * 38), (10**38 - 1 + 2**63) % 2**64 - 2**63)]),
    (DOUBLE, FLOAT, [(1239234567891.1234567891234, 1239234510848.0), (1e300, INF)]),
    (BIGINT, DOUBLE, [(12345678901, 12345678901.0), (2**53 + 1, 2.0**53)]),
    (BIGINT, FLOAT, [(2**24 + 1, 2.0**24)]),
    (decimal(20, 3), DOUBLE, [(D("3276913443134.87"), 3.27691344313487e12), (None, None)]),
    (decimal(30, 20), DOUBLE, [(D("123456789.123456789123456789"), 1.2345678912345679e8)]),
    (decimal(4, 2), FLOAT, [(D("9.87"), 9.869999885559082)]),
    (DOUBLE, decimal(5, 3), [(12.678, D("12.678")), (1e300, None), (1e-300, D("0.000")), (2.0005, D("2.001"))]),
    (FLOAT, decimal(5, 3), [(0.5, D("0.500")), (None, None)]),
    (decimal(5, 3), decimal(3, 1), [(D("12.678"), D("12.7")), (D("99.95"), None), (D("-0.05"), D("-0.1"))]),
    (decimal(4, 3), decimal(5, 3), [(D("9.87"), D("9.870"))]),
    (INT, decimal(5, 3), [(42, D("42.000")), (100, None), (None, None)]),
    (BOOLEAN, decimal(5, 3), [(True, D("1.000")), (False, D("0.000"))]),
    (BOOLEAN, INT, [(True, 1), (False, 0), (None, None)]),
    (BOOLEAN, DOUBLE, [(True, 1.0), (False, 0.0)]),
    (INT, BOOLEAN, [(5, True), (-5, True), (0, False), (None, None)]),
    # texts to numbers
    (STRING, TINYINT, [("1.234", 1), ("123", 123), ("-128", -128)]),
    (STRING, INT, [(" 123 ", 123), ("-0007", -7), ("+5", 5), (".5", 0), (str(-(2**31)), -(2**31)), (None, None)]),
    (STRING, BIGINT, [("-3276913443134", -3276913443134), (str(2**63 - 1), 2**63 - 1)]),
    (
        STRING,
        DOUBLE,
        [("1.234", 1.234), (" 1e3 ", 1000.0), ("NaN", NAN), ("-Infinity", -INF), ("1d", 1.0), ("+.5", 0.5)],
    ),
    (STRING, FLOAT, [("-3276913443134", -3276913508352.0)]),
    (STRING, decimal(5, 3), [("1.234", D("1.234")), (" .2 ", D("0.200")), ("1.2345", D("1.235")), ("5.", D("5.000"))]),
    (STRING, decimal(5, 3), [("-1.2345", D("-1.235")), ("123", None), ("1e1", D("10.000")), ("1e9999999999999", None)]),
    (
        STRING,
        decimal(5, 3),
        [("1" * 100, None), ("0." + "0" * 100 + "1", D("0.000")), ("-0", D("0.000")), (None, None)],
    ),
    (STRING, decimal(38, 38), [("0." + "1" * 40, D("0." + "1" * 38)), ("1", None)]),
    (STRING, BOOLEAN, [("TrUe", True), ("FalsE", False), ("no", False), ("1", True), ("y", True), (None, None)]),
    # to texts
    (
        DOUBLE,
        STRING,
        [(12345.678901, "12345.678901"), (1.0, "1.0"), (1e10, "1.0E10"), (-0.0, "-0.0"), (100.0, "100.0")],
    ),
    (DOUBLE, STRING, [(1.7976931348623157e308, "1.7976931348623157E308"), (5e-324, "4.9E-324"), (None, None)]),
    (DOUBLE, STRING, [(0.001, "0.001"), (9.999e-4, "9.999E-4"), (9999999.0, "9999999.0"), (1e7, "1.0E7")]),
    (DOUBLE, STRING, [(NAN, "NaN"), (INF, "Infinity"), (-INF, "-Infinity")]),
    (FLOAT, STRING, [(3.4028234663852886e38, "3.4028235E38"), (-123.45600128173828, "-123.456")]),
    (INT, STRING, [(-12345678, "-12345678"), (None, None)]),
    (BOOLEAN, STRING, [(True, "TRUE"), (False, "FALSE"), (None, None)]),
    (decimal(4, 3), STRING, [(D("9.87"), "9.870")]),
    (decimal(10, 8), STRING, [(D("0.00000001"), "0.00000001"), (D("-9.5"), "-9.50000000"), (D("0"), "0.00000000")]),
    (decimal(4, 0), STRING, [(D("-95"), "-95"), (None, None)]),
    (BOOLEAN, text(3), [(True, "TRU"), (False, "FAL")]),
    (BOOLEAN, text(6, fixed=True), [(True, "TRUE  "), (None, None)]),
    (INT, text(6, fixed=True), [(-1234, "-1234 ")]),
    (STRING, text(3), [("Apache", "Apa"), ("é😀ab", "é😀a"), ("", ""), (None, None)]),
    (STRING, text(4, fixed=True), [("ab", "ab  "), ("abcdef", "abcd"), ("é", "é   ")]),
    (text(3), STRING, [("abc", "abc")]),
    (text(2, fixed=True), text(4, fixed=True), [("ab", "ab  ")]),
    # bytes
    (STRING, BINARY_STRING, [("é", b"\xc3\xa9"), ("", b""), (None, None)]),
    (STRING, binary(4, fixed=True), [("66", b"66\0\0"), ("Apache", b"Apac"), (None, None)]),
    (STRING, binary(4), [("c9", b"c9"), ("Flink", b"Flin")]),
    (BINARY_STRING, STRING, [(b"\0\1", "\0\1"), (b"\xc3\xa9", "é"), (None, None)]),
    (BINARY_STRING, binary(4, fixed=True), [(b"\1\2\3", b"\1\2\3\0"), (b"", b"\0\0\0\0")]),
    # dates and times
    (
        STRING,
        DATE,
        [("123", dt.date(123, 1, 1)), ("2021-09-27", dt.date(2021, 9, 27)), ("2021-09", dt.date(2021, 9, 1))],
    ),
    (STRING, DATE, [("2021-9-7 12:34:56.123456789", dt.date(2021, 9, 7)), ("2024-02-29", dt.date(2024, 2, 29))]),
    (STRING, time(0), [("23", dt.time(23)), ("23:45", dt.time(23, 45)), ("12:34:56.999", dt.time(12, 34, 56))]),
    (STRING, time(5), [("12:34:56.1234567", dt.time(12, 34, 56, 123450)), (None, None)]),
    (
        STRING,
        timestamp(6),
        [("2021-09-27", dt.datetime(2021, 9, 27)), ("9999-12-31 23:59:59", dt.datetime(9999, 12, 31, 23, 59, 59))],
    ),
    (STRING, timestamp(3), [("2021-9-1 1:1:1.123", dt.datetime(2021, 9, 1, 1, 1, 1, 123000)), (None, None)]),
    (STRING, timestamp(1), [("1969-12-31 23:59:59.59", dt.datetime(1969, 12, 31, 23, 59, 59, 500000))]),
    (STRING, timestamp(4), [("2021-09-27 12:34:56.12345", dt.datetime(2021, 9, 27, 12, 34, 56, 123400))]),
    (DATE, STRING, [(dt.date(2021, 9, 24), "2021-09-24"), (dt.date(1, 1, 1), "0001-01-01")]),
    (time(0), STRING, [(dt.time(12, 34, 56), "12:34:56")]),
    (time(5), STRING, [(dt.time(12, 34, 56, 123000), "12:34:56.123"), (dt.time(1, 2, 3), "01:02:03.0"), (None, None)]),
    (timestamp(0), STRING, [(dt.datetime(2021, 9, 24, 12, 34, 56), "2021-09-24 12:34:56")]),
    (timestamp(3), STRING, [(dt.datetime(2021, 9, 24, 12, 34, 56, 100000), "2021-09-24 12:34:56.100")]),
    (timestamp(4), STRING, [(dt.datetime(2021, 9, 24, 12, 34, 56, 123400), "2021-09-24 12:34:56.1234"), (None, None)]),
    (timestamp(6), STRING, [(dt.datetime(2021, 9, 24, 12, 34, 56, 123456), "2021-09-24 12:34:56.123456")]),
    (timestamp(6), text(10), [(dt.datetime(2021, 9, 24, 12, 34, 56, 123456), "2021-09-24")]),
    (timestamp(6), DATE, [(dt.datetime(1969, 12, 31, 23), dt.date(1969, 12, 31)), (None, None)]),
    (timestamp(6), time(0), [(dt.datetime(1969, 12, 31, 23, 1, 2, 999999), dt.time(23, 1, 2)), (None, None)]),
    (
        timestamp(6),
        timestamp(2),
        [(dt.datetime(1969, 12, 31, 23, 1, 2, 999999), dt.datetime(1969, 12, 31, 23, 1, 2, 990000))],
    ),
    (timestamp(3), timestamp(6), [(dt.datetime(2021, 9, 24), dt.datetime(2021, 9, 24))]),
    (DATE, timestamp(3), [(dt.date(2022, 1, 4), dt.datetime(2022, 1, 4)), (None, None)]),
    (time(3), timestamp(3), [(dt.time(1, 2, 3), dt.datetime(1970, 1, 1, 1, 2, 3))]),
    (time(6), time(3), [(dt.time(1, 2, 3, 999999), dt.time(1, 2, 3, 999000))]),
    # intervals
    (
        day_interval(3),
        STRING,
        [(dt.timedelta(milliseconds=10), "+0 00:00:00.010"), (-dt.timedelta(hours=36), "-1 12:00:00.000")],
    ),
    (MONTH_INTERVAL, STRING, [(84, "+7-00"), (-123, "-10-03"), (None, None)]),
    (day_interval(6), BIGINT, [(dt.timedelta(seconds=-1.5), -1500), (None, None)]),
    (MONTH_INTERVAL, INT, [(5, 5)]),
    (BIGINT, day_interval(3), [(1500, dt.timedelta(seconds=1.5)), (None, None)]),
    (INT, MONTH_INTERVAL, [(15, 15)]),
    # arrays, maps and rows
    (array(INT), STRING, [([-123, 456], "[-123, 456]"), ([None, 456], "[NULL, 456]"), ([], "[]"), (None, None)]),
    (map_of(STRING, INT), STRING, [([("a", 1), ("b", None)], "{a=1, b=NULL}"), ([], "{}"), (None, None)]),
    (PAIR, STRING, [({"a": 1, "b": "x"}, "(1, x)"), ({"a": None, "b": ""}, "(NULL, )"), (None, None)]),
    (array(PAIR), STRING, [([{"a": 1, "b": "x"}, None], "[(1, x), NULL]")]),
    (array(INT), text(4), [([-1, 2], "[-1,")]),
    (array(INT), array(STRING), [([1, None], ["1", None]), ([], []), (None, None), ([2], ["2"])]),
    (array(array(INT)), array(array(TINYINT)), [([[300], [], None], [[44], [], None]), (None, None)]),
    (array(STRING), array(INT), [(["1", None], [1, None]), ([], []), (None, None)]),
    (map_of(STRING, INT), map_of(STRING, BIGINT), [([("a", 1)], [("a", 1)]), ([], []), (None, None)]),
    (map_of(INT, STRING), map_of(STRING, DOUBLE), [([(1, "2.5"), (2, None)], [("1", 2.5), ("2", None)])]),
    (PAIR, row([("x", BIGINT), ("y", text(1))]), [({"a": 1, "b": "xy"}, {"x": 1, "y": "x"}), (None, None)]),
    (PAIR, row([("x", BIGINT)]), [({"a": 1, "b": "xy"}, {"x": 1})]),
]


@pytest.mark.parametrize(
    ("own", "wanted", "rows"), CASES, ids=lambda value: str(value) if isinstance(value, LogicalType) else ""
)
def test_cast_and_try_cast(own: LogicalType, wanted: LogicalType, rows: list[tuple[Any, Any]]) -> None:
    given = [((value,), expected) for value, expected in rows]
    check(lambda a: a.cast(wanted), [own], given)
    check(lambda a: a.try_cast(wanted), [own], given, wanted)


FAILURES: list[tuple[LogicalType, LogicalType, list[Any]]] = [
    (STRING, TINYINT, ["-130", "foo"]),
    (STRING, INT, ["foo", "", " ", "2147483648", "1e3", "-", ".", "1.2.3", "9" * 30]),
    (STRING, DOUBLE, ["foo", "", "1e", "nan", "0x1", "1 2"]),
    (STRING, decimal(5, 3), ["foo", "", "1e", ".", "NaN", "1,5"]),
    (DOUBLE, decimal(5, 3), [NAN, INF]),
    (STRING, BOOLEAN, ["foo", "", "2", " true "]),
    (STRING, DATE, ["2021/09/27", "foo", "2021-02-29", "2021-13-01", "2021-00-01", "", "2021-1-32"]),
    (STRING, time(0), ["2021-09-27", "24:00:00", "12:60", "2021-09-27 12:34:56", "", "Flink"]),
    (STRING, timestamp(6), ["123", "2021/09/27", "2021-09-27 25:00:00", "2021-09-27 12:34", "2021-02-30", ""]),
    (STRING, timestamp(9), ["9999-12-31"]),  # out of the range of int64
    (STRING, timestamp_ltz(3), ["123", "Flink"]),
    (timestamp(3), timestamp(9), [dt.datetime(2400, 1, 1)]),
    (BINARY_STRING, STRING, [b"\xff"]),
    (array(STRING), array(INT), [["1", "x"]]),
    (map_of(STRING, STRING), map_of(STRING, INT), [[("a", "x")]]),
    (row([("a", STRING)]), row([("a", INT)]), [{"a": "x"}]),
]


@pytest.mark.parametrize(("own", "wanted", "values"), FAILURES)
def test_wrong_values_fail_and_try_cast_makes_them_null(
    own: LogicalType, wanted: LogicalType, values: list[Any]
) -> None:
    for value in values:
        column = {"a": (own, [None, value, None])}
        with pytest.raises(ValueError, match="cannot be cast to") as failure:
            evaluate(col("a").cast(wanted), column)
        assert repr(evaluate(col("a"), column)[1].as_py()) in str(failure.value)
        assert evaluate(col("a").try_cast(wanted), column).to_pylist() == [None, None, None]
        with pytest.raises(ValueError, match="cannot be cast to"):
            evaluate(lit(value, own).cast(wanted), {})
        assert evaluate(lit(value, own).try_cast(wanted), {}).to_pylist() == [None]


def test_try_cast_keeps_what_is_right() -> None:
    column = {"a": (STRING, ["1", "x", None, "3"])}
    assert evaluate(col("a").try_cast(INT), column).to_pylist() == [1, None, None, 3]
    lists = {"a": (array(STRING), [["1"], ["x", "2"], [], None, ["3", None]])}
    assert evaluate(col("a").try_cast(array(INT)), lists).to_pylist() == [[1], None, [], None, [3, None]]


def test_the_time_zone_of_the_session() -> None:
    at = dt.datetime(2021, 9, 24, 12, 34, 56, 100000, tzinfo=UTC)
    local = dt.datetime(2021, 9, 24, 14, 34, 56, 100000)
    cases: list[tuple[LogicalType, LogicalType, Any, Any]] = [
        (timestamp_ltz(3), STRING, at, "2021-09-24 14:34:56.100"),
        (STRING, timestamp_ltz(3), "2021-09-24 14:34:56.1", at),
        (timestamp_ltz(3), timestamp(3), at, local),
        (timestamp(3), timestamp_ltz(3), local, at),
        (timestamp_ltz(6), timestamp(0), at, local.replace(microsecond=0)),
        (timestamp_ltz(3), time(0), at, dt.time(14, 34, 56)),
        (timestamp_ltz(3), DATE, dt.datetime(2022, 1, 3, 23, tzinfo=UTC), dt.date(2022, 1, 4)),
        (DATE, timestamp_ltz(3), dt.date(2022, 1, 4), dt.datetime(2022, 1, 3, 23, tzinfo=UTC)),
        (time(0), timestamp_ltz(3), dt.time(1), dt.datetime(1970, 1, 1, tzinfo=UTC)),
        (timestamp_ltz(3), timestamp_ltz(0), at, at.replace(microsecond=0)),
        (array(timestamp_ltz(3)), STRING, [at], "[2021-09-24 14:34:56.100]"),
    ]
    for own, wanted, value, expected in cases:
        check(lambda a, wanted=wanted: a.cast(wanted), [own], [((value,), expected), ((None,), None)], zone=BERLIN)


REFUSED: list[tuple[LogicalType, list[LogicalType]]] = [
    (BOOLEAN, [BINARY_STRING, DATE, time(0), timestamp(3), timestamp_ltz(3), MONTH_INTERVAL, array(INT), PAIR]),
    (BINARY_STRING, [BOOLEAN, INT, decimal(5, 3), DOUBLE, DATE, time(0), timestamp(3), array(INT)]),
    (INT, [BINARY_STRING, DATE, time(0), timestamp(3), timestamp_ltz(3), array(INT), map_of(INT, INT), PAIR]),
    (DOUBLE, [BOOLEAN, BINARY_STRING, DATE, timestamp(3), MONTH_INTERVAL]),
    (decimal(5, 3), [BOOLEAN, BINARY_STRING, DATE, timestamp(3)]),
    (DATE, [BOOLEAN, INT, decimal(5, 3), DOUBLE, time(0), BINARY_STRING]),
    (time(0), [BOOLEAN, INT, DATE, DOUBLE]),
    (timestamp(3), [BOOLEAN, INT, BIGINT, decimal(5, 3), DOUBLE, BINARY_STRING]),
    (timestamp_ltz(3), [BOOLEAN, BIGINT, DOUBLE]),
    (day_interval(3), [DATE, timestamp(3), MONTH_INTERVAL, DOUBLE]),
    (STRING, [array(INT), map_of(STRING, STRING), PAIR, MONTH_INTERVAL]),
    (array(INT), [INT, map_of(INT, INT), PAIR, array(DATE)]),
    (PAIR, [row([("a", INT), ("b", STRING), ("c", INT)]), array(INT), row([("a", DATE)])]),
]


@pytest.mark.parametrize(("own", "wanted"), [(own, wanted) for own, kinds in REFUSED for wanted in kinds])
def test_casts_that_sql_does_not_have_are_refused(own: LogicalType, wanted: LogicalType) -> None:
    for made in (col("a").cast(wanted), col("a").try_cast(wanted)):
        with pytest.raises(InvalidExpressionError, match="cannot be cast to"):
            type_of(made, {"a": (own, [])})


def test_refusals_of_times_and_numbers_have_advice() -> None:
    with pytest.raises(InvalidExpressionError, match=r"use to_timestamp_ltz\(\)"):
        type_of(col("a").cast(timestamp(3)), {"a": (BIGINT, [])})
    with pytest.raises(InvalidExpressionError, match=r"use unix_timestamp\(\)"):
        type_of(col("a").cast(BIGINT), {"a": (timestamp(3), [])})


def test_nullability_of_results() -> None:
    never: Columns = {"a": (INT.nulls(False), [])}
    maybe: Columns = {"a": (INT, [])}
    assert type_of(col("a").cast(BIGINT), never) == BIGINT.nulls(False)
    assert type_of(col("a").cast(BIGINT.nulls(False)), maybe) == BIGINT
    assert type_of(col("a").try_cast(BIGINT), never) == BIGINT
    assert type_of(col("a").cast(decimal(10, 0)), never) == decimal(10, 0).nulls(False)
    assert type_of(col("a").cast(decimal(9, 0)), never) == decimal(9, 0)  # NULL for too many digits
    assert type_of(lit(None).cast(INT), {}) == INT
    assert type_of(col("a").cast(INT), {"a": (NULL, [])}) == INT


@given(st.floats())
def test_doubles_come_back_from_their_texts(value: float) -> None:
    column = {"a": (DOUBLE, [value])}
    made = evaluate(col("a").cast(STRING), column).to_pylist()[0]
    assert "." in made or made in ("NaN", "Infinity", "-Infinity")
    assert ("E" in made) == (math.isfinite(value) and value != 0 and not 1e-3 <= abs(value) < 1e7)
    back = evaluate(col("a").cast(STRING).cast(DOUBLE), column).to_pylist()[0]
    assert repr(back) == repr(value)


@given(st.floats(width=32))
def test_floats_come_back_from_their_texts(value: float) -> None:
    back = evaluate(col("a").cast(STRING).cast(FLOAT), {"a": (FLOAT, [value])}).to_pylist()[0]
    assert repr(back) == repr(value)


@given(
    st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p), st.integers(1 - 10**p, 10**p - 1)))
)
def test_decimals_come_back_from_their_texts(given: tuple[int, int, int]) -> None:
    precision, scale, digits = given
    kind = decimal(precision, scale)
    value = Decimal((digits < 0, tuple(map(int, str(abs(digits)))), -scale))
    column = {"a": (kind, [value])}
    made = evaluate(col("a").cast(STRING), column).to_pylist()
    assert made == [f"{value:f}" if value else f"{abs(value):f}"]
    assert evaluate(col("a").cast(STRING).cast(kind), column).to_pylist() == [value]


@given(st.floats(), st.sampled_from([TINYINT, SMALLINT, INT, BIGINT]))
def test_floats_become_integers_as_in_java(value: float, kind: LogicalType) -> None:
    bits = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}[kind]
    half = 2 ** (max(bits, 32) - 1)
    exact = 0 if math.isnan(value) else half - 1 if value >= half else -half if value <= -half else int(value)
    narrow = (exact + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
    assert evaluate(col("a").cast(kind), {"a": (DOUBLE, [value])}).to_pylist() == [narrow]


@given(st.datetimes(), st.integers(0, 6))
def test_timestamps_come_back_from_their_texts(value: dt.datetime, precision: int) -> None:
    step = 10 ** (6 - precision)
    value = value.replace(microsecond=value.microsecond // step * step)
    kind = timestamp(precision)
    back = evaluate(col("a").cast(STRING).cast(kind), {"a": (kind, [value])}).to_pylist()
    assert back == [value]
