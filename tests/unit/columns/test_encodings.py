"""Encodings, digests and URLs, with the values and types of Flink SQL."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from urllib.parse import quote_plus, unquote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns.logical_types import BINARY_STRING, INT, STRING, LogicalType, text
from headgate.errors import InvalidExpressionError
from headgate.table.expression import Expression
from headgate.table.expressions import col, lit
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of
from tests.unit.columns.test_texts import Rows, check_options

URL = "http://user:pw@facebook.com:80/path1/p.php?k1=v1&k2=v2&ak1=#Ref1"

CASES: list[tuple[Callable[..., Expression], list[LogicalType], LogicalType, Rows]] = [
    (
        lambda a, b: a.encode(b),
        [STRING, STRING],
        BINARY_STRING,
        [
            (("aé", "UTF-8"), b"a\xc3\xa9"),
            (("aé", "utf-8"), b"a\xc3\xa9"),
            (("aé", "US-ASCII"), b"a?"),
            (("aé", "ISO-8859-1"), b"a\xe9"),
            (("é", "UTF-16BE"), b"\x00\xe9"),
            (("é", "UTF-16LE"), b"\xe9\x00"),
            (("é", "UTF-16"), b"\xfe\xff\x00\xe9"),
            ((None, "UTF-8"), None),
            (("a", None), None),
        ],
    ),
    (
        lambda a, b: a.decode(b),
        [BINARY_STRING, STRING],
        STRING,
        [
            ((b"a\xc3\xa9", "UTF-8"), "aé"),
            ((b"a\xff", "UTF-8"), "a\ufffd"),
            ((b"a\xe9", "ISO-8859-1"), "aé"),
            ((b"a\xe9", "US-ASCII"), "a\ufffd"),
            ((b"\x00\xe9", "UTF-16"), "é"),
            ((b"\xff\xfe\xe9\x00", "UTF-16"), "é"),
            ((None, "UTF-8"), None),
            ((b"a", None), None),
        ],
    ),
    (
        lambda a: a.to_base64,
        [STRING],
        STRING,
        [(("hello world",), "aGVsbG8gd29ybGQ="), (("",), ""), (("é",), "w6k="), (("a",), "YQ=="), ((None,), None)],
    ),
    (lambda a: a.to_base64, [BINARY_STRING], STRING, [((b"\xff\x00\xff",), "/wD/"), ((None,), None)]),
    (
        lambda a: a.from_base64,
        [STRING],
        STRING,
        [(("aGVsbG8gd29ybGQ=",), "hello world"), (("",), ""), (("YQ==",), "a"), (("YQ",), "a"), ((None,), None)],
    ),
    (
        lambda a: a.url_encode(),
        [STRING],
        STRING,
        [
            (("https://flink.apache.org/?q=a b",), "https%3A%2F%2Fflink.apache.org%2F%3Fq%3Da+b"),
            (("é~*-_.",), "%C3%A9%7E*-_."),
            (("",), ""),
            ((None,), None),
        ],
    ),
    (
        lambda a: a.url_decode(),
        [STRING],
        STRING,
        [
            (("https%3A%2F%2Fflink.apache.org%2F",), "https://flink.apache.org/"),
            (("a+b%20%C3%a9",), "a b é"),
            (("https://flink.apache.org/%",), None),
            (("%4",), None),
            (("%zz",), None),
            (("%FF",), "\ufffd"),
            (("",), ""),
            ((None,), None),
        ],
    ),
    (
        lambda a, b: a.parse_url(b),
        [STRING, STRING],
        STRING,
        [
            ((URL, "HOST"), "facebook.com"),
            ((URL, "PATH"), "/path1/p.php"),
            ((URL, "QUERY"), "k1=v1&k2=v2&ak1="),
            ((URL, "REF"), "Ref1"),
            ((URL, "PROTOCOL"), "http"),
            ((URL, "FILE"), "/path1/p.php?k1=v1&k2=v2&ak1="),
            ((URL, "AUTHORITY"), "user:pw@facebook.com:80"),
            ((URL, "USERINFO"), "user:pw"),
            ((URL, "host"), None),
            (("HTTPS://a.b", "PROTOCOL"), "https"),
            (("https://a.b", "PATH"), ""),
            (("https://a.b", "FILE"), ""),
            (("https://a.b", "QUERY"), None),
            (("https://a.b", "REF"), None),
            (("https://a.b", "USERINFO"), None),
            (("https://a.b/?", "QUERY"), ""),
            (("https://a.b/#", "REF"), ""),
            (("https://a.b/#x?y=z", "QUERY"), None),
            (("http://[::1]:80/", "HOST"), "[::1]"),
            (("file:/tmp/a", "PATH"), "/tmp/a"),
            (("file:/tmp/a", "AUTHORITY"), None),
            (("http://a:b/", "HOST"), None),
            (("inner-product:/a", "PATH"), None),
            (("no url", "HOST"), None),
            ((None, "HOST"), None),
            ((URL, None), None),
        ],
    ),
    (
        lambda a, b, c: a.parse_url(b, c),
        [STRING, STRING, STRING],
        STRING,
        [
            ((URL, "QUERY", "k1"), "v1"),
            ((URL, "QUERY", "k2"), "v2"),
            ((URL, "QUERY", "ak1"), ""),
            ((URL, "QUERY", "k"), None),
            ((URL, "PATH", "k1"), None),
            (("http://a/?a.b=1&axb=2", "QUERY", "a.b"), "1"),
            ((URL, "QUERY", None), None),
        ],
    ),
    (
        lambda a: a.md5,
        [STRING],
        text(32, fixed=True),
        [(("",), "d41d8cd98f00b204e9800998ecf8427e"), (("é",), hashlib.md5("é".encode()).hexdigest()), ((None,), None)],
    ),
    (lambda a: a.sha1, [STRING], text(40, fixed=True), [(("",), "da39a3ee5e6b4b0d3255bfef95601890afd80709")]),
    (lambda a: a.sha224, [STRING], text(56, fixed=True), [(("a",), hashlib.sha224(b"a").hexdigest())]),
    (lambda a: a.sha256, [STRING], text(64, fixed=True), [(("a",), hashlib.sha256(b"a").hexdigest())]),
    (lambda a: a.sha384, [STRING], text(96, fixed=True), [(("a",), hashlib.sha384(b"a").hexdigest())]),
    (lambda a: a.sha512, [STRING], text(128, fixed=True), [(("a",), hashlib.sha512(b"a").hexdigest())]),
    (
        lambda a, b: a.sha2(b),
        [STRING, INT],
        text(128),
        [
            (("a", 256), hashlib.sha256(b"a").hexdigest()),
            (("a", 512), hashlib.sha512(b"a").hexdigest()),
            (("a", None), None),
            ((None, 256), None),
        ],
    ),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_functions(case: int) -> None:
    build, kinds, result, rows = CASES[case]
    check(build, kinds, rows, result)
    check_options(build, kinds, rows)


@given(st.lists(st.one_of(st.none(), st.text(max_size=7)), min_size=1, max_size=8))
def test_encodings_are_those_of_python(rows: list[str | None]) -> None:
    columns = {"a": (STRING, rows)}
    encoded = evaluate(col("a").to_base64, columns).to_pylist()
    assert encoded == [None if own is None else base64.b64encode(own.encode()).decode() for own in rows]
    assert evaluate(col("a").to_base64.from_base64, columns).to_pylist() == rows
    quoted = [None if own is None else quote_plus(own, safe="*").replace("~", "%7E") for own in rows]
    assert evaluate(col("a").url_encode(), columns).to_pylist() == quoted
    assert evaluate(col("a").url_encode().url_decode(), columns).to_pylist() == rows


@given(st.lists(st.text(alphabet="%4aF+é", max_size=9), min_size=1, max_size=8))
def test_urls_are_decoded_as_by_python(rows: list[str]) -> None:
    found = evaluate(col("a").url_decode(), {"a": (STRING, rows)}).to_pylist()
    wrong = re.compile("%(?![0-9A-Fa-f]{2})")
    assert found == [None if wrong.search(own) else unquote_plus(own, errors="replace") for own in rows]


@pytest.mark.parametrize("value", ["a", "a*bc", "====", "YQ=a"])
def test_what_is_no_base64_fails(value: str) -> None:
    with pytest.raises(ValueError, match="is no base64"):
        evaluate(lit(value).from_base64, {})


def test_unknown_character_sets_and_lengths_are_refused() -> None:
    columns: Columns = {"a": (STRING, ["a"]), "n": (INT, [100])}
    for build in (col("a").encode("EBCDIC"), lit(b"a").decode("x"), col("a").sha2(100), col("n").md5):
        with pytest.raises(InvalidExpressionError):
            type_of(build, columns)
    for build in (col("a").encode(col("a")), col("a").sha2(col("n"))):
        with pytest.raises(ValueError, match=r"character set|bits"):
            evaluate(build, columns)
