"""Functions of JSON, with the values and types of Flink SQL."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns import logical_types as types
from headgate.columns.json_values import parsed, written
from headgate.columns.logical_types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, STRING, LogicalType
from headgate.errors import InvalidExpressionError
from headgate.table.expression import Expression
from headgate.table.expressions import col, json_array, json_object, json_string, lit, null_of
from headgate.table.json_behavior import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of

STORE = '{"b": [1, 2.50, "x", null, {"c": true}], "a": {"k": "v", "n": null}, "a.b": 1e5, "big": 12345678901234567890}'


@pytest.mark.parametrize(
    ("kind", "true"),
    [
        (None, ["1", "[]", "{}", '"abc"', "null", " true "]),
        (JsonType.VALUE, ["1", "[]", "{}", '"abc"', "null", " true "]),
        (JsonType.SCALAR, ["1", '"abc"', "null", " true "]),
        (JsonType.ARRAY, ["[]"]),
        (JsonType.OBJECT, ["{}"]),
    ],
)
def test_is_json(kind: JsonType | None, true: list[str]) -> None:
    texts = ["1", "[]", "{}", '"abc"', "null", " true ", "abc", "", "{", "NaN", "{'a': 1}", "01", None]
    rows = [((own,), own in true) for own in texts]
    check(lambda a: a.is_json(kind), [STRING], rows, BOOLEAN.nulls(nullable=False))


EXISTS: list[tuple[str, JsonExistsOnError | None, str | None, bool | None]] = [
    ("$.a", None, '{"a": true}', True),
    ("$.b", None, '{"a": true}', False),
    ("$.a", None, '{"a": null}', False),
    ("$.a[0].b", None, '{"a": [{"b": 1}]}', True),
    ("strict $.b", JsonExistsOnError.TRUE, '{"a": true}', True),
    ("strict $.b", JsonExistsOnError.FALSE, '{"a": true}', False),
    ("strict $.b", JsonExistsOnError.UNKNOWN, '{"a": true}', None),
    ("lax $.b", JsonExistsOnError.TRUE, '{"a": true}', False),
    ("$.a", JsonExistsOnError.TRUE, "no json", True),
    ("lax $.a", JsonExistsOnError.TRUE, "no json", False),
    ("$.a", JsonExistsOnError.TRUE, None, None),
]


@pytest.mark.parametrize("case", EXISTS)
def test_json_exists(case: tuple[str, JsonExistsOnError | None, str | None, bool | None]) -> None:
    path, on_error, text, expected = case
    check(lambda a: a.json_exists(path, on_error), [STRING], [((text,), expected)], BOOLEAN)


VALUES: list[tuple[str, LogicalType, Any]] = [
    ("$.a.k", STRING, "v"),
    ("$['a.b']", STRING, "1E+5"),
    ('$["a.b"]', DOUBLE, 100000.0),
    ("$.b[0]", STRING, "1"),
    ("$.b[1]", STRING, "2.50"),
    ("$.b[1]", INT, 2),
    ("$.b[1]", types.decimal(5, 1), Decimal("2.5")),
    ("$.b[4].c", STRING, "true"),
    ("$.b[4].c", BOOLEAN, True),
    ("$.b[4].c", INT, None),
    ("$.b[-1].c", BOOLEAN, True),
    ("$.b[0]", BOOLEAN, None),
    ("$.big", STRING, "12345678901234567890"),
    ("$.big", BIGINT, None),
    ("$.big", types.decimal(20, 0), Decimal("12345678901234567890")),
    ("$.big", types.decimal(5, 0), None),
    ("$.b[0]", FLOAT, 1.0),
    ("$.a.k", INT, None),
    ("$.a.n", STRING, None),
    ("$.a", STRING, None),
    ("$.z", STRING, None),
    ("$.b[9]", STRING, None),
    ("lax $.z.y", STRING, None),
]


@pytest.mark.parametrize("case", VALUES)
def test_json_value(case: tuple[str, LogicalType, Any]) -> None:
    path, kind, expected = case
    check(lambda a: a.json_value(path, kind), [STRING], [((STORE,), expected), ((None,), None), (("{",), None)], kind)


def test_json_value_of_nothing_and_of_errors() -> None:
    default, error = JsonValueOnEmptyOrError.DEFAULT, JsonValueOnEmptyOrError.ERROR
    null = JsonValueOnEmptyOrError.NULL

    def value(path: str, *behavior: Any) -> Any:
        return evaluate(lit(STORE).json_value(path, *behavior), {}).to_pylist()[0]

    assert value("lax $.z", BOOLEAN, default, False) is False
    assert value("lax $.a", STRING, default, "none", null) == "none"
    assert value("strict $.z", INT, null, None, default, -1) == -1
    assert value("$.a", INT, null, None, default, -1) == -1
    assert value("$.a.k", INT, default, 1, default, 2) == 2
    for path, behavior in (("lax $.z", (STRING, error)), ("$.z", (STRING, null, None, error))):
        with pytest.raises(ValueError, match=r"json_value\(\) of .* with the path"):
            value(path, *behavior)


QUERIES: list[tuple[str, JsonQueryWrapper, str, str | None]] = [
    ("$.a", JsonQueryWrapper.WITHOUT_ARRAY, '{"a": {"c": "é", "b": 1}}', '{"b":1,"c":"é"}'),
    ("$", JsonQueryWrapper.WITHOUT_ARRAY, "[1, 2.50, null]", "[1,2.50,null]"),
    ("$", JsonQueryWrapper.CONDITIONAL_ARRAY, "{}", "[{}]"),
    ("$", JsonQueryWrapper.CONDITIONAL_ARRAY, "[1,2]", "[1,2]"),
    ("$", JsonQueryWrapper.UNCONDITIONAL_ARRAY, "[1,2]", "[[1,2]]"),
    ("$", JsonQueryWrapper.WITHOUT_ARRAY, "1", None),
    ("$", JsonQueryWrapper.CONDITIONAL_ARRAY, "1", "[1]"),
    ("$.z", JsonQueryWrapper.UNCONDITIONAL_ARRAY, "{}", None),
    ("$.b[*].c", JsonQueryWrapper.WITHOUT_ARRAY, STORE, "[true]"),
    ("$.b[0,2]", JsonQueryWrapper.WITHOUT_ARRAY, STORE, '[1,"x"]'),
    ("$.b[1:3]", JsonQueryWrapper.WITHOUT_ARRAY, STORE, '[2.50,"x"]'),
    ("$..c", JsonQueryWrapper.WITHOUT_ARRAY, STORE, "[true]"),
    ("$.a.*", JsonQueryWrapper.WITHOUT_ARRAY, STORE, '["v",null]'),
    ("$", JsonQueryWrapper.WITHOUT_ARRAY, "{", None),
]


@pytest.mark.parametrize("case", QUERIES)
def test_json_query(case: tuple[str, JsonQueryWrapper, str, str | None]) -> None:
    path, wrapper, text, expected = case
    check(lambda a: a.json_query(path, wrapper), [STRING], [((text,), expected), ((None,), None)], STRING)


def test_json_query_of_nothing_and_of_errors() -> None:
    behavior = JsonQueryOnEmptyOrError
    without = JsonQueryWrapper.WITHOUT_ARRAY

    def query(path: str, *given: Any) -> Any:
        return evaluate(lit("{}").json_query(path, without, *given), {}).to_pylist()[0]

    assert query("lax $.z", behavior.EMPTY_OBJECT, behavior.NULL) == "{}"
    assert query("strict $.z", behavior.NULL, behavior.EMPTY_ARRAY) == "[]"
    assert query("strict $.z", behavior.EMPTY_ARRAY, behavior.NULL) is None
    with pytest.raises(ValueError, match="json_query"):
        query("lax $.z", behavior.ERROR)


@pytest.mark.parametrize("path", ["", "$.a[?(@.b > 1)]", "$.a.length()", "$.a[", "$a.b c", "$['a'"])
def test_paths_that_are_none_are_refused(path: str) -> None:
    with pytest.raises(InvalidExpressionError, match="path"):
        type_of(col("a").json_exists(path), {"a": (STRING, [])})


def test_quotes() -> None:
    rows: list[tuple[tuple[str | None], str | None]] = [
        (("abc",), '"abc"'),
        (('a"\\/\b\f\n\r\t',), r'"a\"\\\/\b\f\n\r\t"'),
        (("é😀",), r'"\u00e9\ud83d\ude00"'),
        (("",), '""'),
        ((None,), None),
    ]
    check(lambda a: a.json_quote(), [STRING], rows, STRING)
    check(lambda a: a.json_unquote(), [STRING], [((made,), own[0]) for own, made in rows], STRING)
    check(lambda a: a.json_unquote(), [STRING], [(("a",), "a"), (("[1]",), "[1]"), (('"',), '"')])
    with pytest.raises(ValueError, match="json_unquote"):
        evaluate(lit('"a"b"').json_unquote(), {})


CONSTRUCTIONS: list[tuple[Expression, str]] = [
    (json_object(), "{}"),
    (json_array(), "[]"),
    (json_object(JsonOnNull.NULL, "K2", "V2", "K1", "V1"), '{"K1":"V1","K2":"V2"}'),
    (json_object(JsonOnNull.NULL, "k", null_of(STRING)), '{"k":null}'),
    (json_object(JsonOnNull.ABSENT, "k", null_of(STRING)), "{}"),
    (json_object(JsonOnNull.NULL, "k", json_array(JsonOnNull.NULL, 1)), '{"k":[1]}'),
    (json_object(JsonOnNull.NULL, "n", col("n"), "t", col("t")), '{"n":7,"t":"é\\"/"}'),
    (json_array(JsonOnNull.NULL, 1, "2", True, null_of(INT)), '[1,"2",true,null]'),
    (json_array(JsonOnNull.ABSENT, null_of(INT), col("n")), "[7]"),
    (json_array(JsonOnNull.NULL, json_object(JsonOnNull.NULL, "a", col("n"))), '[{"a":7}]'),
    (json_array(JsonOnNull.NULL, col("d"), 1e10, Decimal("1.50")), "[0.1,1.0E10,1.50]"),
    (json_array(JsonOnNull.NULL, col("f")), "[0.1]"),
    (json_array(JsonOnNull.NULL, b"ab", col("at"), col("day")), '["YWI=","2024-05-06T07:08:09.5","2024-05-06"]'),
    (json_array(JsonOnNull.NULL, col("list"), col("map"), col("row")), '[[1,null],{"k":2},{"x":3}]'),
    (json_string(col("t")), '"é\\"/"'),
    (json_string(col("list")), "[1,null]"),
    (json_string(lit("\x1f\n")), r'"\u001F\n"'),
    (json_array(JsonOnNull.NULL, json_array(JsonOnNull.NULL, "\x1f")), r'[["\u001F"]]'),
    (json_object(JsonOnNull.NULL, "k", 1, "k", 2), '{"k":2}'),
]
COLUMNS: Columns = {
    "n": (INT, [7]),
    "t": (STRING, ['é"/']),
    "d": (DOUBLE, [0.1]),
    "f": (FLOAT, [0.1]),
    "at": (types.timestamp(3), [datetime.datetime(2024, 5, 6, 7, 8, 9, 500_000)]),  # TIMESTAMP has no zone
    "day": (types.DATE, [datetime.date(2024, 5, 6)]),
    "list": (types.array(INT), [[1, None]]),
    "map": (types.map_of(STRING, INT), [[("k", 2)]]),
    "row": (types.row([("x", INT)]), [{"x": 3}]),
}


@pytest.mark.parametrize("case", range(len(CONSTRUCTIONS)))
def test_json_is_made_of_values(case: int) -> None:
    expression, expected = CONSTRUCTIONS[case]
    assert evaluate(expression, COLUMNS).to_pylist() == [expected]
    if "json_string" not in repr(expression):
        assert type_of(expression, COLUMNS) == STRING.nulls(nullable=False)
        nothing: Columns = {name: (kind, []) for name, (kind, _) in COLUMNS.items()}
        assert evaluate(expression, nothing).to_pylist() == []


@pytest.mark.parametrize(
    "build",
    [
        lambda: json_object(JsonOnNull.NULL, "a"),
        lambda: json_object(JsonOnNull.NULL, col("t"), 1),
        lambda: json_array(JsonOnNull.NULL, lit(datetime.timedelta(1))),
        lambda: col("t").json_value("$", types.DATE),
        lambda: col("t").json_value("$", INT, JsonValueOnEmptyOrError.DEFAULT, "x"),
        lambda: col("n").json_exists("$"),
    ],
)
def test_wrong_arguments_are_refused(build: Callable[[], Expression]) -> None:
    with pytest.raises(InvalidExpressionError):
        type_of(build(), COLUMNS)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(_json)
def test_written_json_is_read_again(value: Any) -> None:
    assert json.loads(written(value)) == value
    assert json.loads(written(parsed(json.dumps(value)))) == value


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_quoted_texts_are_json(texts: list[str]) -> None:
    made = evaluate(col("a").json_quote(), {"a": (STRING, texts)}).to_pylist()
    control = dict.fromkeys(range(32))  # Flink leaves other control characters as they are
    assert [json.loads(own, strict=False) for own in made] == texts
    assert all(own.translate(control).isascii() for own in made)
