"""Conversions between times, texts and numbers, with the values of Flink's documentation and rules."""

from __future__ import annotations

import datetime
import pickle
import time
import zoneinfo
from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns import logical_types as types
from headgate.columns.logical_types import BIGINT, DATE, DOUBLE, INT, STRING, LogicalType
from headgate.columns.nodes import Call
from headgate.columns.program import ColumnProgram
from headgate.columns.resolve import ExpressionScope
from headgate.columns.schema import Schema
from headgate.errors import InvalidExpressionError
from headgate.table import expressions as functions
from headgate.table.expression import Expression
from headgate.table.expressions import col, lit, null_of
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of

SECONDS, MILLIS, MICROS = (types.timestamp(digits) for digits in (0, 3, 6))
LOCAL = types.timestamp_ltz(3)
UTC = zoneinfo.ZoneInfo("UTC")
NEW_YORK, BERLIN, TOKYO = "America/New_York", "Europe/Berlin", "Asia/Tokyo"


def at(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def utc(text: str) -> datetime.datetime:
    return at(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("current_date", DATE),
        ("current_time", types.time(0)),
        ("local_time", types.time(0)),
        ("current_timestamp", LOCAL),
        ("local_timestamp", MILLIS),
    ],
)
def test_the_time_is_the_same_for_all_rows_of_a_batch(function: str, kind: LogicalType) -> None:
    expression = getattr(functions, function)()
    assert type_of(expression, {}) == kind.nulls(nullable=False)
    found = evaluate(expression, {"n": (INT, [1, 2, 3])}, TOKYO)
    assert found.type == kind.arrow
    assert len(found) == 3
    assert len(found.unique()) == 1


def test_the_time_is_that_of_the_zone_of_the_session() -> None:
    before = datetime.datetime.now(UTC).replace(microsecond=0)
    point, local, day = (
        evaluate(getattr(functions, name)(), {}, TOKYO)[0].as_py()
        for name in ("current_timestamp", "local_timestamp", "current_date")
    )
    after = datetime.datetime.now(UTC)
    assert before <= point <= after
    shown = local.replace(tzinfo=zoneinfo.ZoneInfo(TOKYO))
    assert before <= shown <= after
    assert day in (before.astimezone(shown.tzinfo).date(), after.astimezone(shown.tzinfo).date())
    assert evaluate(Expression(Call("now", ())), {})[0].as_py() >= before


def test_the_time_is_asked_for_at_each_batch_and_not_when_the_program_is_built() -> None:
    typed = ExpressionScope(Schema([("n", INT)])).typed(functions.current_timestamp().node)
    program = pickle.loads(pickle.dumps(ColumnProgram([typed])))  # noqa: S301  # as slots get it
    batch = pa.RecordBatch.from_pydict({"n": pa.array([1], pa.int32())})
    first = program.columns(batch)[0]
    deadline = time.monotonic() + 5
    while program.columns(batch)[0] == first and time.monotonic() < deadline:
        pass
    assert program.columns(batch)[0][0].as_py() > first[0].as_py()


DATES: list[tuple[str, str | None, date | None]] = [
    ("2024-02-29", None, date(2024, 2, 29)),
    ("2024-2-9", None, date(2024, 2, 9)),
    ("2024-02", None, date(2024, 2, 1)),
    ("2024", None, date(2024, 1, 1)),
    (" 2024-02-29 ", None, date(2024, 2, 29)),
    ("2017-12-12 09:30:00.0", None, date(2017, 12, 12)),
    ("0001-01-01", None, date(1, 1, 1)),
    ("1582-10-10", None, date(1582, 10, 10)),
    ("9999-12-31", None, date(9999, 12, 31)),
    ("2023-02-29", None, None),
    ("2024-13-01", None, None),
    ("2024-00-10", None, None),
    ("2024-01-00", None, None),
    ("", None, None),
    ("tomorrow", None, None),
    ("\uff12\uff10\uff12\uff14-01-01", None, None),
    ("29/02/2024", "dd/MM/yyyy", date(2024, 2, 29)),
    ("20240229", "yyyyMMdd", date(2024, 2, 29)),
    ("29 Feb 2024", "dd MMM yyyy", date(2024, 2, 29)),
    ("February 29, 2024", "MMMM d, yyyy", date(2024, 2, 29)),
    ("24.2.9", "yy.M.d", date(2024, 2, 9)),
    ("2024-02-29", "dd/MM/yyyy", None),
    ("at 2024", "'at' yyyy", date(2024, 1, 1)),
    ("a(b)2024", "'a(b)'yyyy", date(2024, 1, 1)),
]


