"""Expressions have the types and values that Flink SQL 2.3 gave: `ask_pyflink.py` asked it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headgate.columns.sql_text import type_of_text
from headgate.table.expressions import call_sql
from tests.unit.columns.evaluate import evaluate, type_of

ASKED: dict[str, tuple[str, str]] = json.loads(Path(__file__).with_name("flink_sql.json").read_text())
OTHER_VALUES = {
    "TIMESTAMP '2024-01-01 00:00:00.123456789'": "PyFlink cuts nanoseconds to milliseconds",
    "UPPER('straße')": "Flink cuts the constant to the length of its type, CHAR(6)",
    "UPPER('ß' || 'x')": "Flink cuts the constant to the length of its type, CHAR(2)",
    "UNHEX('616263')": "PyFlink gives bytearray",
    "X'00fF'": "PyFlink gives bytearray",
    "X'61'": "PyFlink gives bytearray",
}
OTHER_TYPES = {
    "CAST(9.5 AS DECIMAL(38,18)) / CAST(3 AS DECIMAL(38,18))": "DECIMAL(38, 6)",  # NULL for more than 38 digits
    "CONCAT_WS('~', 'AA', CAST(NULL AS STRING), 'BB', '', 'CC')": "STRING NOT NULL",
    "LPAD('hi', 4, '??')": "STRING",
    "LPAD('hi', 1, '??')": "STRING",
    "RPAD('hi', 4, '??')": "STRING",
    "SUBSTRING('hello world' FROM 7 FOR 3)": "VARCHAR(11) NOT NULL",
    "SUBSTRING('hello', 2)": "VARCHAR(5) NOT NULL",
    "OVERLAY('This is an old string' PLACING ' new' FROM 10 FOR 5)": "STRING NOT NULL",
    "OVERLAY('xxxxxtest' PLACING 'xxxx' FROM 6)": "STRING NOT NULL",
    "REVERSE('abc')": "STRING NOT NULL",
    "LEFT('flink', 2) || RIGHT('flink', 1)": "VARCHAR(10) NOT NULL",
    "ASCII('abc')": "TINYINT NOT NULL",
    "CHR(97)": "CHAR(1) NOT NULL",
    "REGEXP_REPLACE('foobar', 'oo|ar', '')": "STRING",
    "DATE_FORMAT(TIMESTAMP '2024-02-29 10:20:30', 'yyyy/MM')": "STRING NOT NULL",
    "FROM_UNIXTIME(44)": "STRING NOT NULL",
    "ELEMENT(ARRAY[1])": "INT",
    "SUBSTR('hello', 2)": "VARCHAR(5) NOT NULL",
    "OVERLAY('abcdef' PLACING 'XX' FROM 3)": "STRING NOT NULL",
    "SUBSTRING('hello', -3, 2)": "VARCHAR(5) NOT NULL",
    "RIGHT('abc', 0)": "VARCHAR(3) NOT NULL",
    "SUBSTRING('hello', 0)": "VARCHAR(5) NOT NULL",
    "SUBSTRING('hello', 10)": "VARCHAR(5) NOT NULL",
    "SUBSTRING('hello', 2, 0)": "VARCHAR(5) NOT NULL",
    "OVERLAY('abc' PLACING 'x' FROM 10)": "STRING NOT NULL",
    "REVERSE('ab😀')": "STRING NOT NULL",
    "ASCII('')": "TINYINT NOT NULL",
    "CHR(353)": "CHAR(1) NOT NULL",
    "1.000000000000000001 / 3.000000000000000001": "DECIMAL(38, 19)",
    "CAST(2.5 AS DECIMAL(1, 0))": "DECIMAL(1, 0)",
}
"""Where the type is another, in nullability or in a length."""


@pytest.mark.parametrize("text", ASKED)
def test_type_and_value_are_those_of_flink(text: str) -> None:
    kind, value = ASKED[text]
    found = call_sql(text)
    assert str(type_of(found, {})) == OTHER_TYPES.get(text, str(type_of_text(kind)))
    if text not in OTHER_VALUES:
        assert repr(evaluate(found, {}).to_pylist()[0]) == value
