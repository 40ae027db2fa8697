"""Arrays, maps and rows: made, and taken apart."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headgate.columns import logical_types as types
from headgate.columns.lists import elements
from headgate.columns.logical_types import BIGINT, BOOLEAN, INT, STRING, LogicalType, text
from headgate.errors import InvalidExpressionError
from headgate.table.expression import Expression
from headgate.table.expressions import array, col, if_then_else, lit, map_, map_from_arrays, null_of, row
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of

INTS = types.array(INT)
MAP = types.map_of(STRING.nulls(nullable=False), INT)
ROW = types.row([("id", INT.nulls(nullable=False)), ("name", STRING)])


def solid(kind: LogicalType) -> LogicalType:
    return kind.nulls(nullable=False)


def test_array() -> None:
    rows: list[tuple[tuple[Any, ...], Any]] = [((1, 2), [1, 2]), ((None, 3), [None, 3])]
    check(array, [INT, INT], rows, solid(INTS))
    check(array, [solid(INT), BIGINT], [((1, 2**40), [1, 2**40])], solid(types.array(BIGINT)))
    check(array, [STRING], [(("日",), ["日"])], solid(types.array(STRING)))
    check(array, [INTS, INTS], [(([1], None), [[1], None])], solid(types.array(INTS)))
    assert type_of(array(1, 2), {}) == solid(types.array(solid(INT)))
    assert type_of(array("a", "bcd"), {}) == solid(types.array(solid(text(3))))
    assert evaluate(array(1, null_of(INT)), {}).to_pylist() == [[1, None]]
    with pytest.raises(InvalidExpressionError, match="arguments of one type"):
        type_of(array(1, "a"), {})


def test_map() -> None:
    rows: list[tuple[tuple[Any, ...], Any]] = [
        (("a", 1, "b", 2), [("a", 1), ("b", 2)]),
        (("a", None, "b", 2), [("a", None), ("b", 2)]),
        (("a", 1, "a", 2), [("a", 2)]),
    ]
    kinds = [solid(STRING), INT, solid(STRING), INT]
    check(map_, kinds, rows, solid(MAP))
    assert type_of(map_("a", 1, "bc", 2**40), {}) == solid(types.map_of(solid(text(2)), solid(BIGINT)))
    with pytest.raises(InvalidExpressionError, match="keys and values"):
        type_of(map_("a", 1, "b"), {})
    columns: Columns = {"k": (STRING, ["a", None])}
    with pytest.raises(ValueError, match="a key of a MAP is NULL"):
        evaluate(map_(col("k"), 1), columns)
    guarded = if_then_else(col("k").is_null, null_of(types.map_of(STRING, solid(INT))), map_(col("k"), 1))
    assert evaluate(guarded, columns).to_pylist() == [[("a", 1)], None]


def test_row() -> None:
    result = types.row([("f0", INT), ("f1", STRING)])
    rows = [((1, "a"), {"f0": 1, "f1": "a"}), ((None, None), {"f0": None, "f1": None})]
    check(row, [INT, STRING], rows, solid(result))
    assert type_of(row(1, "ab"), {}) == solid(types.row([("f0", solid(INT)), ("f1", solid(text(2, fixed=True)))]))


def test_get() -> None:
    rows: list[tuple[tuple[Any], Any]] = [(({"id": 1, "name": "a"},), "a"), (({"id": 2, "name": None},), None)]
    rows.append(((None,), None))
    check(lambda own: own.get("name"), [ROW], rows, STRING)
    check(lambda own: own.get(1), [ROW], rows, STRING)
    ids: list[tuple[tuple[Any], Any]] = [(({"id": 1, "name": "a"},), 1)]
    check(lambda own: own.get("id"), [ROW], [*ids, ((None,), None)], INT)
    check(lambda own: own.get("id"), [solid(ROW)], ids, solid(INT))
    check(lambda one, other: row(one, other).get(1), [INT, STRING], [((1, "b"), "b")], STRING)
    nested = types.row([("inner", ROW)])
    check(lambda own: own.get("inner").get("name"), [nested], [(({"inner": {"id": 1, "name": "x"}},), "x")], STRING)


def test_get_names_the_fields() -> None:
    columns: Columns = {"own": (ROW, []), "n": (INT, [])}
    with pytest.raises(InvalidExpressionError, match="no field 'nam' in the row; did you mean 'name'"):
        type_of(col("own").get("nam"), columns)
    for index in (2, -1):
        with pytest.raises(InvalidExpressionError, match=f"a row of 2 fields has no field with the index {index}"):
            type_of(col("own").get(index), columns)
    with pytest.raises(InvalidExpressionError, match="a ROW, and the name or index"):
        type_of(col("n").get("x"), columns)
    with pytest.raises(TypeError, match="by its name or its index"):
        col("own").get(col("n"))  # type: ignore[arg-type]


def test_at_an_index() -> None:
    rows: list[tuple[tuple[Any, Any], Any]] = [
        (([1, 2, 3], 1), 1),
        (([1, 2, 3], 3), 3),
        (([1, 2, 3], 4), None),
        (([1, None], 2), None),
        (([], 1), None),
        ((None, 1), None),
    ]
    check(lambda own, index: own.at(index), [INTS, INT], [*rows, (([1], None), None)], INT)
    check(lambda own, index: own[index], [INTS, BIGINT], rows, INT)
    assert type_of(col("a").at(1), {"a": (solid(types.array(solid(INT))), [])}) == INT
    columns: Columns = {"a": (INTS, [[1, 2], [3]]), "n": (INT, [0, -1])}
    assert evaluate(col("a").at(col("n")), columns).to_pylist() == [None, None]
    for index in (0, -1):
        with pytest.raises(InvalidExpressionError, match=f"starts at 1, but is {index}"):
            type_of(col("a").at(index), columns)
    with pytest.raises(InvalidExpressionError, match="an array and an integer, or a map and a key"):
        type_of(col("n").at(1), columns)
    with pytest.raises(TypeError, match="no elements to iterate over"):
        list(col("a"))


def test_at_a_key() -> None:
    rows: list[tuple[tuple[Any, Any], Any]] = [
        (([("a", 1), ("b", 2)], "b"), 2),
        (([("a", None)], "a"), None),
        (([("a", 1)], "z"), None),
        (([], "a"), None),
        ((None, "a"), None),
        (([("a", 1)], None), None),
    ]
    check(lambda own, key: own.at(key), [MAP, STRING], rows, INT)
    numbers = types.map_of(solid(BIGINT), STRING)
    check(lambda own, key: own.at(key), [numbers, INT], [(([(1, "x"), (2, "y")], 2), "y")], STRING)
    with pytest.raises(InvalidExpressionError, match="a map and a key of its type"):
        type_of(col("m").at(1), {"m": (MAP, [])})


def test_cardinality() -> None:
    check(lambda own: own.cardinality, [INTS], [(([1, None],), 2), (([],), 0), ((None,), None)], INT)
    check(lambda own: own.cardinality, [MAP], [(([("a", 1)],), 1), (([],), 0), ((None,), None)], INT)
    assert type_of(array(1).cardinality, {}) == solid(INT)
    with pytest.raises(InvalidExpressionError, match="an array or a map"):
        type_of(lit(1).cardinality, {})


def test_element() -> None:
    check(lambda own: own.element, [INTS], [(([7],), 7), (([None],), None), (([],), None), ((None,), None)], INT)
    columns: Columns = {"a": (INTS, [[1], [1, 2]])}
    with pytest.raises(ValueError, match="takes an array of one element, but one has 2"):
        evaluate(col("a").element, columns)
    guarded: Expression = if_then_else(col("a").cardinality <= 1, col("a").element, -1)
    assert evaluate(guarded, columns).to_pylist() == [1, -1]


def test_the_parts_of_maps() -> None:
    rows: list[tuple[tuple[Any], Any]] = [(([("a", 1), ("b", None)],), ["a", "b"]), (([],), []), ((None,), None)]
    check(lambda own: own.map_keys, [MAP], rows, types.array(solid(STRING)))
    rows = [(([("a", 1), ("b", None)],), [1, None]), (([],), []), ((None,), None)]
    check(lambda own: own.map_values, [MAP], rows, INTS)
    entry = types.row([("key", solid(STRING)), ("value", INT)])
    rows = [(([("a", 1)],), [{"key": "a", "value": 1}]), (([],), []), ((None,), None)]
    check(lambda own: own.map_entries, [MAP], rows, types.array(entry))
    check(lambda own: own.map_entries, [solid(MAP)], rows[:2], solid(types.array(entry)))


def test_map_union() -> None:
    rows: list[tuple[tuple[Any, Any], Any]] = [
        (([("a", 1), ("b", 2)], [("b", 3), ("c", None)]), [("a", 1), ("b", 3), ("c", None)]),
        (([], []), []),
        ((None, [("a", 1)]), None),
        (([("a", 1)], None), None),
    ]
    check(lambda one, other: one.map_union(other), [MAP, MAP], rows, MAP)
    check(lambda one: one.map_union(), [MAP], [(([("a", 1)],), [("a", 1)])], MAP)
    with pytest.raises(InvalidExpressionError, match="takes maps"):
        type_of(col("m").map_union(col("n")), {"m": (MAP, []), "n": (INT, [])})


def test_map_from_arrays() -> None:
    kinds = [types.array(solid(STRING)), INTS]
    rows: list[tuple[tuple[Any, Any], Any]] = [
        ((["a", "b"], [1, None]), [("a", 1), ("b", None)]),
        ((["a", "a"], [1, 2]), [("a", 2)]),
        (([], []), []),
        ((None, [1]), None),
        ((["a"], None), None),
    ]
    check(map_from_arrays, kinds, rows, MAP)
    columns: Columns = {"k": (kinds[0], [["a", "b"]]), "v": (INTS, [[1]])}
    with pytest.raises(ValueError, match="not of 2 keys and 1 values"):
        evaluate(map_from_arrays(col("k"), col("v")), columns)
    with pytest.raises(InvalidExpressionError, match="an array of keys and an array of values"):
        type_of(map_from_arrays(1, 2), {})


def test_functions_of_an_empty_batch() -> None:
    columns: Columns = {"a": (INTS, []), "m": (MAP, []), "n": (INT, []), "r": (ROW, [])}
    a, m, n = map(col, "amn")
    for expression in (
        array(n, 1), map_("a", n), row(n), a.at(n), a.at(1), m.at("a"), a.cardinality, a.element, m.map_keys,
        m.map_union(m), a.array_sort(), a.array_max(), a.array_union(a), a.array_slice(1), col("r").get(0),
    ):  # fmt: skip
        assert evaluate(expression, columns).to_pylist() == [], repr(expression)


def test_arrays_whose_nulls_hide_elements() -> None:
    hidden = pa.ListArray.from_arrays(pa.array([0, 2, 3], pa.int32()), pa.array([1, 2, 3], pa.int32()))
    valid = pa.py_buffer(b"\x02")
    masked = pa.Array.from_buffers(hidden.type, 2, [valid, hidden.buffers()[1]], children=[hidden.values])
    columns: Columns = {"a": (types.of_arrow(masked.type, "a"), masked.to_pylist())}
    assert masked.to_pylist() == [None, [3]]
    own = elements(masked)
    assert own.values.to_pylist() == [3]
    assert own.arrays(masked.type).to_pylist() == [None, [3]]
    assert evaluate(col("a").cardinality, columns).to_pylist() == [None, 1]


def test_contains_is_a_predicate() -> None:
    assert type_of(array(1, 2).array_contains(2), {}) == solid(BOOLEAN)
