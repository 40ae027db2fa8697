"""Functions that make texts of texts, on columns and constants, with the values and types of Flink SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from headgate.columns.logical_types import (
    BINARY_STRING,
    BOOLEAN,
    INT,
    STRING,
    TINYINT,
    LogicalType,
    array,
    text,
)
from headgate.columns.nodes import literal
from headgate.errors import InvalidExpressionError
from headgate.table.expression import Expression
from headgate.table.expressions import col, concat, concat_ws, lit, null_of
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of

Rows = Sequence[tuple[tuple[Any, ...], Any]]

NOT_NULL_CHAR = text(3, fixed=True).nulls(nullable=False)


def check_options(build: Callable[..., Expression], kinds: Sequence[LogicalType], rows: Rows) -> None:
    """Assert what a function is for a column and constant options, which most programs give."""
    for arguments, expected in rows:
        options = [Expression(literal(value, kind)) for value, kind in zip(arguments[1:], kinds[1:], strict=True)]
        found = evaluate(build(col("a0"), *options), {"a0": (kinds[0], [arguments[0], None])})
        assert repr(found[0].as_py()) == repr(expected), (build(col("a0"), *options), arguments[0])


ONE: list[tuple[Callable[[Expression], Expression], LogicalType, Rows]] = [
    (lambda a: a.char_length, INT, [(("",), 0), (("abc",), 3), (("é😀",), 2), ((None,), None)]),
    (
        lambda a: a.upper_case,
        STRING,
        [(("aBc1",), "ABC1"), (("",), ""), (("straße é",), "STRASSE É"), (("ﬁ",), "FI"), ((None,), None)],
    ),
    (
        lambda a: a.lower_case,
        STRING,
        [(("aBC1",), "abc1"), (("",), ""), (("ÉΣ ΟΔΟΣ",), "éς οδος"), ((None,), None)],
    ),
    (
        lambda a: a.init_cap,
        STRING,
        [
            (("hello wORLD",), "Hello World"),
            (("a1b  c-d_e",), "A1b  C-D_E"),
            (("1ab",), "1ab"),
            (("éabc Éa",), "éAbc ÉA"),
            (("",), ""),
            ((None,), None),
        ],
    ),
    (lambda a: a.trim(), STRING, [(("  a b  ",), "a b"), (("\ta\t",), "\ta\t"), (("   ",), ""), ((None,), None)]),
    (lambda a: a.trim_leading(), STRING, [(("  a ",), "a "), ((None,), None)]),
    (lambda a: a.trim_trailing(), STRING, [(("  a ",), "  a"), ((None,), None)]),
    (lambda a: a.ltrim(), STRING, [(("  a ",), "a "), ((None,), None)]),
    (lambda a: a.rtrim(), STRING, [(("  a ",), "  a"), ((None,), None)]),
    (lambda a: a.btrim(), STRING, [(("  a ",), "a"), ((None,), None)]),
    (lambda a: a.reverse, STRING, [(("abc",), "cba"), (("é😀x",), "x😀é"), (("",), ""), ((None,), None)]),
    (
        lambda a: a.ascii,
        TINYINT,
        [(("abc",), 97), (("1",), 49), (("",), 0), (("é",), -61), ((None,), None)],
    ),
]


@pytest.mark.parametrize("case", range(len(ONE)))
def test_functions_of_one_text(case: int) -> None:
    build, result, rows = ONE[case]
    check(build, [STRING], rows, result)


MORE: list[tuple[Callable[..., Expression], list[LogicalType], LogicalType, Rows]] = [
    (
        lambda a, b: a.trim(b),
        [STRING, STRING],
        STRING,
        [(("xxaxyx", "xy"), "a"), (("éaé", "é"), "a"), (("a", ""), "a"), (("a", None), None), ((None, "a"), None)],
    ),
    (lambda a, b: a.trim_leading(b), [STRING, STRING], STRING, [(("xxax", "x"), "ax"), (("a", None), None)]),
    (lambda a, b: a.trim_trailing(b), [STRING, STRING], STRING, [(("xxax", "x"), "xxa"), (("a", None), None)]),
    (lambda a, b: a.ltrim(b), [STRING, STRING], STRING, [(("stest", "st"), "est"), (("a", None), None)]),
    (lambda a, b: a.rtrim(b), [STRING, STRING], STRING, [(("estst", "st"), "e"), (("a", None), None)]),
    (lambda a, b: a.btrim(b), [STRING, STRING], STRING, [(("sstestst", "st"), "e"), (("a", None), None)]),
    (
        lambda a, b, c: a.lpad(b, c),
        [STRING, INT, STRING],
        STRING,
        [
            (("hi", 4, "??"), "??hi"),
            (("hi", 1, "??"), "h"),
            (("hi", 0, "??"), ""),
            (("hi", -1, "??"), None),
            (("hi", 4, ""), None),
            (("hi", 7, "abc"), "abcabhi"),
            (("é", 4, "ö😀"), "ö😀öé"),
            (("é", 3, "ö"), "ööé"),
            (("hi", None, "?"), None),
            (("hi", 5, None), None),
            ((None, 5, "?"), None),
        ],
    ),
    (
        lambda a, b, c: a.rpad(b, c),
        [STRING, INT, STRING],
        STRING,
        [
            (("hi", 4, "??"), "hi??"),
            (("hi", 1, "??"), "h"),
            (("hi", 0, "??"), ""),
            (("hi", -1, "??"), None),
            (("hi", 4, ""), None),
            (("hi", 7, "abc"), "hiabcab"),
            ((None, 5, "?"), None),
        ],
    ),
    (
        lambda a, b: a.repeat(b),
        [STRING, INT],
        STRING,
        [(("ab", 2), "abab"), (("ab", 0), ""), (("ab", -1), ""), (("", 3), ""), ((None, 2), None), (("a", None), None)],
    ),
    (
        lambda a, b, c: a.replace(b, c),
        [STRING, STRING, STRING],
        STRING,
        [
            (("hello world", "world", "flink"), "hello flink"),
            (("ababab", "abab", "z"), "zab"),
            (("aaa", "a", ""), ""),
            (("é", "", r"\1"), r"\1é\1"),
            (("a.c", ".", r"\0"), r"a\0c"),
            ((None, "a", "b"), None),
            (("a", None, "b"), None),
            (("a", "a", None), None),
        ],
    ),
    (
        lambda a, b, c: a.translate(b, c),
        [STRING, STRING, STRING],
        STRING,
        [
            ((None, "abc", "123"), None),
            (("www.apache.org", None, "123"), "www.apache.org"),
            (("www.apache.org", "abc", None), "www.phe.org"),
            (("", "abc", "123"), ""),
            (("www.apache.org", "", "123"), "www.apache.org"),
            (("www.apache.org", "abc", ""), "www.phe.org"),
            (("www.apache.org", "abcde.", "123"), "www1p13horg"),
            (("www.apache.org", "abc", "12345"), "www.1p13he.org"),
            (("www.apache.org", "abcae", "12345"), "www.1p13h5.org"),
            (("翻译test、测试", "翻译测试test、", "测试翻译tset。"), "测试tset。翻译"),
            (("www.😀.org", ".😀", "😀."), "www😀.😀org"),
            (("www.😀.org", "😀w", "笑é"), "ééé.笑.org"),
        ],
    ),
    (
        lambda a, b: concat(a, b),
        [STRING, STRING],
        STRING,
        [(("a", "b"), "ab"), (("", ""), ""), ((None, "b"), None), (("a", None), None)],
    ),
    (
        lambda a, b: concat(a, b),
        [BINARY_STRING, BINARY_STRING],
        BINARY_STRING,
        [((b"\xff", b"b"), b"\xffb"), ((None, b"b"), None)],
    ),
    (
        lambda a, b, c, d: concat_ws(a, b, c, d),
        [STRING, STRING, STRING, STRING],
        STRING,
        [
            (("~", "AA", None, "BB"), "AA~BB"),
            (("~", "AA", "", "BB"), "AA~~BB"),
            (("~", None, None, None), ""),
            ((None, "a", "b", "c"), None),
        ],
    ),
    (
        lambda a, b, c: a.elt(b, c),
        [INT, STRING, STRING],
        STRING,
        [
            ((1, "a", "b"), "a"),
            ((2, "a", "b"), "b"),
            ((0, "a", "b"), None),
            ((3, "a", "b"), None),
            ((-1, "a", "b"), None),
            ((1, None, "b"), None),
            ((None, "a", "b"), None),
        ],
    ),
]


@pytest.mark.parametrize("case", range(len(MORE)))
def test_functions_with_options(case: int) -> None:
    build, kinds, result, rows = MORE[case]
    check(build, kinds, rows, result)
    check_options(build, kinds, rows)


def test_characters_of_codes() -> None:
    rows = [((97,), "a"), ((353,), "a"), ((0,), "\0"), ((256,), "\0"), ((233,), "é"), ((-1,), ""), ((None,), None)]
    check(lambda a: a.chr, [INT], rows, text(1, fixed=True))


def test_result_types_follow_the_argument() -> None:
    columns: Columns = {"c": (NOT_NULL_CHAR, ["abc"]), "n": (INT, [1])}
    varying = text(3).nulls(nullable=False)
    same: list[Expression] = [col("c").upper_case, col("c").lower_case, col("c").init_cap]
    assert [type_of(own, columns) for own in same] == [NOT_NULL_CHAR] * 3
    changed = [col("c").trim(), col("c").ltrim("a"), col("c").substring(1), col("c").left(1), col("c").right(2)]
    assert [type_of(own, columns) for own in changed] == [varying] * 5
    assert type_of(col("c").substring(1, 2), columns) == varying
    assert type_of(col("c").substring(1, -2), columns) == varying.nulls()
    assert type_of(col("c").substring(1, col("n")), columns) == varying.nulls()
    never_null = [col("c").repeat(2), col("c").replace("a", "b"), col("c").reverse, concat(col("c"), "x")]
    assert [type_of(own, columns) for own in never_null] == [STRING.nulls(nullable=False)] * 4
    may_be_null = [
        col("c").lpad(2, "x"),
        col("c").rpad(2, "x"),
        col("c").split_index(",", 0),
        lit(1).elt("a", "b"),
    ]
    assert [type_of(own, columns) for own in may_be_null] == [STRING] * 3 + [text(1, fixed=True)]
    assert type_of(concat_ws(",", col("c"), null_of(STRING)), columns) == STRING.nulls(nullable=False)
    assert type_of(col("c").translate(null_of(STRING), "x"), columns) == STRING.nulls(nullable=False)
    assert type_of(col("c").starts_with("a"), columns) == BOOLEAN.nulls(nullable=False)
    assert type_of(col("c").split(","), columns) == array(STRING).nulls(nullable=False)


@pytest.mark.parametrize(
    "expression",
    [
        col("n").upper_case,
        col("s").lpad("x", "y"),
        col("s").repeat("2"),
        concat(col("s"), col("n")),
        concat_ws(col("n"), "a"),
        col("s").starts_with(b"a"),
        col("s").elt("a"),
        col("s").chr,
        col("s").substring(1.5),
    ],
)
def test_arguments_of_other_types_are_refused(expression: Expression) -> None:
    with pytest.raises(InvalidExpressionError):
        type_of(expression, {"n": (INT, []), "s": (STRING, [])})


def test_null_without_a_type_is_a_text() -> None:
    assert evaluate(lit("a").replace(lit(None), "b"), {}).to_pylist() == [None]
    assert evaluate(lit(None).upper_case, {}).to_pylist() == [None]
