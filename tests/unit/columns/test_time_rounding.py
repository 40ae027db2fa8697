"""EXTRACT, FLOOR and CEIL. Expected values that are no matter of zones are those of Flink's documentation."""

from __future__ import annotations

import datetime
import zoneinfo
from datetime import date, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns import logical_types as types
from headgate.columns.logical_types import BIGINT, BOOLEAN, DATE, INT, MONTH_INTERVAL, LogicalType
from headgate.errors import InvalidExpressionError
from headgate.table.expression import Expression, TimeIntervalUnit
from headgate.table.expressions import col, lit
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of

MICROS, NANOS = types.timestamp(6), types.timestamp(9)
LOCAL = types.timestamp_ltz(3)
UTC = zoneinfo.ZoneInfo("UTC")
EXTRACTED: dict[str, tuple[int, int, int]] = {
    "YEAR": (2000, 2020, 1582),
    "ISOYEAR": (2000, 2020, 1582),
    "QUARTER": (1, 1, 4),
    "MONTH": (1, 2, 10),
    "WEEK": (5, 9, 41),
    "DAY": (31, 29, 14),
    "DOY": (31, 60, 287),
    "DOW": (2, 7, 5),
    "ISODOW": (1, 6, 4),
    "DECADE": (200, 202, 158),
    "CENTURY": (20, 21, 16),
    "MILLENNIUM": (2, 3, 2),
    "HOUR": (11, 1, 23),
    "MINUTE": (22, 56, 59),
    "SECOND": (33, 59, 58),
    "MILLISECOND": (123, 987, 1),
    "MICROSECOND": (123456, 987654, 1002),
    "NANOSECOND": (123456000, 987654000, 1002000),
    "EPOCH": (949317753, 1582941419, -12219292802),
}
TIMES = (
    datetime.datetime(2000, 1, 31, 11, 22, 33, 123456),
    datetime.datetime(2020, 2, 29, 1, 56, 59, 987654),
    datetime.datetime(1582, 10, 14, 23, 59, 58, 1002),
)


def extract(unit: str) -> Any:
    return lambda value: value.extract(TimeIntervalUnit[unit])


def rounded(function: str, unit: str) -> Any:
    return lambda value: getattr(value, function)(TimeIntervalUnit[unit])


@pytest.mark.parametrize("unit", EXTRACTED)
def test_extract(unit: str) -> None:
    given = list(zip(TIMES, EXTRACTED[unit], strict=True))
    rows: list[tuple[tuple[Any], int | None]] = [((value,), found) for value, found in given]
    rows.append(((None,), None))
    check(extract(unit), [MICROS], rows, BIGINT)
    check(extract(unit), [MICROS.nulls(nullable=False)], rows[:3], BIGINT.nulls(nullable=False))
    utc = [((None if value is None else value.replace(tzinfo=UTC),), found) for (value,), found in rows]
    check(extract(unit), [types.timestamp_ltz(6)], utc, BIGINT)
    if unit in ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND"):
        check(extract(unit), [types.time(6)], [((value.time(),), found) for value, found in given], BIGINT)
    elif unit != "EPOCH":
        check(extract(unit), [DATE], [((value.date(),), found) for value, found in given], BIGINT)


ODD_DAYS: list[tuple[str, date, int]] = [
    ("WEEK", date(2021, 1, 3), 53),
    ("ISOYEAR", date(2021, 1, 3), 2020),
    ("WEEK", date(2019, 12, 30), 1),
    ("ISOYEAR", date(2019, 12, 30), 2020),
    ("DOW", date(2024, 1, 7), 1),
    ("DOW", date(1969, 12, 28), 1),
    ("ISODOW", date(2024, 1, 7), 7),
    ("CENTURY", date(2000, 12, 31), 20),
    ("CENTURY", date(2001, 1, 1), 21),
    ("MILLENNIUM", date(1, 1, 1), 1),
    ("DOY", date(2024, 12, 31), 366),
    ("EPOCH", date(1969, 12, 31), -86400),
    ("QUARTER", date(2024, 12, 1), 4),
]


