"""Functions of arrays, with the values and types of Flink's documentation and rules."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns import logical_types as types
from headgate.columns.logical_types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, STRING, LogicalType
from headgate.columns.resolve import ExpressionScope
from headgate.columns.schema import Schema
from headgate.columns.typed import Apply
from headgate.errors import InvalidExpressionError
from headgate.table.expression import Expression
from headgate.table.expressions import array, col, lit, null_of
from tests.unit.columns.evaluate import Columns, check, evaluate, type_of

INTS, TEXTS = types.array(INT), types.array(STRING)
SOLID = types.array(INT.nulls(nullable=False)).nulls(nullable=False)

Rows = list[tuple[tuple[Any, ...], Any]]
TABLE: list[tuple[str, Callable[..., Expression], list[LogicalType], Rows, LogicalType]] = [
    (
        "append",
        lambda a, b: a.array_append(b),
        [INTS, INT],
        [
            (([1, 2], 3), [1, 2, 3]),
            (([], 3), [3]),
            (([1], None), [1, None]),
            ((None, 3), None),
            (([None], -1), [None, -1]),
        ],
        INTS,
    ),
    (
        "prepend",
        lambda a, b: a.array_prepend(b),
        [TEXTS, STRING],
        [((["ü"], "日"), ["日", "ü"]), (([], ""), [""]), ((["a"], None), [None, "a"]), ((None, "x"), None)],
        TEXTS,
    ),
    (
        "concat",
        lambda a, b, c: a.array_concat(b, c),
        [INTS, INTS, INTS],
        [(([1], [], [2, None]), [1, 2, None]), (([], [], []), []), (([1], None, [2]), None), ((None, [1], [2]), None)],
        INTS,
    ),
    (
        "contains",
        lambda a, b: a.array_contains(b),
        [INTS, INT],
        [
            (([1, 2], 2), True),
            (([1, 2], 3), False),
            (([], 1), False),
            (([1, None], None), True),
            (([1], None), False),
            ((None, 1), None),
        ],
        BOOLEAN,
    ),
    (
        "position",
        lambda a, b: a.array_position(b),
        [TEXTS, STRING],
        [
            ((["a", "b", "b"], "b"), 2),
            ((["a"], "z"), 0),
            (([], "z"), 0),
            (([None, "a"], "a"), 2),
            (([None], None), None),
            ((None, "a"), None),
        ],
        INT,
    ),
    (
        "remove",
        lambda a, b: a.array_remove(b),
        [INTS, INT],
        [
            (([1, 2, 1, None], 1), [2, None]),
            (([1, None, 2, None], None), [1, 2]),
            (([1], 1), []),
            (([], 1), []),
            ((None, 1), None),
        ],
        INTS,
    ),
    (
        "distinct",
        lambda a: a.array_distinct(),
        [INTS],
        [(([3, 1, 3, None, 1, None],), [3, 1, None]), (([],), []), ((None,), None)],
        INTS,
    ),
    (
        "union",
        lambda a, b: a.array_union(b),
        [INTS, INTS],
        [(([1, 1, None], [None, 2, 1]), [1, None, 2]), (([], []), []), ((None, [1]), None), (([1], None), None)],
        INTS,
    ),
    (
        "intersect",
        lambda a, b: a.array_intersect(b),
        [INTS, INTS],
        [
            (([3, 1, 1, None], [None, 1, 3]), [3, 1, None]),
            (([1], [2]), []),
            (([1], None), None),
            ((None, None), None),
        ],
        INTS,
    ),
    (
        "except",
        lambda a, b: a.array_except(b),
        [INTS, INTS],
        [(([3, 1, 3, None, 2], [1, None]), [3, 2]), (([1], [1]), []), (([1, 1], []), [1]), (([1], None), None)],
        INTS,
    ),
    (
        "reverse",
        lambda a: a.array_reverse(),
        [INTS],
        [(([1, 2, None],), [None, 2, 1]), (([],), []), (([7],), [7]), ((None,), None)],
        INTS,
    ),
    (
        "slice",
        lambda a, b: a.array_slice(b),
        [INTS, INT],
        [
            (([1, 2, 3], 2), [2, 3]),
            (([1, 2, 3], -2), [2, 3]),
            (([1, 2, 3], 0), [1, 2, 3]),
            (([1, 2, 3], 4), []),
            (([1, 2, 3], -9), [1, 2, 3]),
            (([], 1), []),
            (([1], None), None),
            ((None, 1), None),
        ],
        INTS,
    ),
    (
        "slice of two positions",
        lambda a, b, c: a.array_slice(b, c),
        [INTS, INT, INT],
        [
            (([1, 2, 3, 4], 2, 3), [2, 3]),
            (([1, 2, 3, 4], -3, -2), [2, 3]),
            (([1, 2, 3, 4], 0, 2), [1, 2]),
            (([1, 2, 3, 4], 3, 2), []),
            (([1, 2, 3, 4], 2, 99), [2, 3, 4]),
            (([1, 2, 3, 4], -99, -50), []),
            (([1, 2, None], 3, 3), [None]),
            (([1, 2], 1, None), None),
            ((None, 1, 1), None),
        ],
        INTS,
    ),
    (
        "sort",
        lambda a: a.array_sort(),
        [INTS],
        [(([3, None, 1, 2],), [None, 1, 2, 3]), (([],), []), ((None,), None)],
        INTS,
    ),
    (
        "sort in an order",
        lambda a, b: a.array_sort(b),
        [INTS, BOOLEAN],
        [
            (([3, None, 1], True), [None, 1, 3]),
            (([3, None, 1], False), [3, 1, None]),
            (([1], None), None),
            ((None, True), None),
        ],
        INTS,
    ),
    (
        "sort with NULL first or last",
        lambda a, b, c: a.array_sort(b, c),
        [INTS, BOOLEAN, BOOLEAN],
        [
            (([3, None, 1], True, False), [1, 3, None]),
            (([3, None, 1], True, True), [None, 1, 3]),
            (([3, None, 1], False, True), [None, 3, 1]),
            (([3, None, 1], False, False), [3, 1, None]),
            (([1], True, None), None),
        ],
        INTS,
    ),
    (
        "max",
        lambda a: a.array_max(),
        [INTS],
        [(([3, None, 7, 1],), 7), (([None],), None), (([],), None), (([-5],), -5), ((None,), None)],
        INT,
    ),
    (
        "min",
        lambda a: a.array_min(),
        [TEXTS],
        [((["b", None, "a"],), "a"), (([None],), None), (([],), None), ((["z", "Z"],), "Z"), ((None,), None)],
        STRING,
    ),
    (
        "join",
        lambda a, b: a.array_join(b),
        [TEXTS, STRING],
        [
            ((["a", None, "b"], "-"), "a-b"),
            (([], "-"), ""),
            (([None], "-"), ""),
            ((["a", "b"], ""), "ab"),
            ((["a"], None), None),
            ((None, "-"), None),
        ],
        STRING,
    ),
    (
        "join with a replacement",
        lambda a, b, c: a.array_join(b, c),
        [TEXTS, STRING, STRING],
        [
            ((["a", None, "b"], ", ", "?"), "a, ?, b"),
            (([None, None], "", "日"), "日日"),
            ((["a"], "-", None), None),
            ((None, "-", "?"), None),
        ],
        STRING,
    ),
]


@pytest.mark.parametrize(("name", "build", "kinds", "rows", "result"), TABLE)
def test_functions_of_arrays(
    name: str, build: Callable[..., Expression], kinds: list[LogicalType], rows: Rows, result: LogicalType
) -> None:
    check(build, kinds, rows, result)
    whole: Rows = [(arguments, found) for arguments, found in rows if None not in arguments]
    if name not in ("append", "prepend"):  # whose elements are not NULL either
        never_null = name not in ("max", "min")
        check(build, [kind.nulls(nullable=False) for kind in kinds], whole, result.nulls(not never_null))


def test_the_result_has_null_elements_only_where_they_can_be() -> None:
    columns: Columns = {"a": (SOLID, []), "n": (INT, []), "m": (INT.nulls(nullable=False), [])}
    a, n, m = col("a"), col("n"), col("m")
    assert type_of(a.array_append(m), columns) == SOLID
    assert type_of(a.array_append(n), columns) == types.array(INT)
    assert type_of(a.array_prepend(n), columns) == types.array(INT)
    assert type_of(a.array_contains(n), columns) == BOOLEAN.nulls(nullable=False)
    assert type_of(a.array_position(n), columns) == INT
    assert type_of(a.array_max(), columns) == INT
    assert type_of(a.array_union(array(lit(1))), columns) == SOLID


KINDS: list[tuple[LogicalType, list[Any]]] = [
    (BIGINT, [5, -(2**63), 2**63 - 1]),
    (types.TINYINT, [1, -1, 0]),
    (DOUBLE, [1.5, -0.5, 0.0]),
    (FLOAT, [1.5, -0.5, 0.0]),
    (BOOLEAN, [True, False]),
    (types.decimal(10, 2), [Decimal("1.50"), Decimal("-2.00")]),
    (types.BINARY_STRING, [b"b", b"", b"\xff"]),
    (types.DATE, [datetime.date(2024, 1, 1), datetime.date(1, 1, 1)]),
    (types.time(3), [datetime.time(1), datetime.time(0, 0, 0, 1000)]),
    (types.timestamp(6), [datetime.datetime(2024, 1, 1), datetime.datetime(1500, 1, 1)]),
    (types.day_interval(3), [datetime.timedelta(1), datetime.timedelta(-1)]),
]


@pytest.mark.parametrize(("kind", "values"), KINDS)
def test_elements_of_all_types(kind: LogicalType, values: list[Any]) -> None:
    own = types.array(kind)
    first, *others = values
    check(lambda a: a.array_sort(), [own], [(([*values, None],), [None, *sorted(values)])], own)
    check(lambda a: a.array_max(), [own], [((values,), max(values))], kind)
    check(lambda a: a.array_min(), [own], [((values,), min(values))], kind)
    check(lambda a: a.array_distinct(), [own], [(([*values, *values],), values)], own)
    check(lambda a, b: a.array_remove(b), [own, kind], [((values, first), others)], own)
    check(lambda a, b: a.array_except(b), [own, own], [((values, others), [first])], own)


def test_arrays_of_arrays_and_rows_are_compared() -> None:
    inner = types.array(INTS)
    check(lambda a: a.array_distinct(), [inner], [(([[1], [1], None, [], None],), [[1], None, []])], inner)
    check(lambda a, b: a.array_contains(b), [inner, INTS], [(([[1, None]], [1, None]), True), (([[1]], [2]), False)])
    rows = types.array(types.row([("a", INT), ("b", STRING)]))
    value = {"a": 1, "b": None}
    check(lambda a: a.array_distinct(), [rows], [(([value, value],), [value])], rows)
    with pytest.raises(InvalidExpressionError, match="array of numbers, texts"):
        type_of(col("a").array_sort(), {"a": (inner, [])})
    with pytest.raises(InvalidExpressionError, match="array of numbers, texts"):
        type_of(col("a").array_max(), {"a": (rows, [])})


def test_only_nested_elements_are_compared_by_value() -> None:
    columns = Schema([("a", INTS), ("b", types.array(INTS))])
    builds: list[Callable[[Expression], Expression]] = [
        lambda a: a.array_distinct(),
        lambda a: a.array_union(a),
        lambda a: a.array_contains(a.at(1)),
    ]
    for build in builds:
        plain, nested = (ExpressionScope(columns).typed(build(col(name)).node) for name in "ab")
        assert isinstance(plain, Apply)
        assert isinstance(nested, Apply)
        assert (plain.by_value, nested.by_value) == (False, True)


def test_zeros_are_equal_and_so_is_not_a_number() -> None:
    own = types.array(DOUBLE)
    nan = float("nan")
    check(lambda a: a.array_distinct(), [own], [(([0.0, -0.0, nan, nan],), [0.0, nan])], own)
    check(lambda a, b: a.array_contains(b), [own, DOUBLE], [(([-0.0], 0.0), True)])


def test_elements_get_the_common_type() -> None:
    columns: Columns = {"a": (INTS, [[1]]), "n": (BIGINT, [2**40])}
    assert type_of(col("a").array_append(col("n")), columns) == types.array(BIGINT)
    assert evaluate(col("a").array_append(col("n")), columns).to_pylist() == [[1, 2**40]]
    assert evaluate(col("a").array_contains(1), columns).to_pylist() == [True]
    assert evaluate(col("a").array_contains(null_of(INT)), columns).to_pylist() == [False]
    assert evaluate(lit(["b", "a"]).array_sort(), {}).to_pylist() == [["a", "b"]]
    assert evaluate(lit(["b", "a"]).array_sort(null_first=False), {}).to_pylist() == [["a", "b"]]


@pytest.mark.parametrize(
    "build",
    [
        lambda a, n, t: a.array_append(t),
        lambda a, n, t: n.array_append(n),
        lambda a, n, t: a.array_union(t),
        lambda a, n, t: a.array_concat(n),
        lambda a, n, t: a.array_join("-"),
        lambda a, n, t: a.array_slice(t),
        lambda a, n, t: a.array_sort(n),
        lambda a, n, t: n.array_max(),
        lambda a, n, t: n.array_distinct(),
        lambda a, n, t: n.array_reverse(),
    ],
)
def test_other_types_are_refused(build: Callable[..., Expression]) -> None:
    columns: Columns = {"a": (INTS, []), "n": (INT, []), "t": (STRING, [])}
    with pytest.raises(InvalidExpressionError, match=r"array_\w+\(\) takes"):
        type_of(build(*map(col, "ant")), columns)


lists = st.none() | st.lists(st.none() | st.integers(0, 4), max_size=6)


@given(st.lists(st.tuples(lists, lists, st.none() | st.integers(0, 4)), min_size=1, max_size=6))
def test_functions_of_many_rows_agree_with_python(
    rows: list[tuple[list[int | None] | None, list[int | None] | None, int | None]],
) -> None:
    columns: Columns = {
        "a": (INTS, [own[0] for own in rows]),
        "b": (INTS, [own[1] for own in rows]),
        "n": (INT, [own[2] for own in rows]),
    }
    a, b, n = map(col, "abn")

    def unique(values: list[int | None]) -> list[int | None]:
        return list(dict.fromkeys(values))

    def both(compute: Callable[[list[int | None], list[int | None]], Any]) -> list[Any]:
        return [None if one is None or other is None else compute(one, other) for one, other, _ in rows]

    def one(compute: Callable[[list[int | None], int | None], Any]) -> list[Any]:
        return [None if own is None else compute(own, number) for own, _, number in rows]

    expected: list[tuple[Expression, list[Any]]] = [
        (a.array_union(b), both(lambda x, y: unique(x + y))),
        (a.array_intersect(b), both(lambda x, y: [v for v in unique(x) if v in y])),
        (a.array_except(b), both(lambda x, y: [v for v in unique(x) if v not in y])),
        (a.array_concat(b, a), both(lambda x, y: x + y + x)),
        (a.array_append(n), one(lambda x, number: [*x, number])),
        (a.array_prepend(n), one(lambda x, number: [number, *x])),
        (a.array_remove(n), one(lambda x, number: [v for v in x if v != number])),
        (a.array_contains(n), one(lambda x, number: number in x)),
        (a.array_reverse(), one(lambda x, _: x[::-1])),
        (a.array_distinct(), one(lambda x, _: unique(x))),
        (a.array_sort(), one(lambda x, _: sorted(x, key=lambda v: (v is not None, v or 0)))),
        (a.array_max(), one(lambda x, _: max((v for v in x if v is not None), default=None))),
        (a.cardinality, one(lambda x, _: len(x))),
        (a.at(n), one(lambda x, number: x[number - 1] if number and number <= len(x) else None)),
    ]
    for expression, wanted in expected:
        found = evaluate(expression, columns)
        found.validate(full=True)
        assert found.to_pylist() == wanted, repr(expression)