@pytest.mark.parametrize(("text", "pattern", "expected"), DATES)
def test_to_date(text: str, pattern: str | None, expected: date | None) -> None:
    check(lambda value: functions.to_date(value, pattern), [STRING], [((text,), expected), ((None,), None)], DATE)


TIMESTAMPS: list[tuple[str, str | None, str | None]] = [
    ("2024-02-29 12:34:56", None, "2024-02-29 12:34:56"),
    ("2024-02-29 12:34:56.1", None, "2024-02-29 12:34:56.100"),
    ("2024-02-29 12:34:56.123456789", None, "2024-02-29 12:34:56.123"),
    ("2024-2-9 1:2:3", None, "2024-02-09 01:02:03"),
    ("2024-02-29", None, "2024-02-29"),
    ("1969-12-31 23:59:59.999", None, "1969-12-31 23:59:59.999"),
    ("1500-03-01 00:00:00", None, "1500-03-01"),
    ("2023-02-29 00:00:00", None, None),
    ("2024-02-29 24:00:00", None, None),
    ("2024-02-29 12:60:00", None, None),
    ("2024-02-29T12:00:00", None, None),
    ("nonsense", None, None),
    ("2024-02-29T12:34:56", "yyyy-MM-dd'T'HH:mm:ss", "2024-02-29 12:34:56"),
    ("29.02.2024 12:34", "dd.MM.yyyy HH:mm", "2024-02-29 12:34"),
    ("20240229123456789", "yyyyMMddHHmmssSSS", "2024-02-29 12:34:56.789"),
    ("02/29/2024 03:07 PM", "MM/dd/yyyy hh:mm a", "2024-02-29 15:07"),
    ("02/29/2024 12:07 AM", "MM/dd/yyyy hh:mm a", "2024-02-29 00:07"),
    ("02/29/2024 13:07 AM", "MM/dd/yyyy hh:mm a", None),
    ("1999-9-10 05:20:10", "yyyy/MM/dd", "1999-09-10 05:20:10"),
    ("1999-9-10", "yyyy/MM/dd", "1999-09-10"),
    ("12:30", "HH:mm", "1970-01-01 12:30"),
    ("2024-02-29 trailing", "yyyy-MM-dd", None),
]


@pytest.mark.parametrize(("text", "pattern", "expected"), TIMESTAMPS)
def test_to_timestamp(text: str, pattern: str | None, expected: str | None) -> None:
    rows = [((text,), None if expected is None else at(expected)), ((None,), None)]
    check(lambda value: functions.to_timestamp(value, pattern), [STRING], rows, MILLIS)


def test_texts_are_read_alike_whether_all_of_them_are_plain_or_not() -> None:
    plain = ["2024-02-29 12:34:56", "1000-01-01 00:00:00", None, "9999-12-31 23:59:59"]
    odd = [
        "2023-02-29 12:00:00",
        "0000-01-01 00:00:00",
        "2024-01-01 24:00:00",
        "2024-1-1 1:2:3.5",
        "2024-01-01 00:00:60",
    ]
    times = [None if own is None else at(own) for own in plain]
    for pattern in (None, "yyyy-MM-dd HH:mm:ss"):
        made = functions.to_timestamp(col("text"), pattern)
        assert evaluate(made, {"text": (STRING, plain)}).to_pylist() == times
        found = evaluate(made, {"text": (STRING, [*odd, *plain])}).to_pylist()
        assert found == [None, None, None, at("2024-01-01 01:02:03.500"), None, *times]
        for text, expected in zip(odd, found, strict=False):
            assert evaluate(made, {"text": (STRING, [text])}).to_pylist() == [expected], text