@pytest.mark.parametrize(("unit", "day", "found"), ODD_DAYS)
def test_extract_of_odd_days(unit: str, day: date, found: int) -> None:
    check(extract(unit), [DATE], [((day,), found)], BIGINT)


@given(st.datetimes(), st.sampled_from(["America/New_York", "Europe/Berlin", "Australia/Lord_Howe"]))
def test_extract_shows_what_clocks_of_the_session_show(at: datetime.datetime, zone: str) -> None:
    try:
        local = at.replace(tzinfo=datetime.UTC).astimezone(zoneinfo.ZoneInfo(zone))
    except OverflowError:
        return
    columns: Columns = {"at": (types.timestamp_ltz(6), [at.replace(tzinfo=datetime.UTC)])}
    parts = {"YEAR": local.year, "MONTH": local.month, "DAY": local.day, "HOUR": local.hour, "MINUTE": local.minute}
    for unit, expected in {**parts, "SECOND": local.second, "WEEK": local.isocalendar().week}.items():
        assert evaluate(extract(unit)(col("at")), columns, zone).to_pylist() == [expected], unit


INTERVAL_PARTS: list[tuple[LogicalType, Any, dict[str, int]]] = [
    (
        types.day_interval(3),
        timedelta(days=3, hours=4, minutes=5, seconds=6, milliseconds=7),
        {"DAY": 3, "HOUR": 4, "MINUTE": 5, "SECOND": 6, "MILLISECOND": 7},
    ),
    (
        types.day_interval(6),
        -timedelta(days=3, hours=4, minutes=5, seconds=6, milliseconds=7),
        {"DAY": -3, "HOUR": -4, "MINUTE": -5, "SECOND": -6, "MILLISECOND": -7},
    ),
    (MONTH_INTERVAL, 27, {"YEAR": 2, "MONTH": 3}),
    (MONTH_INTERVAL, -27, {"YEAR": -2, "MONTH": -3}),
]


@pytest.mark.parametrize(("kind", "value", "parts"), INTERVAL_PARTS)
def test_extract_of_intervals(kind: LogicalType, value: Any, parts: dict[str, int]) -> None:
    for unit, found in parts.items():
        check(extract(unit), [kind], [((value,), found), ((None,), None)], BIGINT)


def test_extract_refuses_parts_that_are_not_there() -> None:
    columns: Columns = {
        "day": (DATE, []),
        "of": (types.time(0), []),
        "months": (MONTH_INTERVAL, []),
        "is": (BOOLEAN, []),
    }
    for name, unit in (("day", "NANOSECOND"), ("of", "DAY"), ("months", "DAY"), ("day", "DAY_TO_SECOND")):
        with pytest.raises(InvalidExpressionError, match=f"has no {unit}: extract one of"):
            type_of(extract(unit)(col(name)), columns)
    with pytest.raises(InvalidExpressionError, match="a date, time, timestamp or interval, not BOOLEAN"):
        type_of(extract("DAY")(col("is")), columns)
    with pytest.raises(TypeError, match=r"TimeIntervalUnit\.DAY"):
        col("day").extract("DAY")  # type: ignore[arg-type]
    assert type_of(extract("DAY")(lit(None)), {}) == BIGINT


