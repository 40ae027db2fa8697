"""Random tables, and random plans over them: each plan as a DataFrame and as SQL of DuckDB."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from hypothesis import strategies as st

from headgate import dataframe as pf
from tests.property.frame_expressions import (
    BOOL,
    DATE,
    DECIMAL,
    DOUBLE,
    INT,
    LIST,
    NAN,
    SQL_TYPES,
    TEXT,
    TIME,
    WORDS,
    Both,
    column,
    expressions,
    quoted,
)

EPOCH: Final = dt.datetime(2024, 2, 28, 23, 59, 30)
SECOND: Final = dt.timedelta(seconds=1)
BOUNDS: Final = ("window_start", "window_end", "window_time")
FIELDS: Final = [
    ("ts", TIME, pa.timestamp("ms", "UTC")),
    ("k", INT, pa.int64()),
    ("j", INT, pa.int32()),
    ("x", DOUBLE, pa.float64()),
    ("f", NAN, pa.float64()),
    ("d", DECIMAL, pa.decimal128(10, 2)),
    ("s", TEXT, pa.string()),
    ("b", BOOL, pa.bool_()),
    ("l", LIST, pa.list_(pa.int64())),
]
SCHEMA: Final = pa.schema([(name, kind) for name, _, kind in FIELDS])
KINDS: Final = {name: kind for name, kind, _ in FIELDS}

_VALUES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "k": st.integers(-2, 3),
    "j": st.integers(-100, 100),
    "x": st.integers(-40, 40).map(lambda n: n / 4),
    "f": st.sampled_from([float("nan"), 0.5, 1.5]),
    "d": st.integers(-10_000, 10_000).map(lambda n: Decimal(n).scaleb(-2)),
    "s": st.sampled_from(WORDS),
    "b": st.booleans(),
    "l": st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=3),
}


@st.composite
def tables(draw: st.DrawFn, *, ordered: bool) -> pa.Table:
    """Return a table of at least a row. With `ordered` its event time does not decrease."""
    others = {name: st.one_of(st.none(), own) for name, own in _VALUES.items()}
    rows: list[dict[str, Any]] = draw(st.lists(st.fixed_dictionaries(others), min_size=1, max_size=25))
    times = draw(st.lists(st.integers(0, 90_000), min_size=len(rows), max_size=len(rows)))
    for row, time in zip(rows, sorted(times) if ordered else times, strict=True):
        row["ts"] = (EPOCH + dt.timedelta(milliseconds=time)).replace(tzinfo=dt.UTC)
    return pa.Table.from_pylist(rows, SCHEMA)


Build = Callable[[pf.DataFrame], pf.DataFrame]


@dataclass(frozen=True)
class Plan:
    """A DataFrame as a function of the one that it begins with, and its SQL over the view `given`."""

    build: Build
    sql: str
    columns: tuple[tuple[str, str], ...]
    """Names and kinds, in their order."""
    time: str | None
    """The column of event time."""
    rows: tuple[int, int | None] = (0, None)
    """How many rows are left out at last, and how many are kept at most. It is not known which."""
    steps: int = 0

    def new_name(self, place: int = 0) -> str:
        return f"c{self.steps}_{place}"

    def then(self, build: Build, sql: str, columns: Any = None, time: str | None = None) -> Plan:
        before = self.build
        made = self.columns if columns is None else tuple(columns)
        names = [name for name, _ in made]
        kept = self.time if self.time in names else None
        built: Build = lambda frame: build(before(frame))  # noqa: E731
        return replace(self, build=built, sql=sql, columns=made, time=time or kept, steps=self.steps + 1)

    def of_kind(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.columns if kind in kinds]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.columns]

    def __repr__(self) -> str:
        return f"{self.sql} -- {self.rows}"


BASE: Final = Plan(
    lambda frame: frame,
    "SELECT "
    + ", ".join(f'CAST("{n}" AS TIMESTAMP) AS "{n}"' if n == "ts" else f'"{n}"' for n in KINDS)
    + " FROM given",
    tuple(KINDS.items()),
    "ts",
)


def _select(outputs: list[tuple[str, str]], below: str, rest: str = "") -> str:
    listed = ", ".join(f'{sql} AS "{name}"' for name, sql in outputs)
    return f"SELECT {listed} FROM ({below}) AS t{rest}"


def _names(names: list[str]) -> list[tuple[str, str]]:
    return [(name, f'"{name}"') for name in names]


@st.composite
def _computed(draw: st.DrawFn, plan: Plan) -> tuple[str, Both]:
    kind = draw(st.sampled_from(sorted(SQL_TYPES)))
    return kind, draw(expressions(plan.columns, kind))


@st.composite
def selected(draw: st.DrawFn, plan: Plan) -> Plan:
    kept = draw(st.lists(st.sampled_from(plan.names), min_size=1, unique=True))
    if plan.time is not None and plan.time not in kept and draw(st.integers(0, 3)):
        kept.append(plan.time)
    made = [(plan.new_name(place), *own) for place, own in enumerate(draw(st.lists(_computed(plan), max_size=2)))]
    kinds = dict(plan.columns)
    named = {name: own.frame for name, _, own in made}
    return plan.then(
        lambda frame: frame.select(*kept, **named),
        _select([*_names(kept), *((name, own.sql) for name, _, own in made)], plan.sql),
        [*((name, kinds[name]) for name in kept), *((name, kind) for name, kind, _ in made)],
    )


@st.composite
def extended(draw: st.DrawFn, plan: Plan) -> Plan:
    """Add a column, or replace one that is not the event time."""
    kind, own = draw(_computed(plan))
    free = [other for other in plan.names if other != plan.time]
    name = draw(st.sampled_from([plan.new_name(), *free]))
    outputs = dict(_names(plan.names))
    outputs[name] = own.sql
    return plan.then(
        lambda frame: frame.with_column(name, own.frame),
        _select(list(outputs.items()), plan.sql),
        {**dict(plan.columns), name: kind}.items(),
    )


@st.composite
def filtered(draw: st.DrawFn, plan: Plan) -> Plan:
    test = draw(expressions(plan.columns, BOOL))
    return plan.then(lambda frame: frame.filter(test.frame), _select(_names(plan.names), plan.sql, f" WHERE {test}"))


@st.composite
def renamed(draw: st.DrawFn, plan: Plan) -> Plan:
    old = draw(st.sampled_from(plan.names))
    new = plan.new_name()
    columns = [(new if name == old else name, kind) for name, kind in plan.columns]
    sql = _select([(new if name == old else name, own) for name, own in _names(plan.names)], plan.sql)
    return plan.then(lambda frame: frame.rename(old, new), sql, columns, new if plan.time == old else None)


@st.composite
def without_nulls(draw: st.DrawFn, plan: Plan) -> Plan:
    some = draw(st.lists(st.sampled_from(plan.names), min_size=1, max_size=2, unique=True))
    test = " AND ".join(f'"{name}" IS NOT NULL' for name in some)
    return plan.then(lambda frame: frame.drop_null(some), _select(_names(plan.names), plan.sql, f" WHERE {test}"))


_FILLINGS: Final = {INT: 7, DOUBLE: 0.25, DECIMAL: 5, TEXT: "none", BOOL: True}


@st.composite
def filled(draw: st.DrawFn, plan: Plan) -> Plan:
    kinds = [kind for kind in _FILLINGS if plan.of_kind(kind)]
    if not kinds:
        return plan
    kind = draw(st.sampled_from(kinds))
    value, some = _FILLINGS[kind], plan.of_kind(kind)
    shown = quoted(value) if isinstance(value, str) else str(value).upper()
    outputs = [(name, f"coalesce({own}, {shown})" if name in some else own) for name, own in _names(plan.names)]
    return plan.then(lambda frame: frame.fill_null(value, some), _select(outputs, plan.sql))


@st.composite
def without_nan(draw: st.DrawFn, plan: Plan) -> Plan:
    some = plan.of_kind(NAN)
    if not some:
        return plan
    if draw(st.booleans()):
        test = " AND ".join(f'NOT coalesce(isnan("{name}"), FALSE)' for name in some)
        return plan.then(lambda frame: frame.drop_nan(some), _select(_names(plan.names), plan.sql, f" WHERE {test}"))
    outputs = [
        (name, f"CASE WHEN isnan({own}) THEN 2.5 ELSE {own} END" if name in some else own)
        for name, own in _names(plan.names)
    ]
    return plan.then(lambda frame: frame.fill_nan(2.5, some), _select(outputs, plan.sql))


@st.composite
def exploded(draw: st.DrawFn, plan: Plan) -> Plan:
    some = plan.of_kind(LIST)
    if not some:
        return plan
    name, inner = draw(st.sampled_from(some)), draw(st.booleans())
    columns = [(own, INT if own == name else kind) for own, kind in plan.columns]
    elements = f'"{name}"' if inner else f'CASE WHEN len("{name}") > 0 THEN "{name}" ELSE [NULL::BIGINT] END'
    outputs = [(own, f"unnest({elements})" if own == name else sql) for own, sql in _names(plan.names)]
    return plan.then(
        lambda frame: frame.explode(name, ignore_empty_and_null=inner), _select(outputs, plan.sql), columns
    )


@st.composite
def united(draw: st.DrawFn, plan: Plan) -> Plan:
    """Return the rows of a plan, and again those of a filter above it."""
    test = draw(expressions(plan.columns, BOOL))
    again = _select(_names(plan.names), plan.sql, f" WHERE {test}")
    return plan.then(lambda frame: frame.union_all(frame.filter(test.frame)), f"({plan.sql}) UNION ALL ({again})")


@st.composite
def distinct(draw: st.DrawFn, plan: Plan) -> Plan:
    usable = [name for name, kind in plan.columns if kind != LIST]
    if not usable:
        return plan
    keys = draw(st.lists(st.sampled_from(usable), min_size=1, max_size=3, unique=True))
    kinds = dict(plan.columns)
    return plan.then(
        lambda frame: frame.drop_duplicates(keys).select(*keys),
        _select(_names(keys), plan.sql).replace("SELECT", "SELECT DISTINCT", 1),
        [(name, kinds[name]) for name in keys],
    )


def _interval(seconds: int) -> str:
    return f"INTERVAL {seconds} SECOND"


def _bucket(seconds: int, time: str) -> str:
    return f"time_bucket({_interval(seconds)}, {time}, TIMESTAMP '1970-01-01')"


def _bounded(plan: Plan, start: str, end: str, rest: str = "") -> str:
    """Return the SQL of the columns and the bounds of a window, for expressions of its start and end."""
    others = _names([name for name in plan.names if name not in BOUNDS])
    inner = _select([*others, ("window_start", start), ("window_end", end)], plan.sql, rest)
    time = [("window_time", '"window_end" - INTERVAL 1 MILLISECOND')]
    names = [name for name, _ in others]
    return _select([*_names([*names, "window_start", "window_end"]), *time], inner)


@st.composite
def windowed(draw: st.DrawFn, plan: Plan) -> Plan:
    """Assign windows; mostly aggregate them, else keep their rows."""
    if plan.time is None:
        return plan
    time, step, count = plan.time, draw(st.integers(1, 20)), draw(st.integers(1, 3))
    size = step * count
    at, several = f'"{time}"', f", (SELECT unnest(range({count})) AS place) AS places"
    match draw(st.sampled_from(["tumble", "hop", "cumulate"])):
        case "tumble":
            start = _bucket(size, at)
            sql = _bounded(plan, start, f"{start} + {_interval(size)}")
            build: Build = lambda frame: frame.tumble(on=time, size=size * SECOND)  # noqa: E731
        case "hop":
            size -= draw(st.integers(0, step - 1))
            start = f"{_bucket(step, at)} - place * {_interval(step)}"
            end = f"{start} + {_interval(size)}"
            sql = _bounded(plan, start, end, f"{several} WHERE {at} < {end}")
            build = lambda frame: frame.hop(on=time, slide=step * SECOND, size=size * SECOND)  # noqa: E731
        case _:
            start = _bucket(size, at)
            end = f"{start} + (place + 1) * {_interval(step)}"
            sql = _bounded(plan, start, end, f"{several} WHERE {at} < {end}")
            build = lambda frame: frame.cumulate(on=time, step=step * SECOND, size=size * SECOND)  # noqa: E731
    rows = plan.then(
        build,
        sql,
        [*((name, kind) for name, kind in plan.columns if name not in BOUNDS), *((name, TIME) for name in BOUNDS)],
        time if time not in BOUNDS else "window_time",
    )
    if not draw(st.integers(0, 3)):
        return rows
    return draw(_aggregated(rows, list(BOUNDS), draw(_keys(rows)), lambda frame: frame))


@st.composite
def in_sessions(draw: st.DrawFn, plan: Plan) -> Plan:
    if plan.time is None:
        return plan
    time, gap, keys = plan.time, draw(st.integers(1, 15)), draw(_keys(plan))
    each = "".join(f'"{key}", ' for key in keys)
    parts = f"PARTITION BY {each[:-2]} " if keys else ""
    own = _names([name for name in plan.names if name not in BOUNDS])
    begins = f'CASE WHEN "{time}" - lag("{time}") OVER ({parts}ORDER BY "{time}") <= {_interval(gap)} THEN 0 ELSE 1 END'
    marked = _select([*own, ("at", f'"{time}"'), ("begins", begins)], plan.sql)
    number = f'sum("begins") OVER ({parts}ORDER BY "at" ROWS UNBOUNDED PRECEDING)'
    sessions = _select([*own, ("at", '"at"'), ("session", number)], marked)
    of_session = f'OVER (PARTITION BY {each}"session")'
    end = f'max("at") {of_session} + {_interval(gap)}'
    bounds = [("window_start", f'min("at") {of_session}'), ("window_end", end)]
    outputs = [*own, *bounds, ("window_time", f"{end} - INTERVAL 1 MILLISECOND")]
    columns = [*((name, kind) for name, kind in plan.columns if name not in BOUNDS), *((name, TIME) for name in BOUNDS)]
    rows = replace(plan, sql=_select(outputs, sessions), columns=tuple(columns), time="window_time")
    assigned = lambda frame: frame.session(on=time, gap=gap * SECOND, partition_by=keys)  # noqa: E731
    return draw(_aggregated(rows, list(BOUNDS), keys, assigned))


@st.composite
def _keys(draw: st.DrawFn, plan: Plan) -> list[str]:
    usable = [name for name, kind in plan.columns if kind not in (LIST, TIME) and name not in BOUNDS]
    return draw(st.lists(st.sampled_from(usable), max_size=2, unique=True)) if usable else []


_AGGREGATES: Final[dict[str, list[tuple[str, str, str | None]]]] = {
    INT: [("sum", "sum({})::BIGINT", INT), ("avg", "(sum({}) // count({}))::BIGINT", INT)],
    DOUBLE: [("sum", "sum({})", DOUBLE), ("avg", "avg({})", NAN)],
    DECIMAL: [("sum", "sum({})", DECIMAL)],
    TEXT: [],
    DATE: [],
}
"""By the kind of the column: the attribute of an expression, the SQL, and the kind of the result."""


@st.composite
def _aggregated(draw: st.DrawFn, plan: Plan, bounds: list[str], keys: list[str], assigned: Callable[..., Any]) -> Plan:
    made: dict[str, tuple[str, Both]] = {plan.new_name(): (INT, Both(pf.lit(1).count, "count(*)"))}
    usable = [name for name, kind in plan.columns if kind in _AGGREGATES]
    for name in draw(st.lists(st.sampled_from(usable), max_size=3)) if usable else []:
        kind = dict(plan.columns)[name]
        own = column(name)
        attribute, sql, result = draw(
            st.sampled_from(
                [
                    ("count", "count({})", INT),
                    ("distinct", "count(DISTINCT {})", INT),
                    ("min", "min({})", kind),
                    ("max", "max({})", kind),
                    *_AGGREGATES[kind],
                ]
            )
        )
        frame = own.frame.count.distinct if attribute == "distinct" else getattr(own.frame, attribute)
        made[plan.new_name(len(made))] = (str(result), Both(frame, sql.replace("{}", own.sql)))
    groups = draw(st.permutations([*bounds, *keys]))
    kinds = dict(plan.columns)
    named = {name: own.frame for name, (_, own) in made.items()}
    sql = _select(
        [*_names(groups), *((name, own.sql) for name, (_, own) in made.items())],
        plan.sql,
        " GROUP BY " + ", ".join(f'"{name}"' for name in groups),
    )
    return plan.then(
        lambda frame: assigned(frame).group_by(*groups).agg(**named),
        sql,
        [*((name, kinds[name]) for name in groups), *((name, kind) for name, (kind, _) in made.items())],
        "window_time",
    )


@st.composite
def over(draw: st.DrawFn, plan: Plan) -> Plan:
    """Add an aggregate over the rows up to each row, by event time."""
    some = plan.of_kind(INT)
    if plan.time is None or not some:
        return plan
    time, name, keys, own = plan.time, plan.new_name(), draw(_keys(plan)), column(draw(st.sampled_from(some)))
    attribute, seconds = draw(st.sampled_from(["count", "sum", "min", "max"])), draw(st.integers(1, 30))
    within = draw(st.sampled_from([pf.UNBOUNDED, seconds * SECOND]))
    preceding = "UNBOUNDED" if within is pf.UNBOUNDED else _interval(seconds)
    parts = f"PARTITION BY {', '.join(_quoted(keys))} " if keys else ""
    frame_of = f'({parts}ORDER BY "{time}" RANGE BETWEEN {preceding} PRECEDING AND CURRENT ROW)'
    return plan.then(
        lambda frame: frame.with_column(
            name, getattr(own.frame, attribute).over(partition_by=keys or None, order_by=time, range=within)
        ),
        _select([*_names(plan.names), (name, f"{attribute}({own}) OVER {frame_of}::BIGINT")], plan.sql),
        [*plan.columns, (name, INT)],
    )


def _quoted(names: list[str]) -> list[str]:
    return [f'"{name}"' for name in names]


@st.composite
def joined(draw: st.DrawFn, plan: Plan) -> Plan:
    """Join the rows with rows of the table, by a key, mostly also by event time."""
    some = plan.of_kind(INT)
    if not some:
        return plan
    left, time = draw(st.sampled_from(some)), plan.time
    key, text, at = (plan.new_name(place) for place in range(3))
    before = plan.build
    right = _select([(key, '"k"'), (text, '"s"'), (at, '"ts"')], BASE.sql)
    names = [*plan.names, key, text, at]
    columns = (*plan.columns, (key, INT), (text, TEXT), (at, TIME))
    if time is None or not draw(st.integers(0, 2)):
        how, low, high, near, close = "inner", 0, 0, "", None
    else:
        how, low, high = draw(st.sampled_from(["inner", "left"])), *draw(st.tuples(*[st.integers(0, 20)] * 2))
        near = f' AND r."{at}" BETWEEN l."{time}" - {_interval(low)} AND l."{time}" + {_interval(high)}'
        close = pf.col(at).between(pf.col(time) - pf.lit(low).seconds, pf.col(time) + pf.lit(high).seconds)

    def build(frame: pf.DataFrame) -> pf.DataFrame:
        rows = frame.select(pf.col("k").alias(key), pf.col("s").alias(text), pf.col("ts").alias(at))
        match = pf.col(left) == pf.col(key)
        return before(frame).join(rows, on=match if close is None else match & close, how=how)

    on = f'l."{left}" = r."{key}"{near}'
    return replace(
        plan,
        build=build,
        sql=f"SELECT {', '.join(_quoted(names))} FROM ({plan.sql}) AS l {how} JOIN ({right}) AS r ON {on}",
        columns=columns,
        time=None if close is None else time,
        steps=plan.steps + 1,
    )


STEPS: Final = [
    selected,
    extended,
    filtered,
    renamed,
    without_nulls,
    filled,
    without_nan,
    exploded,
    united,
    distinct,
    windowed,
    windowed,
    in_sessions,
    over,
    joined,
]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Return a plan of some steps."""
    plan = BASE
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5)):
        plan = draw(step(plan))
    match draw(st.integers(0, 8)):
        case 0:
            n = draw(st.integers(0, 12))
            return replace(plan.then(lambda frame: frame.limit(n), plan.sql), rows=(0, n))
        case 1:
            n = draw(st.integers(0, 12))
            return replace(plan.then(lambda frame: frame.offset(n), plan.sql), rows=(n, None))
    return plan
