"""SQL text as types, expressions and watermarks; and where text that is none is refused."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from headgate.columns import logical_types as types
from headgate.columns import sql_functions
from headgate.columns.flink_sql import FlinkSql, parser_of_flink
from headgate.columns.functions import registry
from headgate.columns.logical_types import LogicalType
from headgate.columns.nodes import Call, Column, Literal
from headgate.columns.operand import text_of
from headgate.columns.sql_text import expression_of_text, type_of_text, watermark_of_text
from headgate.errors import EnvironmentFault, InvalidExpressionError
from headgate.table.expressions import call_sql

TYPES = [
    ("BOOLEAN", "BOOLEAN"),
    ("int", "INT"),
    ("INTEGER NOT NULL", "INT NOT NULL"),
    ("BIGINT NULL", "BIGINT"),
    ("DOUBLE PRECISION", "DOUBLE"),
    ("DECIMAL", "DECIMAL(10, 0)"),
    ("DEC(5)", "DECIMAL(5, 0)"),
    ("NUMERIC(38, 38) NOT NULL", "DECIMAL(38, 38) NOT NULL"),
    ("CHAR", "CHAR(1)"),
    ("CHARACTER(4)", "CHAR(4)"),
    ("VARCHAR(20)", "VARCHAR(20)"),
    ("CHARACTER VARYING(20)", "VARCHAR(20)"),
    ("VARCHAR", "STRING"),
    ("VARCHAR(2147483647)", "STRING"),
    ("BINARY(3)", "BINARY(3)"),
    ("VARBINARY", "BYTES"),
    ("TIME", "TIME(0)"),
    ("TIME(3) WITHOUT TIME ZONE", "TIME(3)"),
    ("TIMESTAMP", "TIMESTAMP(6)"),
    ("TIMESTAMP(9) WITHOUT TIME ZONE", "TIMESTAMP(9)"),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL", "TIMESTAMP_LTZ(3) NOT NULL"),
    ("timestamp_ltz(0)", "TIMESTAMP_LTZ(0)"),
    ("INTERVAL YEAR(4) TO MONTH", "INTERVAL YEAR TO MONTH"),
    ("INTERVAL MONTH", "INTERVAL YEAR TO MONTH"),
    ("INTERVAL HOUR TO SECOND(6)", "INTERVAL DAY TO SECOND(6)"),
    ("INTERVAL SECOND(2, 3)", "INTERVAL DAY TO SECOND(3)"),
    ("ARRAY<INT NOT NULL> NOT NULL", "ARRAY<INT NOT NULL> NOT NULL"),
    ("INT NOT NULL ARRAY", "ARRAY<INT NOT NULL>"),
    ("MAP<STRING, ARRAY<BIGINT>>", "MAP<STRING, ARRAY<BIGINT>>"),
    ("ROW<a INT, `b ``c` STRING NOT NULL>", "ROW<`a` INT, `b ``c` STRING NOT NULL>"),
    ("ROW(order INT 'in dollars', `d` DATE)", "ROW<`order` INT, `d` DATE>"),
    ("\n decimal ( 4 , 2 ) -- of money\n", "DECIMAL(4, 2)"),
    ("NULL", "NULL"),
]


@pytest.mark.parametrize(("text", "expected"), TYPES)
def test_types(text: str, expected: str) -> None:
    assert str(type_of_text(text)) == expected


def all_types() -> st.SearchStrategy[LogicalType]:
    precisions = st.integers(0, 9)
    lengths = st.integers(1, types.MAX_LENGTH)
    plain = [types.BOOLEAN, types.TINYINT, types.SMALLINT, types.INT, types.BIGINT, types.FLOAT, types.DOUBLE]
    simple = st.one_of(
        st.sampled_from([*plain, types.STRING, types.BINARY_STRING, types.DATE, types.MONTH_INTERVAL]),
        st.integers(1, 38).flatmap(lambda digits: st.builds(types.decimal, st.just(digits), st.integers(0, digits))),
        *(st.builds(own, precisions) for own in (types.time, types.timestamp, types.timestamp_ltz)),
        st.builds(types.day_interval, precisions),
        *(st.builds(own, lengths, fixed=st.booleans()) for own in (types.text, types.binary)),
    )
    names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
    return st.recursive(
        nulls(simple),
        lambda inner: nulls(
            st.one_of(
                st.builds(types.array, inner),
                st.builds(types.map_of, inner, inner),
                st.dictionaries(names, inner, min_size=1, max_size=3).map(lambda fields: types.row(fields.items())),
            )
        ),
        max_leaves=8,
    )


def nulls(own: st.SearchStrategy[LogicalType]) -> st.SearchStrategy[LogicalType]:
    return st.builds(lambda kind, nullable: kind.nulls(nullable), own, st.booleans())


@given(all_types())
def test_a_type_is_read_back_from_its_text(own: LogicalType) -> None:
    assert type_of_text(str(own)) == own


NO_TYPES = [
    ("", 1, "a type is expected here"),
    ("ITN", 1, "there is no type ITN; did you mean 'INT'?"),
    ("'INT'", 1, "a type is expected here"),
    ("INT INT", 5, "the type ends before INT"),
    ("DECIMAL(39, 2)", 1, "a DECIMAL has 1 to 38 digits"),
    ("DECIMAL(2, 3)", 1, "no more of them after the point"),
    ("DECIMAL(1, 2, 3)", 15, "[)] is expected here"),
    ("VARCHAR(0)", 1, "the length of a text is 1 to 2147483647, not 0"),
    ("TIMESTAMP(10)", 1, "0 to 9 digits"),
    ("TIMESTAMP(x)", 11, "a whole number is expected here"),
    ("TIMESTAMP(3) WITH TIME ZONE", 14, "use TIMESTAMP_LTZ"),
    ("ARRAY<INT", 10, "> is expected here"),
    ("ARRAY", 6, "< is expected here"),
    ("MAP<INT>", 8, "a comma is expected here"),
    ("ROW<INT>", 8, "a type is expected here"),
    ("ROW<a INT, a BIGINT>", 1, "two fields 'a'"),
    ("INT NOT", 8, "NULL is expected here"),
    ("NULL NOT NULL", 10, "remove NOT NULL"),
    ("INTERVAL FORTNIGHT", 10, "a unit of an interval is expected here"),
    ("INTERVAL DAY TO YEAR", 17, "an interval goes from DAY to HOUR or MINUTE or SECOND"),
    ("MULTISET<INT>", 1, "there is no type MULTISET"),
]


@pytest.mark.parametrize(("text", "column", "why"), NO_TYPES)
def test_text_that_is_no_type_is_refused_with_its_place(text: str, column: int, why: str) -> None:
    with pytest.raises(ValueError, match=f"^SQL text, column {column}: .*{why}"):
        type_of_text(text)


LITERALS = [
    ("7", "7", "INT NOT NULL"),
    ("-7", "-7", "INT NOT NULL"),
    ("2147483648", "2147483648", "BIGINT NOT NULL"),
    ("-2147483648", "-2147483648", "INT NOT NULL"),
    ("-9223372036854775808", "-9223372036854775808", "BIGINT NOT NULL"),
    ("-2.50", "Decimal('-2.50')", "DECIMAL(3, 2) NOT NULL"),
    ("1.50", "Decimal('1.50')", "DECIMAL(3, 2) NOT NULL"),
    ("0.5", "Decimal('0.5')", "DECIMAL(2, 1) NOT NULL"),
    ("1.", "1", "INT NOT NULL"),
    (".5", "Decimal('0.5')", "DECIMAL(1, 1) NOT NULL"),
    ("1e3", "1000.0", "DOUBLE NOT NULL"),
    ("-2.5E-1", "-0.25", "DOUBLE NOT NULL"),
    ("'it''s'", '"it\'s"', "CHAR(4) NOT NULL"),
    ("'ä\n'", "'ä\\n'", "CHAR(2) NOT NULL"),
    (r"U&'\00e9\\'", r"'é\\'", "CHAR(2) NOT NULL"),
    (r"U&'\D83D\DE00'", "'😀'", "CHAR(1) NOT NULL"),
    (r"U&'!00e9\' UESCAPE '!'", r"'é\\'", "CHAR(2) NOT NULL"),
    ("X'00fF'", r"b'\x00\xff'", "BINARY(2) NOT NULL"),
    ("true", "True", "BOOLEAN NOT NULL"),
    ("NULL", "NULL", "NULL"),
    ("DATE '2024-02-29'", "datetime.date(2024, 2, 29)", "DATE NOT NULL"),
    ("TIME '10:11:12'", "datetime.time(10, 11, 12)", "TIME(0) NOT NULL"),
    ("TIME '10:11:12.5'", "datetime.time(10, 11, 12, 500000)", "TIME(1) NOT NULL"),
    ("TIMESTAMP '2024-02-29'", "datetime.datetime(2024, 2, 29, 0, 0)", "TIMESTAMP(0) NOT NULL"),
    ("TIMESTAMP '1969-12-31 23:59:59'", "datetime.datetime(1969, 12, 31, 23, 59, 59)", "TIMESTAMP(0) NOT NULL"),
    (
        "TIMESTAMP '1969-12-31 23:59:59.25'",
        "datetime.datetime(1969, 12, 31, 23, 59, 59, 250000)",
        "TIMESTAMP(2) NOT NULL",
    ),
    ("INTERVAL '5' SECOND", "datetime.timedelta(seconds=5)", "INTERVAL DAY TO SECOND(3) NOT NULL"),
    ("INTERVAL '0.5' SECONDS", "datetime.timedelta(microseconds=500000)", "INTERVAL DAY TO SECOND(3) NOT NULL"),
    ("INTERVAL '0.00025' SECOND", "datetime.timedelta(microseconds=250)", "INTERVAL DAY TO SECOND(6) NOT NULL"),
    ("INTERVAL -'5' DAY", "datetime.timedelta(days=-5)", "INTERVAL DAY TO SECOND(3) NOT NULL"),
    ("INTERVAL '2' WEEK", "datetime.timedelta(days=14)", "INTERVAL DAY TO SECOND(3) NOT NULL"),
    (
        "INTERVAL '1 02:03:04.5' DAY TO SECOND",
        "datetime.timedelta(days=1, seconds=7384, microseconds=500000)",
        "INTERVAL DAY TO SECOND(3) NOT NULL",
    ),
    (
        "INTERVAL '100:30' HOUR TO MINUTE",
        "datetime.timedelta(days=4, seconds=16200)",
        "INTERVAL DAY TO SECOND(3) NOT NULL",
    ),
    ("INTERVAL '1-2' YEAR TO MONTH", "14", "INTERVAL YEAR TO MONTH NOT NULL"),
    ("INTERVAL '1' QUARTER", "3", "INTERVAL YEAR TO MONTH NOT NULL"),
]


@pytest.mark.parametrize(("text", "value", "kind"), LITERALS)
def test_literals(text: str, value: str, kind: str) -> None:
    found = expression_of_text(text)
    assert isinstance(found, Literal)
    assert (text_of(found), str(found.type)) == (value, kind)


def test_nanoseconds_are_kept() -> None:
    found = expression_of_text("TIMESTAMP '2024-01-01 00:00:00.123456789'")
    assert isinstance(found, Literal)
    assert found.value.value == 1_704_067_200_123_456_789


EXPRESSIONS = [
    ("price", "price"),
    ("`unit price`", "unit price"),
    ("`a``b`.c.`d e`", "get(get(a`b, 'c'), 'd e')"),
    ("m['k'][1].f", "get(at(at(m, 'k'), 1), 'f')"),
    ("interval - 5", "minus(interval, 5)"),
    ("date > DATE '2024-01-01'", "greater(date, datetime.date(2024, 1, 1))"),
    ("a + b * c - d / e % f", "minus(plus(a, times(b, c)), modulo(divide(d, e), f))"),
    ("(a + b) * -c", "times(plus(a, b), negate(c))"),
    ("a - -5", "minus(a, -5)"),
    ("a || 'x' || b", "concat_operator(a, 'x', b)"),
    ("1 + 2 || 'x'", "plus(1, concat_operator(2, 'x'))"),
    ("a = 1 OR b <> 2 AND NOT c < 3", "or(equals(a, 1), and(not_equals(b, 2), not(less(c, 3))))"),
    ("a AND b AND c", "and(a, b, c)"),
    ("a >= 1 AND b <= 2 AND c != 3", "and(greater_or_equal(a, 1), less_or_equal(b, 2), not_equals(c, 3))"),
    ("a BETWEEN 1 AND 2 AND b", "and(between(a, 1, 2), b)"),
    ("a NOT BETWEEN b AND c + 1", "not(between(a, b, plus(c, 1)))"),
    ("a BETWEEN SYMMETRIC 1 AND 2", "or(between(a, 1, 2), between(a, 2, 1))"),
    ("a BETWEEN ASYMMETRIC 1 AND 2", "between(a, 1, 2)"),
    ("a IN (1, b, NULL)", "in(a, 1, b, NULL)"),
    ("a NOT IN ('x')", "not(in(a, 'x'))"),
    ("price * 2 > 10 AND name LIKE 'a%'", "and(greater(times(price, 2), 10), like(name, 'a%'))"),
    ("a NOT LIKE 'x!%' ESCAPE '!'", "not(like(a, 'x!%', '!'))"),
    ("a NOT SIMILAR TO 'x|y'", "not(similar(a, 'x|y'))"),
    ("a IS NULL", "is_null(a)"),
    ("a = b IS NULL", "is_null(equals(a, b))"),
    ("a IS NOT NULL", "not(is_null(a))"),
    ("a IS TRUE", "is_true(a)"),
    ("a IS NOT FALSE", "not(is_false(a))"),
    ("a IS UNKNOWN", "is_null(a)"),
    ("a IS NOT DISTINCT FROM b", "or(is_true(equals(a, b)), and(is_null(a), is_null(b)))"),
    ("a IS DISTINCT FROM 1", "not(or(is_true(equals(a, 1)), and(is_null(a), is_null(1))))"),
    ("a IS JSON", "is_json(a)"),
    ("CASE WHEN a THEN 1 WHEN b THEN 2 END", "if_then_else(a, 1, if_then_else(b, 2, NULL))"),
    ("CASE a WHEN 1 THEN 'x' ELSE 'y' END", "if_then_else(equals(a, 1), 'x', 'y')"),
    ("CAST(a AS ARRAY<INT NOT NULL>)", "cast(a as ARRAY<INT NOT NULL>)"),
    ("TRY_CAST(a + 1 AS decimal(4, 2))", "try_cast(plus(a, 1) as DECIMAL(4, 2))"),
    ("COALESCE(a, b, 0)", "coalesce(a, b, 0)"),
    ("NULLIF(a, 0)", "null_if(a, 0)"),
    ("IFNULL(a, 0)", "if_null(a, 0)"),
    ("IF(a > 1, 'x', 'y')", "if_then_else(greater(a, 1), 'x', 'y')"),
    ("upper(LOWER(a))", "upper_case(lower_case(a))"),
    ("CHARACTER_LENGTH(a) = CHAR_LENGTH(b)", "equals(char_length(a), char_length(b))"),
    ("SUBSTRING(a FROM 2 FOR 3)", "substring(a, 2, 3)"),
    ("SUBSTRING(a FROM 2)", "substring(a, 2)"),
    ("SUBSTRING(a, 2, 3)", "substring(a, 2, 3)"),
    ("TRIM(a)", "trim(a)"),
    ("TRIM(BOTH FROM a)", "trim(a)"),
    ("TRIM('x' FROM a)", "trim(a, 'x')"),
    ("TRIM(LEADING 'x' FROM a)", "trim_leading(a, 'x')"),
    ("TRIM(TRAILING FROM a)", "trim_trailing(a)"),
    ("POSITION('x' IN a)", "position('x', a)"),
    ("POSITION('x' IN a FROM 3)", "locate('x', a, 3)"),
    ("OVERLAY(a PLACING 'x' FROM 2 FOR 1)", "overlay(a, 'x', 2, 1)"),
    ("LEFT(a, 2) || RIGHT(a, 2)", "concat_operator(left(a, 2), right(a, 2))"),
    ("REPLACE(a, 'x', 'y')", "replace(a, 'x', 'y')"),
    ("REGEXP(a, 'x+')", "regexp(a, 'x+')"),
    ("LOG(2, a)", "log(2, a)"),
    ("MOD(a, 2)", "modulo(a, 2)"),
    ("EXTRACT(day FROM a)", "extract(a, 'DAY')"),
    ("YEAR(a) + DAYOFWEEK(a)", "plus(extract(a, 'YEAR'), extract(a, 'DOW'))"),
    ("FLOOR(a TO HOUR)", "floor(a, 'HOUR')"),
    ("CEIL(a)", "ceil(a)"),
    ("TIMESTAMPADD(HOUR, 3, a)", "timestamp_add(3, a, 'HOUR')"),
    ("(a, b) OVERLAPS (c, INTERVAL '1' DAY)", "temporal_overlaps(a, b, c, datetime.timedelta(days=1))"),
    ("TIMESTAMPDIFF(SECOND, a, b)", "timestamp_diff(a, b, 'SECOND')"),
    ("TO_TIMESTAMP_LTZ(a, 3)", "to_timestamp_ltz(a, 3)"),
    ("CURRENT_TIMESTAMP > LOCALTIMESTAMP", "greater(current_timestamp(), local_timestamp())"),
    ("PROCTIME()", "proctime()"),
    ("ARRAY[1, 2]", "array(1, 2)"),
    ("`array`[1]", "at(array, 1)"),
    ("MAP['a', 1]", "map('a', 1)"),
    ("ROW(1, 'a')", "row(1, 'a')"),
    ("JSON_EXISTS(a, '$.x')", "json_exists(a, '$.x', 'FALSE')"),
    ("JSON_EXISTS(a, '$.x' UNKNOWN ON ERROR)", "json_exists(a, '$.x', 'UNKNOWN')"),
    ("JSON_VALUE(a, '$.x')", "json_value(a, '$.x', STRING, 'NULL', None, 'NULL', None)"),
    (
        "JSON_VALUE(a, '$.x' RETURNING INT DEFAULT -1 ON EMPTY ERROR ON ERROR)",
        "json_value(a, '$.x', INT, 'DEFAULT', -1, 'ERROR', None)",
    ),
    ("JSON_VALUE(a, '$.x' DEFAULT 'y' ON ERROR)", "json_value(a, '$.x', STRING, 'NULL', None, 'DEFAULT', 'y')"),
    ("JSON_QUERY(a, '$.x')", "json_query(a, '$.x', 'WITHOUT_ARRAY', 'NULL', 'NULL')"),
    (
        "JSON_QUERY(a, '$.x' WITH CONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR)",
        "json_query(a, '$.x', 'CONDITIONAL_ARRAY', 'EMPTY_ARRAY', 'EMPTY_OBJECT')",
    ),
    ("JSON_OBJECT()", "json_object('NULL', ())"),
    (
        "JSON_OBJECT('k' VALUE a, KEY 'l' VALUE JSON_ARRAY(1, NULL NULL ON NULL) ABSENT ON NULL)",
        "json_object('k', a, 'l', json_array(1, NULL, 'NULL', (False, False)), 'ABSENT', (False, False, False, True))",
    ),
    ("JSON_ARRAY(a, 1)", "json_array(a, 1, 'ABSENT', (False, False))"),
    ("a -- comment\n /* and another */ + 1", "plus(a, 1)"),
    ("show = 1", "equals(show, 1)"),
]


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS)
def test_expressions(text: str, expected: str) -> None:
    assert text_of(expression_of_text(text)) == expected


NO_EXPRESSIONS = [
    ("", 1, "one expression is expected"),
    ("a + ", 5, "an expression is expected here"),
    ("(a", 3, r"Expecting \)"),
    ("a)", 2, r"the expression ends before \)"),
    ("a b", 3, "the expression ends before b"),
    ("a AS b", 3, "give it its name with alias"),
    ("a; b", 1, "one expression is expected"),
    ("from = 1", 1, "write `from` if it is the name of a column"),
    ('"a" = 1', 1, "texts have single quotes, and names have backticks"),
    ("a = 'x", 1, "a quote or a comment is open at the end"),
    ("a == 1", 4, "an expression is expected here"),
    ("a::INT", 2, "the expression ends before ::"),
    ("a BETWEEN 1 2", 13, "AND is expected here"),
    ("CASE WHEN a 1 END", 13, "THEN is expected here"),
    ("CASE a ELSE 1 END", 8, "WHEN is expected here"),
    ("COALESCE(a, )", 13, "an expression is expected here"),
    ("UPER(a)", 1, r"there is no function UPER\(\); did you mean UPPER\(\)\?"),
    ("1 + UPER(a)", 5, "there is no function UPER"),
    ("XYZZY(a)", 1, "there is no function XYZZY"),
    ("EXTRACT(DAZ FROM a)", 9, "a unit of time is expected here; did you mean 'DAY'"),
    ("EXTRACT(DAY a)", 13, "FROM is expected here"),
    ("TRIM(LEADING a)", 15, "FROM is expected here"),
    ("CAST(a AS INTT)", 11, "there is no type INTT; did you mean 'INT'"),
    ("CAST(a INT)", 8, "AS is expected here"),
    ("SUM(a) > 1", 1, "aggregate with the methods of expressions"),
    ("a > 1 AND COUNT(*) > 1", 17, r"\* is for SELECT"),
    ("SUM(a) OVER ()", 1, r"over\(\)"),
    ("a IN (SELECT b FROM c)", 1, "join the tables"),
    ("(SELECT 1)", 9, "join the tables"),
    ("a ILIKE 'x'", 1, "write LOWER"),
    ("a LIKE 'x' ESCAPE 'xy'", 1, "ESCAPE takes one character"),
    ("f(a => 1)", 8, "give them by position"),
    ("JSON_VALUE(a, '$.x' DEFAULT b ON EMPTY)", 29, "a default is a constant"),
    ("JSON_VALUE(a, '$.x' NULL ON NOTHING)", 29, "ERROR is expected here"),
    ("JSON_OBJECT('k', 1)", 16, "VALUE is expected here"),
    ("DATE '2023-02-29'", 1, "'2023-02-29' is no DATE: day is out of range for month"),
    ("TIME '24:00:00'", 1, "'24:00:00' is no TIME"),
    ("TIMESTAMP '2024-01'", 1, "write it as TIMESTAMP '2024-02-29 23:59:59.123'"),
    ("INTERVAL 'x' DAY", 1, "write it as INTERVAL '1' DAY"),
    ("INTERVAL '1' FORTNIGHT", 14, "a unit of an interval is expected here"),
    ("INTERVAL '1:70' MINUTE TO SECOND", 1, "SECOND is below 60"),
    ("INTERVAL '99999999999' YEAR", 1, "is no value of INTERVAL YEAR TO MONTH"),
    ("1e", 1, "1e is no number"),
    (". 2.5", 1, ".2.5 is no number"),
    ("9223372036854775808", 1, "too large for a BIGINT: write 9223372036854775808.0"),
    ("U&'\\00g9'", 1, "four digits after the backslash"),
    ("a + X' 0a '", 5, "bytes have two digits each"),
    ("1e999", 1, "too large for a DOUBLE"),
    ("1" * 39 + ".0", 1, "has 40 digits"),
    ("1" * 5000, 1, "too large for a BIGINT"),
    ("X'0'", 1, "bytes have two digits each"),
    ("0xff", 1, "bytes have two digits each"),
    ("a[1, 2]", 1, "one index is expected in the brackets"),
    ("a IS 5", 1, "IS takes"),
    ("x.f(a)", 1, "the name of a field is expected after the point"),
    ("(" * 3000 + "a" + ")" * 3000, 1, "nested too deeply"),
]


@pytest.mark.parametrize(("text", "column", "why"), NO_EXPRESSIONS)
def test_text_that_is_no_expression_is_refused_with_its_place(text: str, column: int, why: str) -> None:
    with pytest.raises(InvalidExpressionError, match=f"^SQL text, column {column}: .*{why}"):
        expression_of_text(text)


def test_an_error_shows_the_line_with_the_place() -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole message is below
        call_sql("price > 1\n  AND uper(name) = 'A'")
    assert str(caught.value) == (
        "SQL text, line 2, column 7: there is no function uper(); did you mean UPPER()?\n"
        "    AND uper(name) = 'A'\n"
        "        ^^^^^^^^^"
    )


def test_a_long_line_is_cut_around_the_place() -> None:
    with pytest.raises(ValueError, match="column 306") as caught:
        expression_of_text("a + " * 76 + " 1e + " + "a + " * 50 + "a")
    _, excerpt, carets = str(caught.value).split("\n")
    assert len(excerpt) <= 102
    assert excerpt[carets.index("^") :].startswith("1e + a")


def test_a_call_of_sql_takes_text_only() -> None:
    assert repr(call_sql("a + 1")) == "plus(a, 1)"
    with pytest.raises(TypeError, match="SQL text"):
        call_sql(1)  # type: ignore[arg-type]


WATERMARKS = [
    ("ts", ("ts", 0)),
    ("`t s`", ("t s", 0)),
    ("ts - INTERVAL '5' SECOND", ("ts", 5000)),
    ("(ts - INTERVAL '0.001' SECOND)", ("ts", 1)),
    ("ts - INTERVAL '1 12' DAY TO HOUR", ("ts", 129_600_000)),
]


@pytest.mark.parametrize(("text", "expected"), WATERMARKS)
def test_watermarks(text: str, expected: tuple[str, int]) -> None:
    assert watermark_of_text(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ts + INTERVAL '5' SECOND", "a watermark is a column, or a column minus an interval"),
        ("ts - INTERVAL '1' MONTH", "a watermark is a column, or a column minus an interval"),
        ("TO_TIMESTAMP(a) - INTERVAL '5' SECOND", "with_column"),
        ("ts - 5", "such as ts - INTERVAL '5' SECOND"),
        ("ts - INTERVAL -'5' SECOND", "not negative"),
        ("ts - INTERVAL '0.0001' SECOND", "whole milliseconds"),
        ("ts -", "an expression is expected here"),
    ],
)
def test_other_watermarks_are_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        watermark_of_text(text)


WORDS = r"""
a `b c` 1 2.5 1e3 'x' '' '2024-01-01' ( ) ( ) [ ] < > , . + - * / % || = <> AND OR NOT IS NULL TRUE BETWEEN IN LIKE
SIMILAR TO ESCAPE CASE WHEN THEN ELSE END CAST( AS INT DECIMAL( ARRAY< MAP< ROW< INTERVAL DAY SECOND DATE TIMESTAMP
EXTRACT( FROM FOR SUBSTRING( TRIM( BOTH POSITION( OVERLAY( PLACING FLOOR( CURRENT_TIMESTAMP UPPER( IF( ; :: -> => @ ? :
" ' ` -- /* */ SELECT DISTINCT OVER ORDER BY ANY( EXISTS( ARRAY[ $ ~ ! ^ & | X'0' FILTER WITHIN USING COLLATE AT TIME
ZONE JSON VALUES UNNEST( TABLE ROW( SET LEFT( WINDOW DESCRIBE CREATE PIVOT RLIKE STRUCT< ENUM( { {{ 0x1 \ #
"""


def damaged() -> st.SearchStrategy[str]:
    """Texts that can be read, with a few characters taken out, and a part of another text in their place."""
    whole = st.sampled_from([text for text, *_ in [*EXPRESSIONS, *LITERALS, *TYPES]])
    return st.builds(
        lambda text, other, at, out, into: text[:at] + other[at : at + into] + text[at + out :],
        whole,
        st.one_of(whole, st.text(max_size=60)),
        st.integers(0, 40),
        st.integers(0, 5),
        st.integers(0, 12),
    )


@given(st.one_of(st.text(max_size=30), st.lists(st.sampled_from(WORDS.split()), max_size=10).map(" ".join), damaged()))
def test_any_text_is_read_or_refused(text: str) -> None:
    reads: list[Callable[[str], object]] = [expression_of_text, type_of_text, watermark_of_text]
    for read in reads:
        with contextlib.suppress(InvalidExpressionError):
            read(text)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, SUM(b) FILTER (WHERE b > 1) AS s FROM t WHERE a > 1 GROUP BY a ORDER BY a DESC LIMIT 3",
        "SELECT a, CAST(ROW(1) AS ROW<`x` INT>) FROM (VALUES (1, 'a')) AS t(id, name)",
        "SELECT a, w FROM t LEFT JOIN LATERAL TABLE(f(a)) AS s(w) ON TRUE UNION ALL SELECT b, c FROM u",
        "SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY ts) FROM t JOIN r FOR SYSTEM_TIME AS OF t.ts ON t.c = r.c",
    ],
)
def test_the_dialect_has_queries_too(query: str) -> None:
    [found] = parser_of_flink().parse(FlinkSql().tokenize(query), query)
    assert isinstance(found, exp.Query)


def test_every_function_of_the_text_is_registered() -> None:
    calls = [
        sql_functions.call_of(name, [Column("a"), Column("b")], *(["NULL"] if name.startswith("JSON_") else []))
        for name in sql_functions.names()
    ]
    assert {own.function for own in calls if isinstance(own, Call)} <= set(registry.names())


def test_a_compiled_sqlglot_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes that mypyc compiled refuse objects of classes derived from them."""

    def refuse(*_: object, **__: object) -> None:
        raise TypeError("interpreted classes cannot inherit from compiled")

    monkeypatch.setattr("sqlglot.parser.Parser.__init__", refuse)
    with pytest.raises(EnvironmentFault, match="pip uninstall sqlglotc"):
        call_sql("a")


@pytest.mark.slow
def test_the_parser_is_loaded_for_text_only_and_pandas_when_it_is_used() -> None:
    program = "import sys, headgate.dataframe; sys.exit(bool({'sqlglot', 'pandas', 'polars'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
