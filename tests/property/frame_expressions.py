"""Random expressions of columns, each for a DataFrame and as SQL of DuckDB.

Only expressions with one meaning in both are here: numbers stay small, and a double is a multiple of a quarter, so sums
do not depend on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from hypothesis import strategies as st

from headgate import dataframe as pf
from headgate.table import Expression
from headgate.table.expressions import coalesce, concat, if_then_else, null_of
from headgate.table.time_expression import TimeIntervalUnit

INT, DOUBLE, DECIMAL, TEXT, BOOL, TIME, DATE, NAN, LIST = (
    "int",
    "double",
    "decimal",
    "text",
    "bool",
    "time",
    "date",
    "nan",
    "list",
)

SQL_TYPES: Final = {
    INT: "BIGINT",
    DOUBLE: "DOUBLE",
    DECIMAL: "DECIMAL(18, 2)",
    TEXT: "STRING",
    BOOL: "BOOLEAN",
    TIME: "TIMESTAMP_LTZ(3)",
    DATE: "DATE",
}
WORDS: Final = ["", "a", "ab", "Ab", "b a", " é", "a%b"]
PATTERNS: Final = ["a%", "%b", "_b", "%a%", ""]

Columns = Sequence[tuple[str, str]]
"""Names and kinds."""


@dataclass(frozen=True)
class Both:
    """An expression of a DataFrame, and the same as SQL of DuckDB."""

    frame: Expression
    sql: str

    def __repr__(self) -> str:
        return self.sql


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def column(name: str) -> Both:
    return Both(pf.col(name), f'"{name}"')


def whole(value: int) -> Both:
    return Both(pf.lit(value), f"({value})")


def text(value: str) -> Both:
    return Both(pf.lit(value), quoted(value))


def _literals(kind: str) -> st.SearchStrategy[Both] | None:
    match kind:
        case "int":
            return st.integers(-9, 9).map(whole)
        case "double":
            return st.integers(-9, 9).map(lambda n: Both(pf.lit(n / 4), f"CAST({n / 4} AS DOUBLE)"))
        case "decimal":
            return st.integers(-999, 999).map(
                lambda n: Both(pf.lit(Decimal(n).scaleb(-2)), f"CAST({n / 100:.2f} AS DECIMAL(18, 2))")
            )
        case "text":
            return st.sampled_from(WORDS).map(text)
        case "bool":
            return st.booleans().map(lambda own: Both(pf.lit(own), str(own).upper()))
    return None


def _null(kind: str) -> Both:
    sql_type = SQL_TYPES[kind]
    of_duckdb = "TIMESTAMP" if kind == TIME else sql_type
    return Both(null_of(sql_type), f"CAST(NULL AS {of_duckdb})")


def expressions(columns: Columns, kind: str, depth: int = 2) -> st.SearchStrategy[Both]:
    """Return expressions of a kind over columns."""
    simple = [st.just(column(name)) for name, own in columns if own == kind]
    if (literals := _literals(kind)) is not None:
        simple.append(literals)
    if not simple:
        return st.just(_null(kind))
    if depth == 0 or kind not in SQL_TYPES:
        return st.one_of(simple)

    def some(of: str) -> st.SearchStrategy[Both]:
        return st.deferred(lambda: expressions(columns, of, depth - 1))

    return st.one_of(*simple, *_of_any(some, kind), *_OF_KIND[kind](some, columns))


Some = Callable[[str], st.SearchStrategy[Both]]


def _of_any(some: Some, kind: str) -> list[st.SearchStrategy[Both]]:
    own = some(kind)
    return [
        st.builds(
            lambda test, a, b: Both(
                if_then_else(test.frame, a.frame, b.frame), f"CASE WHEN {test} THEN {a} ELSE {b} END"
            ),
            some(BOOL),
            own,
            own,
        ),
        st.builds(lambda a, b: Both(coalesce(a.frame, b.frame), f"coalesce({a}, {b})"), own, own),
        st.builds(lambda a, b: Both(a.frame.if_null(b.frame), f"coalesce({a}, {b})"), own, own),
    ]


def _infix(sign: str, operate: Callable[[Any, Any], Any]) -> Callable[[Both, Both], Both]:
    return lambda a, b: Both(operate(a.frame, b.frame), f"({a} {sign} {b})")


ARITHMETIC: Final = [
    _infix("+", lambda a, b: a + b),
    _infix("-", lambda a, b: a - b),
]
COMPARISONS: Final = [
    _infix("=", lambda a, b: a == b),
    _infix("<>", lambda a, b: a != b),
    _infix("<", lambda a, b: a < b),
    _infix(">=", lambda a, b: a >= b),
]


def _applied(functions: list[Callable[..., Both]], *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Both]:
    return st.builds(lambda function, *given: function(*given), st.sampled_from(functions), *arguments)


def _ints(some: Some, columns: Columns) -> list[st.SearchStrategy[Both]]:
    divisor = st.integers(-5, 5).filter(bool)
    return [
        _applied([*ARITHMETIC, _infix("*", lambda a, b: a * b)], some(INT), some(INT)),
        st.builds(lambda a, n: Both(a.frame / pf.lit(n), f"({a} // ({n}))"), some(INT), divisor),
        st.builds(lambda a, n: Both(a.frame % pf.lit(n), f"({a} % ({n}))"), some(INT), divisor),
        some(INT).map(lambda a: Both(a.frame.abs, f"abs({a})")),
        some(INT).map(lambda a: Both(-a.frame, f"(- {a})")),
        some(TEXT).map(lambda a: Both(a.frame.char_length, f"length({a})")),
        some(TIME).map(lambda a: Both(a.frame.cast("DATE").extract(TimeIntervalUnit.DAY), f"day({a})")),
        *(st.just(Both(pf.col(n).cardinality, f'len("{n}")')) for n, kind in columns if kind == LIST),
        *(st.just(Both(pf.col(n).at(1), f'"{n}"[1]')) for n, kind in columns if kind == LIST),
    ]


def _doubles(some: Some, columns: Columns) -> list[st.SearchStrategy[Both]]:
    return [
        _applied(ARITHMETIC, some(DOUBLE), some(DOUBLE)),
        some(INT).map(lambda a: Both(a.frame.cast("DOUBLE"), f"CAST({a} AS DOUBLE)")),
        some(DOUBLE).map(lambda a: Both(a.frame.floor(), f"floor({a})")),
        some(DOUBLE).map(lambda a: Both(a.frame.ceil(), f"ceil({a})")),
        some(DOUBLE).map(lambda a: Both(a.frame.abs, f"abs({a})")),
    ]


def _decimals(some: Some, columns: Columns) -> list[st.SearchStrategy[Both]]:
    cast = "DECIMAL(18, 2)"
    return [
        _applied(ARITHMETIC, some(DECIMAL), some(DECIMAL)).map(
            lambda a: Both(a.frame.cast(cast), f"CAST({a} AS {cast})")
        ),
        some(INT).map(lambda a: Both(a.frame.cast(cast), f"CAST({a} AS {cast})")),
    ]


def _texts(some: Some, columns: Columns) -> list[st.SearchStrategy[Both]]:
    at = st.integers(1, 3)
    return [
        st.builds(lambda a, b: Both(concat(a.frame, b.frame), f"({a} || {b})"), some(TEXT), some(TEXT)),
        some(TEXT).map(lambda a: Both(a.frame.upper_case, f"upper({a})")),
        some(TEXT).map(lambda a: Both(a.frame.lower_case, f"lower({a})")),
        some(TEXT).map(lambda a: Both(a.frame.trim(), f"trim({a})")),
        some(TEXT).map(lambda a: Both(a.frame.reverse, f"reverse({a})")),
        st.builds(lambda a, b, n: Both(a.frame.substring(b, n), f"substring({a}, {b}, {n})"), some(TEXT), at, at),
        st.builds(
            lambda a, b: Both(a.frame.replace("a", b), f"replace({a}, 'a', {quoted(b)})"),
            some(TEXT),
            st.sampled_from(WORDS),
        ),
        some(INT).map(lambda a: Both(a.frame.cast("STRING"), f"CAST({a} AS VARCHAR)")),
    ]


def _bools(some: Some, columns: Columns) -> list[st.SearchStrategy[Both]]:
    return [
        *(_applied(COMPARISONS, some(kind), some(kind)) for kind in (INT, DOUBLE, DECIMAL, TEXT, TIME)),
        *(some(kind).map(lambda a: Both(a.frame.is_null, f"({a} IS NULL)")) for kind in SQL_TYPES),
        *(st.just(Both(pf.col(n).is_nan, f'isnan("{n}")')) for n, kind in columns if kind == NAN),
        _applied([_infix("AND", lambda a, b: a & b), _infix("OR", lambda a, b: a | b)], some(BOOL), some(BOOL)),
        some(BOOL).map(lambda a: Both(~a.frame, f"(NOT {a})")),
        some(BOOL).map(lambda a: Both(a.frame.is_not_true, f"({a} IS DISTINCT FROM TRUE)")),
        st.builds(lambda a, p: Both(a.frame.like(p), f"({a} LIKE {quoted(p)})"), some(TEXT), st.sampled_from(PATTERNS)),
        st.builds(
            lambda a, p: Both(a.frame.starts_with(p), f"starts_with({a}, {quoted(p)})"),
            some(TEXT),
            st.sampled_from(WORDS),
        ),
        st.builds(
            lambda a, b, c: Both(a.frame.between(b.frame, c.frame), f"({a} BETWEEN {b} AND {c})"), *[some(INT)] * 3
        ),
        st.builds(lambda a, b, c: Both(a.frame.in_(b.frame, c.frame), f"({a} IN ({b}, {c}))"), *[some(TEXT)] * 3),
    ]


def _times(some: Some, columns: Columns) -> list[st.SearchStrategy[Both]]:
    return [
        st.builds(
            lambda a, n: Both((a.frame + pf.lit(n).seconds).cast("TIMESTAMP_LTZ(3)"), f"({a} + INTERVAL ({n}) SECOND)"),
            some(TIME),
            st.integers(-20, 20),
        )
    ]


def _dates(some: Some, columns: Columns) -> list[st.SearchStrategy[Both]]:
    return [some(TIME).map(lambda a: Both(a.frame.cast("DATE"), f"CAST({a} AS DATE)"))]


_OF_KIND: Final = {
    INT: _ints,
    DOUBLE: _doubles,
    DECIMAL: _decimals,
    TEXT: _texts,
    BOOL: _bools,
    TIME: _times,
    DATE: _dates,
}
