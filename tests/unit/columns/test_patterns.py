"""LIKE, SIMILAR TO and regular expressions, with the values and types of Flink SQL."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns.java_patterns import java_pattern
from headgate.columns.logical_types import BOOLEAN, INT, STRING, LogicalType, array, map_of
from headgate.columns.program import ColumnProgram
from headgate.columns.resolve import ExpressionScope
from headgate.columns.schema import Schema
from headgate.columns.typed import Apply
from headgate.errors import InvalidExpressionError
from headgate.table.expression import Expression
from headgate.table.expressions import col
from tests.unit.columns.evaluate import check, evaluate, type_of
from tests.unit.columns.test_texts import Rows, check_options

CASES: list[tuple[Callable[..., Expression], list[LogicalType], LogicalType, Rows]] = [
    (
        lambda a, b: a.like(b),
        [STRING, STRING],
        BOOLEAN,
        [
            (("Jack", "Ja%"), True),
            (("Jack", "%ck"), True),
            (("Jack", "%ac%"), True),
            (("Jack", "Jack"), True),
            (("Jack", "jack"), False),
            (("Jack", "J_ck"), True),
            (("Jack", "J%k"), True),
            (("Jack", "_"), False),
            (("Jack", "%"), True),
            (("", "%"), True),
            (("", ""), True),
            (("a", ""), False),
            (("a.c", "a.c"), True),
            (("abc", "a.c"), False),
            (("a\nb", "a%b"), True),
            (("a\nb", "a_b"), False),
            (("é😀", "__"), True),
            (("100%", r"100\%"), True),
            (("1000", r"100\%"), False),
            (("a_c", r"a\_c"), True),
            (("a\\", r"a\\"), True),
            (("a(b%c", r"a(_\%%"), True),
            ((None, "a"), None),
            (("a", None), None),
        ],
    ),
    (
        lambda a, b, c: a.like(b, c),
        [STRING, STRING, STRING],
        BOOLEAN,
        [(("100%", "100!%", "!"), True), (("100x", "100!%", "!"), False), (("a!", "a!!", "!"), True)],
    ),
    (
        lambda a, b: a.similar(b),
        [STRING, STRING],
        BOOLEAN,
        [
            (("TEST", "_*"), True),
            (("TEST", "(TE)(ST)"), True),
            (("TEST", "[TES]+"), True),
            (("TEST", "TE"), False),
            (("TEST", "T%T"), True),
            (("TEST", "TEST|ABC"), True),
            (("TEST", "T.ST"), True),
            (("a1", "[[:ALPHA:]][[:DIGIT:]]"), True),
            (("a\nb", "a%b"), True),
            (("a$", "a$"), True),
            (("[", "[^a-z]"), True),
            ((None, "a"), None),
            (("a", None), None),
        ],
    ),
    (
        lambda a, b: a.regexp(b),
        [STRING, STRING],
        BOOLEAN,
        [
            (("foo(bar)", r"\(b"), True),
            (("abc", "b"), True),
            (("abc", ""), False),
            (("abc", "("), False),
            (("", "x*"), True),
            (("abc\n", "c$"), True),
            (("abc\r\n", "c$"), True),
            (("abc\n\n", "c$"), False),
            (("a\nb", "a.b"), False),
            (("a\rb", "a.b"), False),
            (("a\nb", "(?s)a.b"), True),
            (("x\nab", "(?m)^ab$"), True),
            (("É", "(?i)é"), False),
            (("ABC", "(?i)b"), True),
            (("é", r"\w"), False),
            (("٣", r"\d"), False),
            (("aa", r"(a)\1"), True),
            (("ab", r"(a)\1"), False),
            (("foobar", "foo(?=bar)"), True),
            (("foobaz", "foo(?!baz)"), False),
            (("Lu", r"\p{Lu}\p{L}"), True),
            (("aaa", "a++a"), False),
            (("a.b", r"\Qa.b\E"), True),
            (("axb", r"\Qa.b\E"), False),
            (("b", "[a-c&&[^b]]"), False),
            (("c", "[a-c&&[^b]]"), True),
            (("]", "[]a]"), True),
            (("é", "\\x{e9}"), True),
            ((None, "a"), None),
            (("a", None), None),
        ],
    ),
    (
        lambda a, b, c: a.regexp_replace(b, c),
        [STRING, STRING, STRING],
        STRING,
        [
            (("foobar", "oo|ar", ""), "fb"),
            (("a1b22", r"\d+", r"$0\1"), r"a$0\1b$0\1"),
            (("baac", "a*", "-"), "-b--c-"),
            (("é😀", "", "-"), "-é-😀-"),
            (("abc\n", "c$", "X"), "abX\n"),
            (("aab", r"\bA|^a", "x"), "xab"),
            (("abc", "(", "x"), None),
            ((None, "a", "b"), None),
            (("a", None, "b"), None),
            (("a", "a", None), None),
        ],
    ),
    (
        lambda a, b: a.regexp_extract(b),
        [STRING, STRING],
        STRING,
        [(("22ABC", "[A-Z]+"), "ABC"), (("22", "[A-Z]+"), None), (("22", "("), None), ((None, "a"), None)],
    ),
    (
        lambda a, b, c: a.regexp_extract(b, c),
        [STRING, STRING, INT],
        STRING,
        [
            (("foothebar", "foo(.*?)(bar)", 2), "bar"),
            (("foothebar", "foo(.*?)(bar)", 1), "the"),
            (("foothebar", "foo(.*?)(bar)", 0), "foothebar"),
            (("foothebar", "foo(.*?)(bar)", 3), None),
            (("foothebar", "foo(.*?)(bar)", -1), None),
            (("ac", "a(b)?c", 1), None),
            (("abc", "a(b)?c", 1), "b"),
            (("ac", "a(b*)c", 1), ""),
            (("b", "(a)|(b)", 1), None),
            (("b", "(a)|(b)", 2), "b"),
            (("b", "((a)|(b))", 1), "b"),
            (("a", "((a)*)+", 1), ""),
            (("2024-05", r"(?<year>\d+)-(?<month>\d+)", 2), "05"),
            (("a", "(a)", None), None),
        ],
    ),
    (
        lambda a, b: a.regexp_extract_all(b),
        [STRING, STRING],
        array(STRING),
        [
            (("100-200, 300-400", r"(\d+)-(\d+)"), ["100", "300"]),
            (("abcdeabde", "abcdeabde"), None),
            (("a", "("), None),
        ],
    ),
    (
        lambda a, b, c: a.regexp_extract_all(b, c),
        [STRING, STRING, INT],
        array(STRING),
        [
            (("100-200, 300-400", r"(\d+)-(\d+)", 0), ["100-200", "300-400"]),
            (("100-200, 300-400", r"(\d+)-(\d+)", 2), ["200", "400"]),
            (("100-200, 300-400", "[a-z]", 0), []),
            (("abcdeabde", "(abcdeabde)|([a-z]*)", 2), [None, ""]),
            (("abcdeabde", "ab((c)|(.?))de", 2), ["c", None]),
            (("abcdeabde", "", 0), [""] * 10),
            (("abcdeabde", "(abcdeabde)", -1), None),
            (("abcdeabde", "(abcdeabde)", 2), None),
            ((None, "a", 0), None),
        ],
    ),
    (
        lambda a, b: a.regexp_count(b),
        [STRING, STRING],
        INT,
        [
            (("abcabcabc", "abcab"), 1),
            (("abcd", "z"), 0),
            (("^abc", r"\^abc"), 1),
            (("a.b.c.d", r"\."), 3),
            (("abc123xyz456", r"\d"), 6),
            (("Helloworld! Hello everyone!", r"\bHello\b"), 1),
            (("aaa", "^a"), 1),
            (("aab", r"\ba"), 1),
            (("é", ""), 2),
            (("baac", "a*"), 4),
            (("b1", r"\d??"), 3),
            (("a", "("), None),
            ((None, "a"), None),
        ],
    ),
    (
        lambda a, b: a.regexp_instr(b),
        [STRING, STRING],
        INT,
        [
            (("hello world! Hello everyone!", "Hello"), 14),
            (("Helloworld! Hello everyone!", r"\bHello\b"), 13),
            (("a.b.c.d", r"\."), 2),
            (("é😀1", r"\d"), 3),
            (("abc", "z"), 0),
            (("abc", "z*"), 1),
            (("abc", "(?<=b)c"), 3),
            (("", "(?m)^"), 0),
            (("", r"\B"), 1),
            (("abc", "("), None),
            ((None, "a"), None),
        ],
    ),
    (
        lambda a, b: a.regexp_substr(b),
        [STRING, STRING],
        STRING,
        [
            (("abcdeabde", "abcde"), "abcde"),
            (("abc", "z"), None),
            (("abc", "z*"), ""),
            (("Helloworld! Hello", r"\bHello\b"), "Hello"),
            (("abc", "("), None),
            ((None, "a"), None),
        ],
    ),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_functions(case: int) -> None:
    build, kinds, result, rows = CASES[case]
    columns = {f"a{index}": (kind, [row[0][index] for row in rows]) for index, kind in enumerate(kinds)}
    found = evaluate(build(*map(col, columns)), columns)
    assert [repr(value) for value in found.to_pylist()] == [repr(expected) for _, expected in rows]
    assert type_of(build(*map(col, columns)), columns) == result
    known = [row for row in rows if row[0][1] != "("]  # a constant that is no pattern is refused
    check(build, kinds, known, result)
    check_options(build, kinds, known)


@pytest.mark.parametrize(
    "build",
    [
        lambda a: a.regexp("("),
        lambda a: a.regexp_replace("[a", "b"),
        lambda a: a.regexp_extract("a{2"),
        lambda a: a.regexp_extract_all("*"),
        lambda a: a.regexp_count(r"\p{IsKlingon}"),
        lambda a: a.regexp_instr(r"\y"),
        lambda a: a.regexp_substr("(?<=a*)b"),
        lambda a: a.str_to_map("(", "="),
        lambda a: a.like(r"a\b"),
        lambda a: a.like("a", "!!"),
        lambda a: a.similar("a[b"),
        lambda a: a.similar("a("),
        lambda a: a.regexp(1),
    ],
)
def test_bad_patterns_are_refused_before_the_job_runs(build: Callable[[Expression], Expression]) -> None:
    with pytest.raises(InvalidExpressionError):
        type_of(build(col("a")), {"a": (STRING, [])})


def test_bad_patterns_of_columns_fail_like_and_similar() -> None:
    columns = {"a": (STRING, ["a"]), "p": (STRING, ["a\\"])}
    with pytest.raises(ValueError, match="escapes nothing"):
        evaluate(col("a").like(col("p")), columns)


def test_text_to_map() -> None:
    result = map_of(STRING, STRING)
    rows: Rows = [
        (("k1=v1,k2=v2",), [("k1", "v1"), ("k2", "v2")]),
        (("k1",), [("k1", None)]),
        (("a=b=c,a=d,",), [("a", "d")]),
        (("",), []),
        ((",",), []),
        ((None,), None),
    ]
    check(lambda a: a.str_to_map(), [STRING], rows, result)
    more: Rows = [
        (("k1:v1;k2: v2", ";", ":"), [("k1", "v1"), ("k2", " v2")]),
        (("k1$$v1|k2$$ v2", r"\|", r"\$\$"), [("k1", "v1"), ("k2", " v2")]),
        ((None, ",", "="), None),
        (("a", None, "="), None),
    ]
    check(lambda a, b, c: a.str_to_map(b, c), [STRING, STRING, STRING], more, result)


@pytest.mark.parametrize(
    ("source", "by_value"),
    [("a+b", False), (r"\bé$", False), ("(?i)x", False), ("a(?=b)", True), (r"(a)\1", True), ("a++", True)],
)
def test_arrow_computes_patterns_that_it_has(source: str, by_value: bool) -> None:
    scope = ExpressionScope(Schema([("a", STRING)]))
    made = scope.typed(col("a").regexp(source).node)
    assert isinstance(made, Apply)
    assert made.by_value == by_value
    assert (java_pattern(source).re2 is None) == by_value


def test_programs_with_patterns_are_sent_to_workers() -> None:
    scope = ExpressionScope(Schema([("a", STRING)]))
    made = scope.all_typed([col("a").regexp("a(?=b)").node, col("a").like("a%_").node, col("a").similar("a").node])
    program = pickle.loads(pickle.dumps(ColumnProgram(made)))  # noqa: S301  # of this test
    columns = program.columns(pa.RecordBatch.from_pydict({"a": ["ab", "c"]}))
    assert [own.to_pylist() for own in columns] == [[True, False], [True, False], [False, False]]


_atoms = st.sampled_from(["a", "b", "é", ".", "[ab]", "[^a]", r"\w", r"\b", "^", "$", r"\n"])
_patterns = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "?", "+", "*?", "{1,2}"])).map(lambda pair: f"({pair[0]}){pair[1]}"),
    ),
    max_leaves=5,
)


@given(_patterns, st.lists(st.text(alphabet="abé\n ", max_size=6), min_size=1, max_size=6))
def test_arrow_and_python_agree(source: str, rows: list[str]) -> None:
    pattern = java_pattern(source)
    python = pattern.python
    columns = {"a": (STRING, rows)}
    first = [python.search(row) for row in rows]
    assert evaluate(col("a").regexp(source), columns).to_pylist() == [own is not None for own in first]
    assert evaluate(col("a").regexp_substr(source), columns).to_pylist() == [own and own.group() for own in first]
    places = [own.start() + 1 if own else 0 for own in first]
    assert evaluate(col("a").regexp_instr(source), columns).to_pylist() == places
    counts = [len(list(pattern.matches(row))) for row in rows]
    assert evaluate(col("a").regexp_count(source), columns).to_pylist() == counts
    replaced = [pattern.replaced(row, "_") for row in rows]
    assert evaluate(col("a").regexp_replace(source, "_"), columns).to_pylist() == replaced
    for group in range(python.groups + 1):
        extracted = [own and own.group(group) for own in first]
        assert evaluate(col("a").regexp_extract(source, group), columns).to_pylist() == extracted
