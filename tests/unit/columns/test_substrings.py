"""Functions that find, take, replace and split parts of texts, with the values and types of Flink SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns.logical_types import BINARY_STRING, BOOLEAN, INT, STRING, LogicalType, array
from headgate.table.expression import Expression
from headgate.table.expressions import col, lit
from tests.unit.columns.evaluate import check, evaluate
from tests.unit.columns.test_texts import Rows, check_options

CASES: list[tuple[Callable[..., Expression], list[LogicalType], LogicalType, Rows]] = [
    (
        lambda a, b: a.substring(b),
        [STRING, INT],
        STRING,
        [
            (("abcdef", 3), "cdef"),
            (("abcdef", 1), "abcdef"),
            (("abcdef", 0), "abcdef"),
            (("abcdef", 7), ""),
            (("abcdef", -2), "ef"),
            (("abcdef", -6), "abcdef"),
            (("abcdef", -7), ""),
            (("é😀x", 2), "😀x"),
            (("", 1), ""),
            ((None, 1), None),
            (("a", None), None),
        ],
    ),
    (
        lambda a, b, c: a.substring(b, c),
        [STRING, INT, INT],
        STRING,
        [
            (("abcdef", 2, 3), "bcd"),
            (("abcdef", 2, 0), ""),
            (("abcdef", 2, 100), "bcdef"),
            (("abcdef", 2, 2147483647), "bcdef"),
            (("abcdef", 0, 2), "ab"),
            (("abcdef", -3, 2), "de"),
            (("abcdef", -3, 3), "def"),
            (("abcdef", -3, 9), "def"),
            (("abcdef", -9, 5), ""),
            (("abcdef", 2, -1), None),
            (("é😀x", 2, 1), "😀"),
            ((None, 1, 1), None),
            (("a", 1, None), None),
        ],
    ),
    (lambda a, b, c: a.substr(b, c), [STRING, INT, INT], STRING, [(("abcdef", 2, 3), "bcd"), (("a", 1, None), None)]),
    (
        lambda a, b: a.left(b),
        [STRING, INT],
        STRING,
        [(("é😀x", 2), "é😀"), (("abc", 0), ""), (("abc", -1), ""), (("abc", 9), "abc"), (("abc", None), None)],
    ),
    (
        lambda a, b: a.right(b),
        [STRING, INT],
        STRING,
        [(("é😀x", 2), "😀x"), (("abc", 0), ""), (("abc", -1), ""), (("abc", 9), "abc"), ((None, 1), None)],
    ),
    (
        lambda a, b, c: a.overlay(b, c),
        [STRING, STRING, INT],
        STRING,
        [
            (("xxxxxtest", "xxxx", 6), "xxxxxxxxx"),
            (("abcdef", "é", 2), "aécdef"),
            (("abcdef", "xyz", 5), "abcdxyz"),
            (("abcdef", "x", 0), "abcdef"),
            (("abcdef", "x", -1), "abcdef"),
            (("abcdef", "x", 7), "abcdef"),
            (("abcdef", None, 0), None),
            ((None, "x", 1), None),
            (("abc", "x", None), None),
        ],
    ),
    (
        lambda a, b, c, d: a.overlay(b, c, d),
        [STRING, STRING, INT, INT],
        STRING,
        [
            (("xxxxxtest", "xxxx", 6, 2), "xxxxxxxxxst"),
            (("abcdef", "x", 2, 3), "axef"),
            (("abcdef", "x", 2, 100), "ax"),
            (("abcdef", "x", 2, 0), "ax"),
            (("abcdef", "x", 2, None), None),
        ],
    ),
    (
        lambda a, b: a.position(b),
        [STRING, STRING],
        INT,
        [
            (("a", "bbbbba"), 6),
            (("z", "abc"), 0),
            (("", "abc"), 1),
            (("", ""), 1),
            (("a", ""), 0),
            (("x", "é😀x"), 3),
            (("😀", "é😀x"), 2),
            ((None, "a"), None),
            (("a", None), None),
        ],
    ),
    (
        lambda a, b: a.instr(b),
        [STRING, STRING],
        INT,
        [(("Corporate Floor", "or"), 2), (("abc", "x"), 0), (("", ""), 1), ((None, "a"), None)],
    ),
    (lambda a, b: a.locate(b), [STRING, STRING], INT, [(("bar", "foobarbar"), 4), (("x", "abc"), 0)]),
    (
        lambda a, b, c: a.locate(b, c),
        [STRING, STRING, INT],
        INT,
        [
            (("bar", "foobarbar", 5), 7),
            (("bar", "foobarbar", 4), 4),
            (("bar", "foobarbar", 8), 0),
            (("bar", "foobarbar", 0), 4),
            (("bar", "foobarbar", 99), 0),
            (("x", "éxéx", 3), 4),
            (("x", "éxéx", None), None),
        ],
    ),
    (
        lambda a, b: a.starts_with(b),
        [STRING, STRING],
        BOOLEAN,
        [(("abc", "ab"), True), (("abc", "b"), False), (("abc", ""), True), (("", "a"), False), (("a", None), None)],
    ),
    (
        lambda a, b: a.ends_with(b),
        [BINARY_STRING, BINARY_STRING],
        BOOLEAN,
        [((b"ab\xff", b"\xff"), True), ((b"ab", b"a"), False), ((b"ab", b""), True), ((None, b"a"), None)],
    ),
    (
        lambda a, b: a.split(b),
        [STRING, STRING],
        array(STRING),
        [
            (("a,b,,c", ","), ["a", "b", "", "c"]),
            ((",a,", ","), ["", "a", ""]),
            (("abc", ","), ["abc"]),
            (("é😀x", ""), ["é", "😀", "x"]),
            (("", ","), []),
            (("", ""), []),
            (("a-!-b", "-!-"), ["a", "b"]),
            ((None, ","), None),
            (("a", None), None),
        ],
    ),
    (
        lambda a, b, c: a.split_index(b, c),
        [STRING, STRING, INT],
        STRING,
        [
            (("AQIDBAZ", "I", 0), "AQ"),
            (("AQIDBAZ", "I", 1), "DBAZ"),
            (("AQIDBAZ", "I", 2), None),
            (("AQIDBAZ", "I", -1), None),
            (("a b", "", 1), "b"),
            (("", "I", 0), None),
            ((None, "I", 0), None),
            (("a", None, 0), None),
            (("a", "I", None), None),
        ],
    ),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_functions(case: int) -> None:
    build, kinds, result, rows = CASES[case]
    check(build, kinds, rows, result)
    check_options(build, kinds, rows)


texts = st.text(alphabet="aé😀", max_size=5)


@given(st.lists(st.tuples(texts, st.integers(-4, 4), st.integers(0, 4)), min_size=1, max_size=8))
def test_parts_are_those_of_python(rows: list[tuple[str, int, int]]) -> None:
    columns: dict[str, tuple[LogicalType, list[Any]]] = {
        "t": (STRING, [own for own, _, _ in rows]),
        "b": (INT, [begin for _, begin, _ in rows]),
        "n": (INT, [count for _, _, count in rows]),
    }

    def part(own: str, begin: int, count: int) -> str:
        start = len(own) + begin if begin < 0 else max(begin - 1, 0)
        return own[start : start + count] if start >= 0 else ""

    found: pa.Array = evaluate(col("t").substring(col("b"), col("n")), columns)
    assert found.to_pylist() == [part(*row) for row in rows]
    sought = evaluate(lit("a").locate(col("t"), col("b")), columns)
    assert sought.to_pylist() == [own.find("a", max(begin - 1, 0)) + 1 for own, begin, _ in rows]
    assert evaluate(col("t").reverse.reverse, columns).to_pylist() == columns["t"][1]
