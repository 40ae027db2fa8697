"""Intervals, and arithmetic of times: calendars, days of changed clocks, and types."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable
from datetime import date, time, timedelta
from operator import add as plus
from operator import mul as times
from operator import neg as negate
from operator import sub as minus
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns import logical_types as types
from headgate.columns.logical_types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, MONTH_INTERVAL, STRING, LogicalType
from headgate.columns.nodes import Call
from headgate.errors import InvalidExpressionError
from headgate.table.expression import Expression, TimePointUnit
from headgate.table.expressions import col, lit, temporal_overlaps, timestamp_diff
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of

DAYS = types.day_interval(3)
SECONDS, MILLIS, MICROS, NANOS = (types.timestamp(digits) for digits in (0, 3, 6, 9))
LOCAL = types.timestamp_ltz(3)
NEW_YORK, BERLIN = "America/New_York", "Europe/Berlin"


def at(text: str, zone: str | None = None) -> datetime.datetime:
    found = datetime.datetime.fromisoformat(text)
    return found if zone is None else found.replace(tzinfo=zoneinfo.ZoneInfo(zone)).astimezone(zoneinfo.ZoneInfo("UTC"))


def timestamp_add(unit: str) -> Callable[[Expression, Expression], Expression]:
    return lambda count, point: Expression(Call("timestamp_add", (count.node, point.node), (unit,)))


@pytest.mark.parametrize(
    ("maker", "kind", "one"),
    [
        ("year", MONTH_INTERVAL, 12),
        ("years", MONTH_INTERVAL, 12),
        ("quarter", MONTH_INTERVAL, 3),
        ("quarters", MONTH_INTERVAL, 3),
        ("month", MONTH_INTERVAL, 1),
        ("months", MONTH_INTERVAL, 1),
        ("week", DAYS, timedelta(7)),
        ("weeks", DAYS, timedelta(7)),
        ("day", DAYS, timedelta(1)),
        ("days", DAYS, timedelta(1)),
        ("hour", DAYS, timedelta(hours=1)),
        ("hours", DAYS, timedelta(hours=1)),
        ("minute", DAYS, timedelta(minutes=1)),
        ("minutes", DAYS, timedelta(minutes=1)),
        ("second", DAYS, timedelta(seconds=1)),
        ("seconds", DAYS, timedelta(seconds=1)),
        ("milli", DAYS, timedelta(milliseconds=1)),
        ("millis", DAYS, timedelta(milliseconds=1)),
    ],
)
def test_makers_of_intervals(maker: str, kind: LogicalType, one: Any) -> None:
    rows = [((count,), one * count) for count in (0, 1, -3, 100)] + [((None,), None)]
    check(lambda count: getattr(count, maker), [INT], rows, kind)
    check(lambda count: getattr(count, maker), [types.TINYINT.nulls(nullable=False)], rows[:3], kind.nulls(False))
    check(lambda count: getattr(count, maker), [BIGINT], rows, kind)


def test_intervals_are_made_of_integers() -> None:
    for kind in (DOUBLE, STRING):
        with pytest.raises(InvalidExpressionError, match=r"days\(\) takes an integer"):
            type_of(col("n").days, {"n": (kind, [])})
    assert evaluate(lit(None, INT).days, {}).to_pylist() == [None]


PLUS: list[tuple[LogicalType, LogicalType, list[tuple[tuple[Any, Any], Any]]]] = [
    (
        DATE,
        DAYS,
        [
            ((date(2024, 2, 28), timedelta(2)), date(2024, 3, 1)),
            ((date(1582, 10, 4), timedelta(1)), date(1582, 10, 5)),  # no day is left out
            ((date(1, 1, 1), timedelta(1)), date(1, 1, 2)),
            ((date(1969, 12, 31), timedelta(1)), date(1970, 1, 1)),
            ((date(2024, 1, 1), timedelta(hours=47)), date(2024, 1, 2)),
            ((date(2024, 1, 1), timedelta(hours=-47)), date(2023, 12, 31)),
            ((date(2024, 1, 1), None), None),
            ((None, timedelta(1)), None),
        ],
    ),
    (
        DATE,
        MONTH_INTERVAL,
        [
            ((date(2024, 1, 31), 1), date(2024, 2, 29)),
            ((date(2023, 1, 31), 1), date(2023, 2, 28)),
            ((date(1900, 1, 31), 1), date(1900, 2, 28)),
            ((date(2024, 2, 29), 12), date(2025, 2, 28)),
            ((date(2024, 3, 31), -1), date(2024, 2, 29)),
            ((date(1500, 1, 31), 1), date(1500, 2, 28)),
            ((date(1970, 1, 15), -1), date(1969, 12, 15)),
            ((date(1, 1, 31), 13), date(2, 2, 28)),
            ((date(2024, 1, 31), None), None),
        ],
    ),
    (
        MILLIS,
        DAYS,
        [
            ((at("2024-03-10 01:30:00"), timedelta(hours=1)), at("2024-03-10 02:30:00")),
            ((at("1969-12-31 23:59:59.999"), timedelta(milliseconds=1)), at("1970-01-01")),
            ((at("1400-02-28 23:00:00"), timedelta(hours=2)), at("1400-03-01 01:00:00")),
        ],
    ),
    (
        MICROS,
        DAYS,
        [((at("2024-01-01 00:00:00.000001"), timedelta(milliseconds=-1)), at("2023-12-31 23:59:59.999001"))],
    ),
    (
        MILLIS,
        MONTH_INTERVAL,
        [
            ((at("2024-01-31 23:59:59.999"), 1), at("2024-02-29 23:59:59.999")),
            ((at("1969-12-31 12:00:00"), 2), at("1970-02-28 12:00:00")),
        ],
    ),
    (
        types.time(0),
        DAYS,
        [((time(23, 30), timedelta(hours=1)), time(0, 30)), ((time(0, 30), timedelta(hours=-25)), time(23, 30))],
    ),
    (
        LOCAL,
        DAYS,
        [
            (
                (at("2024-03-09 12:00:00", NEW_YORK), timedelta(1)),
                at("2024-03-10 13:00:00", NEW_YORK),
            )
        ],
    ),
    (
        LOCAL,
        MONTH_INTERVAL,
        [
            ((at("2024-02-10 02:30:00", NEW_YORK), 1), at("2024-03-10 03:30:00", NEW_YORK)),
            ((at("2024-01-31 23:00:00", NEW_YORK), 1), at("2024-02-29 23:00:00", NEW_YORK)),
            ((at("2024-05-03 12:00:00", NEW_YORK), 6), at("2024-11-03 12:00:00", NEW_YORK)),
        ],
    ),
    (DAYS, DAYS, [((timedelta(1), timedelta(hours=-2)), timedelta(hours=22)), ((None, timedelta(1)), None)]),
    (MONTH_INTERVAL, MONTH_INTERVAL, [((1, 12), 13), ((-1, None), None)]),
]


@pytest.mark.parametrize(("own", "by", "rows"), PLUS)
def test_a_time_plus_and_minus_an_interval(
    own: LogicalType, by: LogicalType, rows: list[tuple[tuple[Any, Any], Any]]
) -> None:
    result = types.time(3) if own == types.time(0) else own
    check(plus, [own, by], rows, result, NEW_YORK)
    check(lambda one, other: other + one, [own, by], rows, result, NEW_YORK)
    negative = [((one, None if other is None else -other), found) for (one, other), found in rows]
    check(minus, [own, by], negative, result, NEW_YORK)


def test_the_result_has_the_precision_of_the_interval_where_it_needs_it() -> None:
    columns: Columns = {
        "at": (SECONDS, [at("2024-01-01 12:00:00")]),
        "n": (INT, [500]),
        "of": (types.time(0), [time(1)]),
    }
    assert type_of(plus(col("at"), lit(2).hours), columns) == SECONDS.nulls()
    assert evaluate(plus(col("at"), lit(2).hours), columns).to_pylist() == [at("2024-01-01 14:00:00")]
    assert type_of(plus(col("at"), lit(500).millis), columns) == MILLIS
    assert evaluate(plus(col("at"), lit(500).millis), columns).to_pylist() == [at("2024-01-01 12:00:00.500")]
    assert type_of(plus(col("at"), col("n").millis), columns) == MILLIS
    assert type_of(minus(col("of"), lit(1).minutes), columns) == types.time(0)
    assert evaluate(minus(col("of"), lit(1).minutes), columns).to_pylist() == [time(0, 59)]


DIFFERENCES: list[tuple[list[LogicalType], list[tuple[tuple[Any, Any], Any]], int]] = [
    ([DATE, DATE], [((date(2024, 3, 1), date(2024, 2, 28)), timedelta(2)), ((date(1, 1, 1), None), None)], 3),
    ([MILLIS, MILLIS], [((at("1969-12-31"), at("1970-01-01 00:00:00.001")), timedelta(-1, 0, -1000))], 3),
    ([MICROS, SECONDS], [((at("2024-01-01 00:00:00.000001"), at("2024-01-01")), timedelta(microseconds=1))], 6),
    ([DATE, MILLIS], [((date(2024, 1, 2), at("2024-01-01 23:00:00")), timedelta(hours=1))], 3),
    ([types.time(0), types.time(3)], [((time(1), time(2, 0, 0, 1000)), timedelta(hours=-1, milliseconds=-1))], 3),
    ([LOCAL, LOCAL], [((at("2024-03-11", BERLIN), at("2024-03-10", BERLIN)), timedelta(1))], 3),
    (
        [LOCAL, LOCAL],
        [((at("2024-04-01", BERLIN), at("2024-03-31", BERLIN)), timedelta(hours=23))],
        3,
    ),
]


@pytest.mark.parametrize(("kinds", "rows", "digits"), DIFFERENCES)
def test_the_difference_of_two_times(
    kinds: list[LogicalType], rows: list[tuple[tuple[Any, Any], Any]], digits: int
) -> None:
    check(minus, kinds, rows, types.day_interval(digits), BERLIN)


def test_multiples_of_intervals() -> None:
    rows: list[tuple[tuple[Any, ...], Any]] = [
        ((timedelta(1), 3), timedelta(3)),
        ((timedelta(1), -3), timedelta(-3)),
        ((timedelta(1), None), None),
    ]
    check(times, [DAYS, INT], rows, DAYS)
    check(lambda one, other: times(other, one), [DAYS, BIGINT], rows, DAYS)
    check(times, [MONTH_INTERVAL, INT], [((5, 4), 20)], MONTH_INTERVAL)
    check(times, [DAYS, DOUBLE], [((timedelta(1), 0.5), timedelta(hours=12))], DAYS)
    check(times, [MONTH_INTERVAL, DOUBLE], [((5, 0.5), 2), ((-5, 0.5), -2)], MONTH_INTERVAL)

    check(negate, [DAYS], [((timedelta(1),), timedelta(-1)), ((None,), None)], DAYS)
    check(negate, [MONTH_INTERVAL], [((12,), -12)], MONTH_INTERVAL)


@pytest.mark.parametrize(
    ("build", "one", "other"),
    [
        (plus, DATE, DATE),
        (plus, DATE, INT),
        (plus, DAYS, MONTH_INTERVAL),
        (plus, types.time(0), MONTH_INTERVAL),
        (minus, DAYS, DATE),
        (minus, DATE, types.time(0)),
        (times, DAYS, DAYS),
        (times, DATE, INT),
    ],
)
def test_operators_refuse_what_has_no_meaning(
    build: Callable[[Any, Any], Expression], one: LogicalType, other: LogicalType
) -> None:
    with pytest.raises(InvalidExpressionError, match="takes"):
        type_of(build(col("one"), col("other")), {"one": (one, []), "other": (other, [])})


ADDED: list[tuple[str, LogicalType, Any, int, Any, LogicalType]] = [
    ("YEAR", DATE, date(2024, 2, 29), 1, date(2025, 2, 28), DATE),
    ("QUARTER", DATE, date(2023, 11, 30), 1, date(2024, 2, 29), DATE),
    ("MONTH", MILLIS, at("2024-01-31 10:00:00"), -2, at("2023-11-30 10:00:00"), MILLIS),
    ("WEEK", DATE, date(2024, 1, 1), -1, date(2023, 12, 25), DATE),
    ("DAY", MICROS, at("2024-02-28"), 2, at("2024-03-01"), MICROS),
    ("HOUR", DATE, date(2024, 1, 1), 25, at("2024-01-02 01:00:00"), MICROS),
    ("MINUTE", MILLIS, at("2024-01-01"), -1, at("2023-12-31 23:59:00"), MILLIS),
    ("SECOND", MILLIS, at("2024-01-01"), 61, at("2024-01-01 00:01:01"), MILLIS),
]


@pytest.mark.parametrize(("unit", "kind", "point", "count", "expected", "result"), ADDED)
def test_timestamp_add(  # noqa: PLR0913  # a row of a table
    unit: str, kind: LogicalType, point: Any, count: int, expected: Any, result: LogicalType
) -> None:
    rows = [((count, point), expected), ((None, point), None), ((count, None), None)]
    check(timestamp_add(unit), [INT, kind], rows, result)


BETWEEN: list[tuple[str, LogicalType, Any, Any, int]] = [
    ("YEAR", DATE, date(2020, 2, 29), date(2024, 2, 28), 3),
    ("YEAR", DATE, date(2020, 2, 29), date(2024, 2, 29), 4),
    ("YEAR", DATE, date(2024, 2, 29), date(2020, 2, 29), -4),
    ("QUARTER", DATE, date(2023, 11, 30), date(2024, 2, 29), 1),
    ("MONTH", DATE, date(2024, 1, 31), date(2024, 2, 29), 1),
    ("MONTH", DATE, date(2024, 1, 31), date(2024, 3, 30), 1),
    ("MONTH", DATE, date(1582, 9, 15), date(1582, 10, 15), 1),
    ("MONTH", MILLIS, at("2024-01-15 12:00:00"), at("2024-02-15 11:59:59.999"), 0),
    ("MONTH", MILLIS, at("2024-02-15 11:59:59.999"), at("2024-01-15 12:00:00"), 0),
    ("MONTH", MILLIS, at("2024-01-15 12:00:00"), at("2024-02-15 12:00:00"), 1),
    ("WEEK", DATE, date(2024, 1, 1), date(2024, 1, 14), 1),
    ("DAY", DATE, date(2016, 6, 15), date(2016, 6, 18), 3),
    ("DAY", MILLIS, at("2024-01-02"), at("2024-01-01 00:00:00.001"), 0),
    ("DAY", MILLIS, at("1969-12-30"), at("1970-01-02"), 3),
    ("HOUR", DATE, date(2024, 1, 1), date(2024, 1, 3), 48),
    ("HOUR", LOCAL, at("2024-03-10", NEW_YORK), at("2024-03-11", NEW_YORK), 23),
    ("MONTH", LOCAL, at("2024-10-15", NEW_YORK), at("2024-11-15", NEW_YORK), 1),
    ("MINUTE", MICROS, at("2024-01-01"), at("2024-01-01 00:00:59.999999"), 0),
    ("SECOND", SECONDS, at("2024-01-01"), at("2023-12-31 23:59:01"), -59),
    ("SECOND", types.time(0), time(1), time(2), 3600),
]


@pytest.mark.parametrize(("unit", "kind", "one", "other", "expected"), BETWEEN)
def test_timestamp_diff(unit: str, kind: LogicalType, one: Any, other: Any, expected: int) -> None:
    rows = [((one, other), expected), ((None, other), None), ((one, None), None)]
    check(
        lambda first, second: timestamp_diff(TimePointUnit[unit], first, second),
        [kind] * 2,
        rows,
        INT,
        NEW_YORK,
    )


def test_timestamp_diff_names_the_units_it_knows() -> None:
    columns: Columns = {"at": (MILLIS, [])}
    with pytest.raises(InvalidExpressionError, match="no unit MICROSECOND: use one of YEAR"):
        type_of(timestamp_diff(TimePointUnit.MICROSECOND, col("at"), col("at")), columns)
    with pytest.raises(TypeError, match=r"TimePointUnit\.DAY"):
        timestamp_diff("DAY", col("at"), col("at"))  # type: ignore[arg-type]
    with pytest.raises(InvalidExpressionError, match="two dates or timestamps"):
        type_of(timestamp_diff(TimePointUnit.MONTH, col("of"), col("of")), {"of": (types.time(0), [])})


@given(st.datetimes(datetime.datetime(1, 1, 2)), st.integers(-400, 400))
def test_whole_months_between_undo_months_later(start: datetime.datetime, count: int) -> None:
    columns: Columns = {"at": (MICROS, [start]), "n": (INT, [count])}
    there = evaluate(timestamp_add("MONTH")(col("n"), col("at")), columns)
    back = evaluate(
        timestamp_diff(TimePointUnit.MONTH, col("at"), col("there")),
        {**columns, "there": (MICROS, [there.cast("int64")[0].as_py()])},
    )
    # From the 31st, a month back may be one of 30 days, so that one day less lies between.
    assert back[0].as_py() in ((count,) if start.day <= 28 else (count - 1, count, count + 1))


OVERLAPS: list[tuple[list[LogicalType], tuple[Any, ...], bool | None]] = [
    ([types.time(0), DAYS] * 2, (time(2, 55), timedelta(hours=1), time(3, 30), timedelta(hours=2)), True),
    ([types.time(0)] * 4, (time(9), time(9, 30), time(9, 29), time(9, 31)), True),
    ([*[types.time(0)] * 3, DAYS], (time(9), time(10), time(10, 15), timedelta(hours=3)), False),
    ([DATE, DAYS] * 2, (date(2011, 3, 10), timedelta(10), date(2011, 3, 19), timedelta(10)), True),
    ([DATE, MONTH_INTERVAL] * 2, (date(2011, 3, 10), 1, date(2011, 4, 11), 1), False),
    (
        [MILLIS, DAYS, MILLIS, MILLIS],
        (at("2011-03-10 05:02:02"), timedelta(0), at("2011-03-10 05:02:02"), at("2011-03-10 05:02:01")),
        True,
    ),
    ([DATE] * 4, (date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 2), date(2024, 1, 3)), True),
    ([LOCAL, DAYS] * 2, (at("2024-01-01", BERLIN), timedelta(1), at("2024-01-03", BERLIN), timedelta(-1)), True),
    ([DATE] * 4, (date(2024, 1, 1), None, date(2024, 1, 2), date(2024, 1, 3)), None),
]


@pytest.mark.parametrize(("kinds", "given", "expected"), OVERLAPS)
def test_temporal_overlaps(kinds: list[LogicalType], given: tuple[Any, ...], expected: bool | None) -> None:
    check(temporal_overlaps, kinds, [(given, expected)], BOOLEAN)


def test_temporal_overlaps_refuses_other_types() -> None:
    columns: Columns = {"n": (INT, []), "at": (MILLIS, []), "day": (DATE, [])}
    for arguments in (("n", "at", "at", "at"), ("at", "n", "at", "at"), ("day", "at", "day", "day")):
        with pytest.raises(InvalidExpressionError, match="a time and an interval"):
            type_of(temporal_overlaps(*map(col, arguments)), columns)