@pytest.mark.parametrize(
    ("kind", "value", "digits", "expected", "result"),
    [
        (INT, 100, 0, utc("1970-01-01 00:01:40"), 3),
        (BIGINT, 1_234_567_890_123, 3, utc("2009-02-13 23:31:30.123"), 3),
        (BIGINT, 1_234_567_890_123, None, utc("2009-02-13 23:31:30.123"), 3),
        (BIGINT, -1, 3, utc("1969-12-31 23:59:59.999"), 3),
        (BIGINT, 1_234_567_890_123_456, 6, utc("2009-02-13 23:31:30.123456"), 6),
        (BIGINT, 12, 1, utc("1970-01-01 00:00:01.200"), 3),
        (BIGINT, 12_345, 4, utc("1970-01-01 00:00:01.234500"), 4),
        (BIGINT, -62_135_596_800, 0, utc("0001-01-01"), 3),
        (BIGINT, 253_402_300_799, 0, utc("9999-12-31 23:59:59"), 3),
        (BIGINT, 253_402_300_800, 0, None, 3),
        (BIGINT, -62_135_596_801, 0, None, 3),
        (DOUBLE, 1.5, 0, utc("1970-01-01 00:00:01.500"), 3),
        (DOUBLE, 1500.7, 3, utc("1970-01-01 00:00:01.500"), 3),
    ],
)
def test_to_timestamp_ltz_of_numbers(
    kind: LogicalType, value: Any, digits: int | None, expected: Any, result: int
) -> None:
    arguments = () if digits is None else (digits,)
    rows = [((value,), expected), ((None,), None)]
    check(lambda n: functions.to_timestamp_ltz(n, *arguments), [kind], rows, types.timestamp_ltz(result), TOKYO)


def test_to_timestamp_ltz_of_texts() -> None:
    make = functions.to_timestamp_ltz
    rows = [(("2024-02-29 12:00:00.123",), utc("2024-02-29 12:00:00.123")), (("no",), None), ((None,), None)]
    check(make, [STRING], rows, LOCAL, TOKYO)
    check(lambda text: make(text, "MM/dd/yyyy"), [STRING], [(("01/02/2023",), utc("2023-01-02"))], LOCAL, TOKYO)
    rows = [
        (("2024-03-10 02:30:00",), utc("2024-03-10 07:30:00")),
        (("2024-11-03 01:30:00",), utc("2024-11-03 05:30:00")),
    ]
    check(lambda text: make(text, "yyyy-MM-dd HH:mm:ss", NEW_YORK), [STRING], rows, LOCAL, TOKYO)
    rows = [(("2024-01-01 00:00:00.123456",), utc("2024-01-01 00:00:00.123456"))]
    check(lambda text: make(text, "yyyy-MM-dd HH:mm:ss.SSSSSS"), [STRING], rows, types.timestamp_ltz(6))
    rows = [
        (("2024-01-01 00:00:00 +02:30",), utc("2023-12-31 21:30:00")),
        (("2024-01-01 00:00:00 Z",), utc("2024-01-01")),
    ]
    check(lambda text: make(text, "yyyy-MM-dd HH:mm:ss X"), [STRING], rows, LOCAL, TOKYO)


FORMATTED: list[tuple[LogicalType, Any, str, str]] = [
    (MILLIS, at("2024-02-29 15:07:08.009"), "yyyy-MM-dd HH:mm:ss.SSS", "2024-02-29 15:07:08.009"),
    (MICROS, at("2024-02-29 15:07:08.123456"), "S SS SSSSSS SSSSSSSSS", "1 12 123456 123456000"),
    (SECONDS, at("2024-02-29 15:07:08"), "yyyy-MM-dd'T'HH:mm:ss''", "2024-02-29T15:07:08'"),
    (SECONDS, at("2024-02-09 05:07:08"), "y/M/d H:m:s", "2024/2/9 5:7:8"),
    (SECONDS, at("2024-02-09 00:07:08"), "yy h hh k kk K KK a", "24 12 12 24 24 0 00 AM"),
    (SECONDS, at("2024-02-09 13:07:08"), "h K k a", "1 1 13 PM"),
    (SECONDS, at("2024-02-09 12:07:08"), "h K k a", "12 0 12 PM"),
    (SECONDS, at("2024-02-29 00:00:00"), "E EEE EEEE MMM MMMM D DDD", "Thu Thu Thursday Feb February 60 060"),
    (SECONDS, at("1582-10-14 23:59:58"), "yyyyMMddHHmmss", "15821014235958"),
    (SECONDS, at("0001-01-01 00:00:00"), "yyyy", "0001"),
    (MILLIS, at("1969-12-31 23:59:59.999"), "HH:mm:ss.SSS", "23:59:59.999"),
    (MILLIS, at("2024-01-01 00:00:00"), "'only text'", "only text"),
    (DATE, date(2024, 2, 29), "dd.MM.yyyy HH", "29.02.2024 00"),
    (LOCAL, utc("2024-03-10 06:59:59"), "HH:mm", "01:59"),
    (LOCAL, utc("2024-03-10 07:00:00"), "HH:mm", "03:00"),
    (LOCAL, utc("2024-11-03 05:30:00"), "HH:mm", "01:30"),
    (LOCAL, utc("2024-11-03 06:30:00"), "HH:mm", "01:30"),
    (STRING, "2024-02-29 15:07:08", "MM/dd/yyyy", "02/29/2024"),
]


