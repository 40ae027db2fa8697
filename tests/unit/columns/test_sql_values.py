"""Expressions in SQL text have the values and types that Flink's documentation and type rules give them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from headgate.columns.logical_types import BIGINT, INT, STRING
from headgate.table.expressions import call_sql
from tests.unit.columns.evaluate import Columns, evaluate, type_of

COLUMNS: Columns = {
    "a": (INT, [7, None]),
    "b": (BIGINT, [2, 0]),
    "name": (STRING, ["Flink", None]),
}

NUMBERS: list[tuple[str, Any, str]] = [
    ("1 + 2 * 3", 7, "INT NOT NULL"),
    ("(1 + 2) * 3", 9, "INT NOT NULL"),
    ("1 - 2 - 3", -4, "INT NOT NULL"),
    ("1 + 2.5", Decimal("3.5"), "DECIMAL(12, 1) NOT NULL"),
    ("1 + 3000000000", 3_000_000_001, "BIGINT NOT NULL"),
    ("7 / 2", 3, "INT NOT NULL"),
    ("-7 / 2", -3, "INT NOT NULL"),
    ("7 / 2.0", Decimal("3.500000"), "DECIMAL(17, 6) NOT NULL"),
    ("7 / 2e0", 3.5, "DOUBLE NOT NULL"),
    ("10.0 / 3", Decimal("3.333333333333"), "DECIMAL(14, 12) NOT NULL"),
    ("1.23 * 2.345", Decimal("2.88435"), "DECIMAL(8, 5) NOT NULL"),
    ("-7 % 3", -1, "INT NOT NULL"),
    ("MOD(7, -3)", 1, "INT NOT NULL"),
    ("2147483647 + 1", -2147483648, "INT NOT NULL"),
    ("- (5)", -5, "INT NOT NULL"),
    ("POWER(2, 10)", 1024.0, "DOUBLE NOT NULL"),
    ("ABS(-2.5)", Decimal("2.5"), "DECIMAL(2, 1) NOT NULL"),
    ("SQRT(16)", 4.0, "DOUBLE NOT NULL"),
    ("LOG(2, 8)", 3.0, "DOUBLE NOT NULL"),
    ("LOG10(100)", 2.0, "DOUBLE NOT NULL"),
    ("ROUND(2.5, 0)", Decimal("3"), "DECIMAL(2, 0) NOT NULL"),
    ("ROUND(123.456, 2)", Decimal("123.46"), "DECIMAL(6, 2) NOT NULL"),
    ("TRUNCATE(42.345, 2)", Decimal("42.34"), "DECIMAL(5, 2) NOT NULL"),
    ("FLOOR(-1.5)", Decimal("-2"), "DECIMAL(2, 0) NOT NULL"),
    ("CEILING(1.2)", Decimal("2"), "DECIMAL(2, 0) NOT NULL"),
    ("SIGN(-3)", -1, "INT NOT NULL"),
    ("BIN(4)", "100", "STRING NOT NULL"),
    ("HEX(20)", "14", "STRING NOT NULL"),
    ("HEX('hello,world')", "68656C6C6F2C776F726C64", "STRING NOT NULL"),
    ("GREATEST(1, 3, 2)", 3, "INT NOT NULL"),
    ("LEAST(1.5, 2)", Decimal("1.5"), "DECIMAL(11, 1) NOT NULL"),
]

LOGIC: list[tuple[str, Any, str]] = [
    ("1 = 1.0", True, "BOOLEAN NOT NULL"),
    ("1 <> 1", False, "BOOLEAN NOT NULL"),
    ("'a' < 'B'", False, "BOOLEAN NOT NULL"),
    ("'10' > 9", True, "BOOLEAN NOT NULL"),
    ("NULL = NULL", None, "BOOLEAN"),
    ("NULL IS NULL", True, "BOOLEAN NOT NULL"),
    ("NULL AND FALSE", False, "BOOLEAN"),
    ("NULL OR TRUE", True, "BOOLEAN"),
    ("NULL OR FALSE", None, "BOOLEAN"),
    ("NOT CAST(NULL AS BOOLEAN)", None, "BOOLEAN"),
    ("CAST(NULL AS BOOLEAN) IS NOT TRUE", True, "BOOLEAN NOT NULL"),
    ("FALSE OR TRUE AND FALSE", False, "BOOLEAN NOT NULL"),
    ("NOT FALSE AND FALSE", False, "BOOLEAN NOT NULL"),
    ("1 IN (2, NULL)", None, "BOOLEAN"),
    ("1 NOT IN (1, NULL)", False, "BOOLEAN"),
    ("5 BETWEEN 1 AND 5", True, "BOOLEAN NOT NULL"),
    ("5 NOT BETWEEN 1 AND 4", True, "BOOLEAN NOT NULL"),
    ("5 BETWEEN 5 AND 1", False, "BOOLEAN NOT NULL"),
    ("1 IS DISTINCT FROM NULL", True, "BOOLEAN NOT NULL"),
    ("NULL IS NOT DISTINCT FROM NULL", True, "BOOLEAN NOT NULL"),
    ("CASE WHEN 1 > 2 THEN 'a' ELSE 'bcd' END", "bcd", "VARCHAR(3) NOT NULL"),
    ("CASE 2 WHEN 1 THEN 'x' WHEN 2 THEN 'y' END", "y", "CHAR(1)"),
    ("CASE NULL WHEN NULL THEN 1 ELSE 2 END", 2, "INT NOT NULL"),
    ("IF(5 > 3, 5, 3)", 5, "INT NOT NULL"),
    ("COALESCE(NULL, 5)", 5, "INT NOT NULL"),
    ("NULLIF(5, 5)", None, "INT"),
    ("NULLIF(5, 0)", 5, "INT"),
    ("IFNULL(CAST(NULL AS INT), 0)", 0, "INT NOT NULL"),
]

CASTS: list[tuple[str, Any, str]] = [
    ("CAST('12' AS INT)", 12, "INT NOT NULL"),
    ("CAST(12 AS STRING)", "12", "STRING NOT NULL"),
    ("CAST(1.6 AS INT)", 1, "INT NOT NULL"),
    ("CAST(300 AS TINYINT)", 44, "TINYINT NOT NULL"),
    ("TRY_CAST('x' AS INT)", None, "INT"),
    ("TRY_CAST('2024-13-01' AS DATE)", None, "DATE"),
    ("CAST('true' AS BOOLEAN)", True, "BOOLEAN NOT NULL"),
    ("CAST(TRUE AS STRING)", "TRUE", "STRING NOT NULL"),
    ("CAST('2024-02-29' AS DATE)", datetime.date(2024, 2, 29), "DATE NOT NULL"),
    ("CAST(DATE '2024-02-29' AS TIMESTAMP(3))", datetime.datetime(2024, 2, 29), "TIMESTAMP(3) NOT NULL"),
    ("CAST(TIMESTAMP '2024-02-29 10:20:30.5' AS STRING)", "2024-02-29 10:20:30.5", "STRING NOT NULL"),
    ("CAST('abc' AS VARCHAR(2))", "ab", "VARCHAR(2) NOT NULL"),
    ("CAST('a' AS CHAR(3))", "a  ", "CHAR(3) NOT NULL"),
    ("CAST(X'61' AS STRING)", "a", "STRING NOT NULL"),
    ("CAST(NULL AS VARCHAR)", None, "STRING"),
]

TEXTS: list[tuple[str, Any]] = [
    ("'a' || 'b' || 'c'", "abc"),
    ("'a' || CAST(NULL AS STRING)", None),
    ("CONCAT('AA', 'BB', 'CC')", "AABBCC"),
    ("CONCAT_WS('~', 'AA', CAST(NULL AS STRING), 'BB', '', 'CC')", "AA~BB~~CC"),
    ("CHAR_LENGTH('größe')", 5),
    ("UPPER('straße')", "STRASSE"),
    ("INITCAP('hello wORLD')", "Hello World"),
    ("POSITION('b' IN 'abcb')", 2),
    ("INSTR('abcb', 'c')", 3),
    ("LOCATE('b', 'abcb', 3)", 4),
    ("TRIM('  a ')", "a"),
    ("TRIM(BOTH 'x' FROM 'xxaxx')", "a"),
    ("TRIM(LEADING FROM ' a ')", "a "),
    ("TRIM(TRAILING 'x' FROM 'xax')", "xa"),
    ("LTRIM(' This is a test String.')", "This is a test String."),
    ("RTRIM('This is a test String. ')", "This is a test String."),
    ("LPAD('hi', 4, '??')", "??hi"),
    ("LPAD('hi', 1, '??')", "h"),
    ("RPAD('hi', 4, '??')", "hi??"),
    ("SUBSTRING('hello world' FROM 7 FOR 3)", "wor"),
    ("SUBSTRING('hello', 2)", "ello"),
    ("OVERLAY('This is an old string' PLACING ' new' FROM 10 FOR 5)", "This is a new string"),
    ("OVERLAY('xxxxxtest' PLACING 'xxxx' FROM 6)", "xxxxxxxxx"),
    ("REPLACE('hello world', 'world', 'flink')", "hello flink"),
    ("REPLACE('ababab', 'abab', 'z')", "zab"),
    ("REPEAT('This is a test String.', 2)", "This is a test String.This is a test String."),
    ("REVERSE('abc')", "cba"),
    ("LEFT('flink', 2) || RIGHT('flink', 1)", "flk"),
    ("ASCII('abc')", 97),
    ("CHR(97)", "a"),
    ("SPLIT_INDEX('a,b,c', ',', 1)", "b"),
    ("ELT(2, 'scala', 'java')", "java"),
    ("'abc' LIKE 'a%' AND 'abc' NOT LIKE 'a_'", True),
    ("'a%c' LIKE 'a!%c' ESCAPE '!' AND 'abc' NOT LIKE 'a!%c' ESCAPE '!'", True),
    ("'abc' SIMILAR TO 'a(b|d)c'", True),
    ("REGEXP_REPLACE('foobar', 'oo|ar', '')", "fb"),
    ("REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 2)", "bar"),
    ("REGEXP_COUNT('a1b2', '[0-9]')", 2),
    ("MD5('abc')", "900150983cd24fb0d6963f7d28e17f72"),
    ("SHA2('abc', 256) = SHA256('abc')", True),
    ("TO_BASE64('hello world')", "aGVsbG8gd29ybGQ="),
    ("FROM_BASE64('aGVsbG8gd29ybGQ=')", "hello world"),
    ("PARSE_URL('http://facebook.com/path1/p.php?k1=v1&k2=v2#Ref1', 'HOST')", "facebook.com"),
    ("PARSE_URL('http://facebook.com/path1/p.php?k1=v1&k2=v2#Ref1', 'QUERY', 'k1')", "v1"),
    ("DECODE(ENCODE('ä', 'UTF-8'), 'UTF-8')", "ä"),
    ("STARTSWITH('flink', 'fl') AND NOT ENDSWITH('flink', 'fl')", True),
]


TIMES: list[tuple[str, Any]] = [
    ("EXTRACT(DAY FROM DATE '2006-06-05')", 5),
    ("YEAR(DATE '1994-09-27')", 1994),
    ("QUARTER(DATE '1994-09-27')", 3),
    ("MONTH(DATE '1994-09-27')", 9),
    ("WEEK(DATE '1994-09-27')", 39),
    ("DAYOFYEAR(DATE '1994-09-27')", 270),
    ("DAYOFMONTH(DATE '1994-09-27')", 27),
    ("DAYOFWEEK(DATE '1994-09-27')", 3),
    ("HOUR(TIMESTAMP '1994-09-27 13:14:15')", 13),
    ("MINUTE(TIMESTAMP '1994-09-27 13:14:15')", 14),
    ("SECOND(TIMESTAMP '1994-09-27 13:14:15')", 15),
    ("EXTRACT(SECOND FROM INTERVAL '1 02:03:04' DAY TO SECOND)", 4),
    ("FLOOR(TIME '12:44:31' TO MINUTE)", datetime.time(12, 44)),
    ("CEIL(TIME '12:44:31' TO MINUTE)", datetime.time(12, 45)),
    ("FLOOR(TIMESTAMP '2024-02-29 10:20:30' TO MONTH)", datetime.datetime(2024, 2, 1)),
    ("TIMESTAMPADD(WEEK, 1, DATE '2003-01-02')", datetime.date(2003, 1, 9)),
    ("TIMESTAMPDIFF(DAY, TIMESTAMP '2003-01-02 10:00:00', TIMESTAMP '2003-01-03 10:00:00')", 1),
    ("TIMESTAMPDIFF(SECOND, TIMESTAMP '2024-01-01 00:00:10', TIMESTAMP '2024-01-01 00:00:00')", -10),
    ("DATE '2024-01-31' + INTERVAL '1' MONTH", datetime.date(2024, 2, 29)),
    ("INTERVAL '1' DAY + DATE '2024-02-28'", datetime.date(2024, 2, 29)),
    ("TIMESTAMP '2024-03-01 00:00:00' - INTERVAL '1' SECOND", datetime.datetime(2024, 2, 29, 23, 59, 59)),
    ("TIMESTAMP '2024-01-01 00:00:00' < TIMESTAMP '2024-01-01 00:00:00.001'", True),
    ("DATE '2024-01-01' IN (DATE '2023-12-31', DATE '2024-01-01')", True),
    ("TO_DATE('29.02.2024', 'dd.MM.yyyy')", datetime.date(2024, 2, 29)),
    ("TO_TIMESTAMP('2024-02-29 10:20:30')", datetime.datetime(2024, 2, 29, 10, 20, 30)),
    ("TO_TIMESTAMP_LTZ(100, 0) = TO_TIMESTAMP_LTZ(100000, 3)", True),
    ("DATE_FORMAT(TIMESTAMP '2024-02-29 10:20:30', 'yyyy/MM')", "2024/02"),
    ("FROM_UNIXTIME(44)", "1970-01-01 00:00:44"),
    ("UNIX_TIMESTAMP('1970-01-01 00:00:10')", 10),
    ("CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'America/Los_Angeles')", "1969-12-31 16:00:00"),
    ("CURRENT_TIMESTAMP >= TO_TIMESTAMP_LTZ(0, 0) AND LOCALTIME >= TIME '00:00:00'", True),
    ("(TIME '2:55:00', INTERVAL '1' HOUR) OVERLAPS (TIME '3:30:00', INTERVAL '2' HOUR)", True),
    ("(TIME '9:00:00', TIME '10:00:00') OVERLAPS (TIME '10:15:00', INTERVAL '3' HOUR)", False),
]


@pytest.mark.parametrize(("text", "value", "kind"), NUMBERS + LOGIC + CASTS)
def test_values_and_types(text: str, value: Any, kind: str) -> None:
    found = call_sql(text)
    assert (repr(evaluate(found, {}).to_pylist()), str(type_of(found, {}))) == (repr([value]), kind)


@pytest.mark.parametrize(("text", "value"), TEXTS + TIMES)
def test_values_of_functions(text: str, value: Any) -> None:
    assert evaluate(call_sql(text), {}).to_pylist() == [value]


@pytest.mark.parametrize(
    ("text", "values", "kind"),
    [
        ("a + b", [9, None], "BIGINT"),
        ("a * 1.5", [Decimal("10.5"), None], "DECIMAL(13, 1)"),
        ("a > 5 AND name = 'Flink'", [True, None], "BOOLEAN"),
        ("b <> 0 AND a / b > 3", [False, False], "BOOLEAN"),
        ("CASE WHEN b = 0 THEN -1 ELSE a / b END", [3, -1], "BIGINT"),
        ("COALESCE(UPPER(name), 'none')", ["FLINK", "none"], "STRING NOT NULL"),
        ("name IS NULL OR CHAR_LENGTH(name) > 9", [False, True], "BOOLEAN"),
        ("a IN (7, 8)", [True, None], "BOOLEAN"),
    ],
)
def test_values_of_columns(text: str, values: list[Any], kind: str) -> None:
    found = call_sql(text)
    assert (evaluate(found, COLUMNS).to_pylist(), str(type_of(found, COLUMNS))) == (values, kind)