DAY, NOW, OF_DAY = date(1990, 10, 14), datetime.datetime(2020, 2, 29, 1, 56, 59, 987654), time(11, 22, 33)
ROUNDED: list[tuple[str, Any, Any, Any]] = [
    ("MILLISECOND", OF_DAY, OF_DAY, OF_DAY),
    ("MILLISECOND", DAY, DAY, DAY),
    ("MILLISECOND", NOW, NOW.replace(microsecond=987000), NOW.replace(microsecond=988000)),
    ("SECOND", OF_DAY, OF_DAY, OF_DAY),
    ("SECOND", DAY, DAY, DAY),
    ("SECOND", NOW, datetime.datetime(2020, 2, 29, 1, 56, 59), datetime.datetime(2020, 2, 29, 1, 57)),
    ("MINUTE", OF_DAY, time(11, 22), time(11, 23)),
    ("MINUTE", NOW, datetime.datetime(2020, 2, 29, 1, 56), datetime.datetime(2020, 2, 29, 1, 57)),
    ("HOUR", OF_DAY, time(11), time(12)),
    ("HOUR", time(23, 30), time(23), time(0)),
    ("HOUR", DAY, DAY, DAY),
    ("HOUR", NOW, datetime.datetime(2020, 2, 29, 1), datetime.datetime(2020, 2, 29, 2)),
    ("DAY", DAY, DAY, DAY),
    ("DAY", NOW, datetime.datetime(2020, 2, 29), datetime.datetime(2020, 3, 1)),
    ("WEEK", DAY, DAY, DAY),
    ("WEEK", NOW, datetime.datetime(2020, 2, 23), datetime.datetime(2020, 3, 1)),
    ("WEEK", date(1969, 12, 31), date(1969, 12, 28), date(1970, 1, 4)),
    ("MONTH", DAY, date(1990, 10, 1), date(1990, 11, 1)),
    ("MONTH", NOW, datetime.datetime(2020, 2, 1), datetime.datetime(2020, 3, 1)),
    ("MONTH", datetime.datetime(1969, 12, 31, 12), datetime.datetime(1969, 12, 1), datetime.datetime(1970, 1, 1)),
    ("QUARTER", DAY, date(1990, 10, 1), date(1991, 1, 1)),
    ("QUARTER", NOW, datetime.datetime(2020, 1, 1), datetime.datetime(2020, 4, 1)),
    ("QUARTER", date(2020, 4, 1), date(2020, 4, 1), date(2020, 4, 1)),
    ("YEAR", DAY, date(1990, 1, 1), date(1991, 1, 1)),
    ("YEAR", datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1)),
    ("YEAR", date(1582, 10, 10), date(1582, 1, 1), date(1583, 1, 1)),
    ("DECADE", DAY, date(1990, 1, 1), date(2000, 1, 1)),
    ("DECADE", NOW, datetime.datetime(2020, 1, 1), datetime.datetime(2030, 1, 1)),
    ("CENTURY", DAY, date(1901, 1, 1), date(2001, 1, 1)),
    ("CENTURY", NOW, datetime.datetime(2001, 1, 1), datetime.datetime(2101, 1, 1)),
    ("CENTURY", date(2000, 12, 31), date(1901, 1, 1), date(2001, 1, 1)),
    ("MILLENNIUM", DAY, date(1001, 1, 1), date(2001, 1, 1)),
    ("MILLENNIUM", NOW, datetime.datetime(2001, 1, 1), datetime.datetime(3001, 1, 1)),
]


@pytest.mark.parametrize(("unit", "value", "below", "above"), ROUNDED)
def test_floor_and_ceil(unit: str, value: Any, below: Any, above: Any) -> None:
    kind = MICROS if isinstance(value, datetime.datetime) else DATE if isinstance(value, date) else types.time(0)
    for function, expected in (("floor", below), ("ceil", above)):
        check(rounded(function, unit), [kind], [((value,), expected), ((None,), None)], kind)


def test_nanoseconds_are_rounded() -> None:
    columns: Columns = {"at": (NANOS, [1_700_000_000_123_456_789])}
    found = [evaluate(rounded(how, "MILLISECOND")(col("at")), columns).cast("int64") for how in ("floor", "ceil")]
    assert [own.to_pylist() for own in found] == [[1_700_000_000_123_000_000], [1_700_000_000_124_000_000]]