@pytest.mark.parametrize(("kind", "value", "pattern", "expected"), FORMATTED)
def test_date_format(kind: LogicalType, value: Any, pattern: str, expected: str) -> None:
    rows = [((value,), expected), ((None,), None)]
    check(lambda given: functions.date_format(given, pattern), [kind], rows, STRING, NEW_YORK)


def test_a_text_that_is_no_time_has_no_format() -> None:
    check(
        lambda text: functions.date_format(text, "yyyy"),
        [STRING],
        [(("no",), None), (("2024-01-01 00:00:00",), "2024")],
    )


def test_date_format_is_not_null_where_the_time_is_not() -> None:
    columns: Columns = {"at": (MILLIS.nulls(nullable=False), []), "text": (STRING.nulls(nullable=False), [])}
    assert type_of(functions.date_format(col("at"), "yyyy"), columns) == STRING.nulls(nullable=False)
    assert type_of(functions.date_format(col("text"), "yyyy"), columns) == STRING
    assert type_of(functions.date_format(col("at"), null_of(STRING)), columns) == STRING


@given(st.datetimes(datetime.datetime(1000, 1, 1)), st.sampled_from([BERLIN, NEW_YORK, "UTC"]))
def test_what_is_formatted_is_read_again(at: datetime.datetime, zone: str) -> None:
    pattern = "yyyy-MM-dd HH:mm:ss.SSS"
    own = at.replace(microsecond=at.microsecond // 1000 * 1000)
    text = functions.date_format(col("at"), pattern)
    columns: Columns = {"at": (MILLIS, [own])}
    assert evaluate(text, columns).to_pylist() == [own.isoformat(" ", "milliseconds")]
    assert evaluate(functions.to_timestamp(text, pattern), columns).to_pylist() == [own]
    assert evaluate(functions.to_timestamp(text), columns).to_pylist() == [own]
    point = evaluate(functions.to_timestamp_ltz(text, pattern, zone), columns)
    assert point[0].as_py() == own.replace(tzinfo=zoneinfo.ZoneInfo(zone)).astimezone(UTC)


@pytest.mark.parametrize("pattern", ["yyyy Z", "Q", "u", "yyyy-MM-ddTHH", "MMMMM", "'open", "n", "ww", "dddd"])
def test_letters_that_are_not_supported_are_refused_by_name(pattern: str) -> None:
    with pytest.raises(InvalidExpressionError, match=r"the pattern .* has "):
        type_of(functions.date_format(col("at"), pattern), {"at": (MILLIS, [])})


def test_patterns_are_constants() -> None:
    columns: Columns = {"at": (MILLIS, []), "pattern": (STRING, [])}
    with pytest.raises(InvalidExpressionError, match=r"argument 2 of date_format\(\) is a pattern"):
        type_of(functions.date_format(col("at"), col("pattern")), columns)
    with pytest.raises(InvalidExpressionError, match="a date, a timestamp or a text"):
        type_of(functions.date_format(col("n"), "yyyy"), {"n": (INT, [])})


def test_from_unixtime() -> None:
    rows: list[tuple[tuple[Any], str | None]] = [((44,), "1970-01-01 09:00:44"), ((-1,), "1970-01-01 08:59:59")]
    check(functions.from_unixtime, [BIGINT], [*rows, ((None,), None)], STRING, TOKYO)
    check(functions.from_unixtime, [INT.nulls(nullable=False)], rows, STRING.nulls(nullable=False), TOKYO)
    check(functions.from_unixtime, [DOUBLE], [((44.9,), "1970-01-01 00:00:44"), ((None,), None)], STRING)
    check(functions.from_unixtime, [types.decimal(10, 2)], [((None,), None)], STRING)
    given = [((1_710_054_000 - 1,), "01:59"), ((1_710_054_000,), "03:00")]
    check(lambda n: functions.from_unixtime(n, "HH:mm"), [BIGINT], given, STRING, NEW_YORK)


LEAST = -(2**63)
UNIX: list[tuple[str, str | None, str, int]] = [
    ("1970-01-01 00:00:44", None, "UTC", 44),
    ("1970-01-01 08:00:01.001", "yyyy-MM-dd HH:mm:ss.SSS", BERLIN, 25201),
    ("1970-01-01 08:00:01.001 +0800", "yyyy-MM-dd HH:mm:ss.SSS X", BERLIN, 1),
    ("1970-01-01 08:00:01.001 +0800", "yyyy-MM-dd HH:mm:ss.SSS", BERLIN, 25201),
    ("1970-01-01 08:00:01.001", "yyyy-MM-dd HH:mm:ss.SSS X", BERLIN, LEAST),
    ("1969-12-31 23:59:59", None, "UTC", -1),
    ("2024-03-31 02:30:00", None, BERLIN, 1_711_848_600),
    ("2024-10-27 02:30:00", None, BERLIN, 1_729_992_600),
    ("never", None, "UTC", LEAST),
    ("", None, "UTC", LEAST),
]


@pytest.mark.parametrize(("text", "pattern", "zone", "expected"), UNIX)
def test_unix_timestamp(text: str, pattern: str | None, zone: str, expected: int) -> None:
    rows = [((text,), expected), ((None,), None)]
    check(lambda value: functions.unix_timestamp(value, pattern), [STRING], rows, BIGINT, zone)


def test_unix_timestamp_of_now() -> None:
    before = int(time.time())
    found = evaluate(functions.unix_timestamp(), {"n": (INT, [1, 2])}, TOKYO).to_pylist()
    assert before <= found[0] == found[1] <= time.time()
    assert type_of(functions.unix_timestamp(), {}) == BIGINT.nulls(nullable=False)


CONVERTED: list[tuple[str, str, str, str | None]] = [
    ("1970-01-01 00:00:00", "UTC", "America/Los_Angeles", "1969-12-31 16:00:00"),
    ("1970-01-01 00:00:00", "GMT-08:00", "UTC", "1970-01-01 08:00:00"),
    ("2024-07-01 00:00:00", "PST", "UTC", "2024-07-01 07:00:00"),
    ("2024-03-31 02:30:00", BERLIN, "UTC", "2024-03-31 01:30:00"),
    ("2024-10-27 02:30:00", BERLIN, "UTC", "2024-10-27 01:30:00"),
    ("2024-10-27 00:30:00", "UTC", BERLIN, "2024-10-27 02:30:00"),
    ("2024-10-27 01:30:00", "UTC", BERLIN, "2024-10-27 02:30:00"),
    ("2050-07-01 12:00:00", "UTC", NEW_YORK, "2050-07-01 08:00:00"),
    ("no time", "UTC", BERLIN, None),
]


@pytest.mark.parametrize(("text", "own", "other", "expected"), CONVERTED)
def test_convert_tz(text: str, own: str, other: str, expected: str | None) -> None:
    check(
        lambda value: functions.convert_tz(value, own, other), [STRING], [((text,), expected), ((None,), None)], STRING
    )


def test_zones_are_constants_that_exist() -> None:
    columns: Columns = {"text": (STRING, []), "zone": (STRING, [])}
    with pytest.raises(InvalidExpressionError, match="there is no time zone 'Mars/Olympus'"):
        type_of(functions.convert_tz(col("text"), "Mars/Olympus", "UTC"), columns)
    with pytest.raises(InvalidExpressionError, match=r"argument 3 of convert_tz\(\) is a time zone"):
        type_of(functions.convert_tz(col("text"), "UTC", col("zone")), columns)
    assert evaluate(functions.convert_tz(lit("2024-01-01 00:00:00"), null_of(STRING), "UTC"), {}).to_pylist() == [None]


def test_the_attributes_are_casts() -> None:
    for name, kind in (("to_date", DATE), ("to_time", types.time(0)), ("to_timestamp", MILLIS)):
        assert repr(getattr(col("text"), name)) == f"cast(text as {kind})"