CHANGES: list[tuple[str, str, str, str, str]] = [
    # zone, unit, and the UTC times of: the value, its floor, its ceil
    ("America/New_York", "DAY", "2024-03-10 16:00", "2024-03-10 05:00", "2024-03-11 04:00"),  # 23 hours
    ("America/New_York", "DAY", "2024-11-03 16:00", "2024-11-03 04:00", "2024-11-04 05:00"),  # 25 hours
    ("America/New_York", "HOUR", "2024-03-10 06:30", "2024-03-10 06:00", "2024-03-10 07:00"),
    ("America/New_York", "HOUR", "2024-11-03 05:30", "2024-11-03 05:00", "2024-11-03 06:00"),
    ("America/New_York", "HOUR", "2024-11-03 06:30", "2024-11-03 06:00", "2024-11-03 07:00"),
    ("America/New_York", "MONTH", "2024-03-20 00:00", "2024-03-01 05:00", "2024-04-01 04:00"),
    ("America/New_York", "WEEK", "2024-03-13 00:00", "2024-03-10 05:00", "2024-03-17 04:00"),
    ("Europe/Berlin", "DAY", "2024-03-31 12:00", "2024-03-30 23:00", "2024-03-31 22:00"),
    ("Europe/Berlin", "DAY", "2024-10-27 12:00", "2024-10-26 22:00", "2024-10-27 23:00"),
    ("Europe/Berlin", "HOUR", "2024-10-27 00:30", "2024-10-27 00:00", "2024-10-27 01:00"),
    ("Europe/Berlin", "HOUR", "2024-10-27 01:30", "2024-10-27 01:00", "2024-10-27 02:00"),
    ("Europe/Berlin", "YEAR", "2024-07-01 00:00", "2023-12-31 23:00", "2024-12-31 23:00"),
    ("Asia/Kolkata", "HOUR", "2024-07-01 00:00", "2024-06-30 23:30", "2024-07-01 00:30"),
    ("America/Havana", "DAY", "2024-03-10 12:00", "2024-03-10 05:00", "2024-03-11 04:00"),  # there is no 00:00
    ("America/Havana", "DAY", "2024-11-03 05:00", "2024-11-03 04:00", "2024-11-03 05:00"),  # 00:00 comes twice
]


@pytest.mark.parametrize(("zone", "unit", "value", "below", "above"), CHANGES)
def test_points_in_time_are_rounded_as_clocks_show_them(
    zone: str, unit: str, value: str, below: str, above: str
) -> None:
    at, floor, ceil = (datetime.datetime.fromisoformat(own).replace(tzinfo=UTC) for own in (value, below, above))
    check(rounded("floor", unit), [LOCAL], [((at,), floor), ((None,), None)], LOCAL, zone)
    check(rounded("ceil", unit), [LOCAL], [((at,), ceil), ((None,), None)], LOCAL, zone)


@given(
    st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1)),
    st.sampled_from(["America/New_York", "Europe/Berlin"]),
    st.sampled_from(["MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY"]),
)
def test_floor_and_ceil_enclose_the_value(at: datetime.datetime, zone: str, unit: str) -> None:
    own = at.replace(tzinfo=UTC)
    columns: Columns = {"at": (types.timestamp_ltz(6), [own])}
    below, above = (evaluate(rounded(how, unit)(col("at")), columns, zone)[0].as_py() for how in ("floor", "ceil"))
    assert below <= own <= above
    assert (below == own) == (above == own)
    again: Columns = {"at": (types.timestamp_ltz(6), [below])}
    for how in ("floor", "ceil"):
        assert evaluate(rounded(how, unit)(col("at")), again, zone)[0].as_py() == below


def test_rounding_needs_a_unit_that_the_type_has() -> None:
    columns: Columns = {"of": (types.time(0), []), "day": (DATE, []), "n": (INT, [])}
    build: list[Expression] = [
        rounded("floor", "DAY")(col("of")),
        col("day").floor(),
        rounded("ceil", "DOW")(col("day")),
    ]
    for expression in build:
        with pytest.raises(InvalidExpressionError, match="needs a unit: one of"):
            type_of(expression, columns)
