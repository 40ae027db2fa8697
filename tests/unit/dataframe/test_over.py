"""Aggregates over the rows around each row, against the rows of each frame by its definition."""

from __future__ import annotations

import datetime as dt
import statistics
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate import dataframe as pf
from headgate.columns.aggregates import aggregate_of
from headgate.columns.frames import RowFrame, frame_of
from headgate.columns.functions.registry import CallSite
from headgate.columns.logical_types import BIGINT
from headgate.columns.typed import Field
from headgate.dataframe import CURRENT_ROW, UNBOUNDED, following, preceding
from headgate.errors import UnsupportedError
from headgate.operators.columns.aggregation import first_field
from headgate.operators.columns.over import OverFactory
from headgate.testing.harness import OperatorHarness
from tests.sample_size import sample_size

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
V = pf.col("v")
Numbered = tuple[int, int, Any, Any]
"""Number, time in seconds, key and value of a row."""


def frame_with(rows: list[tuple[int, Any, Any]], delay: int = 0) -> pf.DataFrame:
    """Return rows of time in seconds, key and value, in this order, with a number `n`."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    schema = pa.schema([("n", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("v", pa.float64())])
    values = [range(len(rows)), [EPOCH + time * SECOND for time in columns[0]], *columns[1:]]
    table = pa.table([pa.array(own, field.type) for own, field in zip(values, schema, strict=True)], schema)
    return pf.from_arrow(table).with_watermark("ts", delay * SECOND)


def mode(environment: Any, name: str, batch: int = 3) -> None:
    environment.get_config().set("execution.runtime-mode", name).set("headgate.batch.records", str(batch))


ROWS = st.lists(
    st.tuples(st.integers(-20, 20), st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(-5, 5))),
    min_size=1,
    max_size=25,
)


def before(seconds: float) -> Callable[[list[Numbered], int], list[Numbered]]:
    def found(rows: list[Numbered], place: int) -> list[Numbered]:
        return [own for own in rows if rows[place][1] - seconds <= own[1] <= rows[place][1]]

    return found


def between(lower: int, upper: int) -> Callable[[list[Numbered], int], list[Numbered]]:
    return lambda rows, place: rows[max(place + lower, 0) : max(place + upper + 1, 0)]


FAR = 1_000
ANY_MODE: list[tuple[dict[str, Any], Callable[[list[Numbered], int], list[Numbered]]]] = [
    ({}, before(FAR)),
    ({"range": UNBOUNDED}, before(FAR)),
    ({"range": 5 * SECOND}, before(5)),
    ({"range": (preceding("4 s"), CURRENT_ROW)}, before(4)),
    ({"range": (CURRENT_ROW, CURRENT_ROW)}, before(0)),
    ({"rows": UNBOUNDED}, between(-FAR, 0)),
    ({"rows": 2}, between(-2, 0)),
    ({"rows": (preceding(3), CURRENT_ROW)}, between(-3, 0)),
    ({"rows": (CURRENT_ROW, CURRENT_ROW)}, between(0, 0)),
]
BATCH_ONLY: list[tuple[dict[str, Any], Callable[[list[Numbered], int], list[Numbered]]]] = [
    ({"rows": (preceding(2), following(1))}, between(-2, 1)),
    ({"rows": (preceding(3), preceding(2))}, between(-3, -2)),
    ({"rows": (UNBOUNDED, UNBOUNDED)}, between(-FAR, FAR)),
    ({"rows": (following(1), following(2))}, between(1, 2)),
    (
        {"range": (preceding("2 s"), following("3 s"))},
        lambda rows, place: [own for own in rows if -2 <= own[1] - rows[place][1] <= 3],
    ),
]


def keyed(rows: list[tuple[int, Any, Any]]) -> list[list[Numbered]]:
    """Return the numbered rows of each key, sorted by time."""
    numbered = [(place, *row) for place, row in enumerate(rows)]
    keys = {key for _, key, _ in rows}
    return [sorted((own for own in numbered if own[2] == key), key=lambda own: own[1]) for key in keys]


def check(rows: list[tuple[int, Any, Any]], arguments: dict[str, Any], taken: Any) -> None:
    window = {"order_by": "ts", "partition_by": "k", **arguments}
    found = (
        frame_with(rows, 50)
        .select(
            "n",
            every=pf.lit(1).count.over(**window),
            total=V.sum.over(**window),
            least=V.min.over(**window),
            first=V.first_value.over(**window),
            last=V.last_value.over(**window),
            spread=V.stddev_pop.over(**window),
            different=V.count.distinct.over(**window),
            mean=V.avg.over(**window) + 1,
        )
        .collect()
    )
    expected = {}
    for own in keyed(rows):
        for place, (number, *_) in enumerate(own):
            expected[number] = [value for *_, value in taken(own, place)]
    assert sorted(row.n for row in found) == sorted(expected)
    for row in found:
        every = expected[row.n]
        values = [value for value in every if value is not None]
        assert (row.every, row.different) == (len(every), len(set(values)))
        if not values:
            assert [*list(row)[2:7], row.mean] == [None] * 6
            continue
        assert (row.total, row.least, row.first, row.last) == (sum(values), min(values), values[0], values[-1])
        assert row.spread == pytest.approx(statistics.pstdev(values), abs=1e-9)
        assert row.mean == pytest.approx(statistics.fmean(values) + 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["STREAMING", "BATCH"])
@pytest.mark.parametrize(("arguments", "taken"), ANY_MODE)
@settings(max_examples=sample_size(6))
@given(rows=ROWS)
def test_each_row_has_the_aggregates_of_its_frame(
    name: str, arguments: dict[str, Any], taken: Any, rows: list[Any]
) -> None:
    mode(pf.get_or_create_table_environment(), name)
    check(rows, arguments, taken)


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "taken"), BATCH_ONLY)
@settings(max_examples=sample_size(6))
@given(rows=ROWS)
def test_frames_of_batch_mode_contain_later_rows(arguments: dict[str, Any], taken: Any, rows: list[Any]) -> None:
    mode(pf.get_or_create_table_environment(), "BATCH")
    check(rows, arguments, taken)


@settings(max_examples=sample_size(12))
@given(rows=ROWS)
def test_places_of_rows(rows: list[Any]) -> None:
    mode(pf.get_or_create_table_environment(), "STREAMING")
    window: dict[str, Any] = {"order_by": "ts", "partition_by": ["k"]}
    found = frame_with(rows, 50).select(
        "n",
        number=pf.row_number().over(**window),
        rank=pf.rank().over(**window),
        dense=pf.dense_rank().over(**window),
        one=pf.lag("v").over(**window),
        two=pf.lag(V, 2, 99.0).over(**window),
    )
    expected = []
    for own in keyed(rows):
        for place, (number, time, _, _) in enumerate(own):
            times = [other for _, other, *_ in own if other < time]
            lags = [own[place - far][3] if place >= far else default for far, default in ((1, None), (2, 99.0))]
            expected.append((number, place + 1, len(times) + 1, len(set(times)) + 1, *lags))
    assert sorted(tuple(row) for row in found.collect()) == sorted(expected)


def test_rows_wait_for_the_watermark_and_late_rows_are_dropped(environment: Any) -> None:
    mode(environment, "STREAMING", 1)
    rows = [(1, "a", 1), (9, "a", 2), (3, "a", 4), (20, "a", 8), (15, "a", 16), (6, "a", 32)]
    found = frame_with(rows, 5).select("n", total=V.sum.over(order_by="ts")).collect()
    assert [tuple(row) for row in found] == [(0, 1.0), (1, 3.0), (4, 19.0), (3, 27.0)], "3 and 6 come after 4 and 15"


def over_harness(**arguments: Any) -> OperatorHarness:
    total = aggregate_of(CallSite("sum", (Field(0, BIGINT),), (), "UTC"), distinct=False)
    factory = OverFactory(frame_of(arguments.pop("rows", None), arguments.pop("range", None)), [total], True, False)
    return OperatorHarness(factory, key_by=first_field, **arguments)


def test_late_rows_are_counted_and_state_that_no_frame_contains_is_removed() -> None:
    with over_harness(range=10 * SECOND) as over:
        over.process(("a", 5_000, (5,), (5,)), timestamp_ms=5_000)
        assert over.watermark(6_000) == [((5,), (5,))]
        over.process(("a", 6_000, (6,), (6,)), timestamp_ms=6_000)
        assert over.metrics.counter("numLateRecordsDropped").get_count() == 1
        assert over.state("before") == {"a": [(5_000, (5,))]}
        over.watermark(14_999)
        over.process(("a", 15_000, (7,), (7,)), timestamp_ms=15_000)
        assert over.watermark(15_000) == [((7,), (12,))]
        assert over.state("before") == {"a": [(15_000, (7,))]}
        over.watermark(25_000)
        assert over.state("before") == {} == over.state("rows")


@pytest.mark.parametrize("arguments", [{}, {"rows": 1}, {"range": 2 * SECOND}])
def test_state_is_kept_over_a_savepoint(arguments: dict[str, Any]) -> None:
    def row(key: str, seconds: int) -> tuple[Any, ...]:
        return key, seconds * 1_000, (key, seconds), (seconds,)

    def emitted(over: OperatorHarness, seconds: int) -> list[Any]:
        return sorted(over.watermark(seconds * 1_000))

    keys = [f"k{number}" for number in range(9)]
    with over_harness(**arguments) as over:
        for seconds in (1, 2, 4, 5):
            over.process(*(row(key, seconds) for key in keys), timestamp_ms=seconds * 1_000)
        over.watermark(3_000)
        saved = over.snapshot()
        expected = emitted(over, 9)
    with over_harness(**arguments, restored=[saved]) as over:
        assert emitted(over, 9) == expected
    assert len(expected) == 2 * len(keys)


def test_results_are_still_in_event_time(environment: Any) -> None:
    mode(environment, "STREAMING")
    frame = frame_with([(time, "a", 1) for time in (1, 3, 2, 14, 11, 27)], 5)
    numbered = frame.with_column("total", V.sum.over(order_by="ts"))
    assert numbered.columns == ["n", "ts", "k", "v", "total"]
    windows = numbered.tumble(on="ts", size=10 * SECOND).group_by("window_start", "window_end")
    assert [row.most for row in windows.agg(most=pf.col("total").max).collect()] == [3.0, 5.0, 6.0]
    twice = numbered.select(again=pf.col("total").max.over(order_by="ts", rows=1))
    assert [row.again for row in twice.collect()] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_rows_of_every_type_pass_and_names_follow_the_rules(environment: Any) -> None:
    mode(environment, "STREAMING")
    values: dict[str, list[Any]] = {
        "d": [Decimal("1.50"), None],
        "s": [["a", None], None],
        "t": [dt.time(1, 2, 3), None],
        "b": [b"x", None],
        "w": [2.5, float("inf")],
    }
    frame = pf.from_dict({"ts": [EPOCH, EPOCH + SECOND], **values}).with_watermark("ts")
    window = {"order_by": pf.col("ts").asc}
    made = frame.select(*values, pf.col("d").sum.over(**window), pf.col("t").max.over(**window).alias("latest"))
    assert made.columns == [*values, "_c0", "latest"]
    assert [str(own) for own in made.schema.types[-2:]] == ["DECIMAL(38, 18)", "TIME(6)"]
    assert [list(row) for row in made.collect()] == [
        [own[at] for own in values.values()] + [Decimal("1.50"), dt.time(1, 2, 3)] for at in (0, 1)
    ]


def test_batch_mode_sorts_by_any_column(environment: Any) -> None:
    mode(environment, "BATCH")
    nan = float("nan")
    frame = pf.from_dict({"x": [2.0, None, -1.0, nan, -0.0, 0.0, 2.0], "s": list("cabbage")})
    x, s = pf.col("x"), pf.col("s")
    ascending = frame.select("x", n=s.count.over(order_by="x")).collect()
    assert [(str(row.x), row.n) for row in ascending] == [
        ("None", 1),
        ("-1.0", 2),
        ("-0.0", 4),
        ("0.0", 4),
        ("2.0", 6),
        ("2.0", 6),
        ("nan", 7),
    ]
    descending = frame.select("s", first=s.first_value.over(order_by=s.desc), n=pf.row_number().over(order_by=s.desc))
    assert [tuple(row) for row in descending.collect()] == [
        (own, "g", place + 1) for place, own in enumerate(sorted("cabbage", reverse=True))
    ]
    with pytest.raises(UnsupportedError, match="event time"):
        frame.select(x.sum.over(order_by="x", range="1 s"))
    with pytest.raises(UnsupportedError, match=r"rank\(\) needs"):
        frame.select(pf.rank().over(order_by="x"))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"rows": 1, "range": "1 s"}, ValueError, "not both"),
        ({"rows": 0}, ValueError, "at least 1"),
        ({"rows": True}, TypeError, "number of rows"),
        ({"rows": "1 s"}, ValueError, "numbers of rows"),
        ({"range": 5}, ValueError, "lengths of time"),
        ({"range": "INTERVAL '1' HOUR"}, ValueError, "length of time"),
        ({"range": -SECOND}, ValueError, "negative"),
        ({"rows": (1, 2)}, TypeError, "preceding"),
        ({"rows": (preceding(1),)}, TypeError, "pair"),
        ({"rows": following(1)}, ValueError, "pair"),
        ({"rows": (CURRENT_ROW, preceding(1))}, ValueError, "before it begins"),
        ({"rows": (pf.UNBOUNDED_FOLLOWING, UNBOUNDED)}, ValueError, "begin"),
        ({"partition_by": []}, ValueError, "empty"),
        ({"partition_by": 1}, TypeError, "partition_by"),
        ({"order_by": None}, TypeError, "order_by"),
        ({"unknown": 1}, TypeError, "unknown"),
    ],
)
def test_wrong_windows_are_refused(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        V.sum.over(**{"order_by": "ts", **arguments})


def test_what_over_cannot_compute_is_refused(environment: Any) -> None:
    frame = frame_with([(1, "a", 1)])
    refused: list[tuple[Any, type[Exception], str]] = [
        (V.over(order_by="ts"), ValueError, "aggregates"),
        (V.sum.over(order_by="tz"), ValueError, "no column 'tz'"),
        (V.sum.over(order_by="v"), UnsupportedError, "event time"),
        (V.sum.over(order_by=pf.col("ts").desc), UnsupportedError, "ascending"),
        (V.sum.over(order_by="ts", rows=(CURRENT_ROW, following(1))), UnsupportedError, "CURRENT_ROW"),
        (V.sum.over(order_by="ts").max.over(order_by="ts"), ValueError, "with_columns"),
        (pf.row_number().over(order_by="ts", rows=3), ValueError, "its own frame"),
        (pf.col("k").sum.over(order_by="ts"), ValueError, "number"),
        (pf.lag("v", 1, "x").over(order_by="ts"), ValueError, "default"),
    ]
    for expression, error, text in refused:
        with pytest.raises(error, match=text):
            frame.select(expression)
    with pytest.raises(ValueError, match="with_columns"):
        frame.filter(V.sum.over(order_by="ts") > 1)
    with pytest.raises(UnsupportedError, match="alias"):
        V.sum.over(pf.col("w"))
    wrongs: list[tuple[Any, type[Exception]]] = [(0, ValueError), ("1", TypeError), (True, TypeError)]
    for wrong, kind in wrongs:
        with pytest.raises(kind):
            pf.lag("v", wrong)


def test_a_row_without_event_time_fails_the_job() -> None:
    frame = pf.from_dict({"ts": [EPOCH, None], "n": [1, 2]}).with_watermark("ts")
    with pytest.raises(Exception, match=r"(?s)NULL.*n=2"):
        frame.select(pf.col("n").sum.over(order_by="ts")).collect()


def test_frames_show_as_sql() -> None:
    assert str(frame_of((preceding(2), UNBOUNDED), None)) == "ROWS BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING"
    assert frame_of(None, None) == RowFrame(is_rows=False, lower=None, upper=0) == frame_of(None, UNBOUNDED)
    text = repr(V.sum.over(order_by="ts", partition_by=["k", "v"], range="1 min"))
    assert text == "sum(v) OVER (PARTITION BY k, v ORDER BY ts RANGE BETWEEN 60000 ms PRECEDING AND CURRENT ROW)"


def test_rows_are_numbered_though_no_column_is_read(environment: Any) -> None:
    mode(environment, "BATCH")
    numbered = pf.from_dict({"n": [7, 8, 9]}).select(place=pf.row_number().over(order_by=pf.lit(1)))
    assert [row.place for row in numbered.collect()] == [1, 2, 3]


def test_times_of_day_keep_their_nanoseconds() -> None:
    schema = pa.schema([("ts", pa.timestamp("ms", "UTC")), ("at", pa.time64("ns"))])
    times = pa.table([pa.array([0, 1], schema.types[0]), pa.array([1, 2], schema.types[1])], schema)
    at, over = pf.col("at"), {"order_by": "ts"}
    found = (
        pf.from_arrow(times)
        .with_watermark("ts")
        .select(n=at.count.distinct.over(**over), last=at.max.over(**over), before=pf.lag("at").over(**over))
    )
    made = pa.concat_tables(found.iter_batches(batch_format="pyarrow"))
    assert made["n"].to_pylist() == [1, 2]
    assert made["last"].cast(pa.int64()).to_pylist() == [1, 2]
    assert made["before"].cast(pa.int64()).to_pylist() == [None, 1]


def test_rows_that_are_late_after_a_restore_do_not_disturb_the_order() -> None:
    def row(seconds: float) -> tuple[Any, ...]:
        return "a", int(seconds * 1_000), (seconds,), (1,)

    with over_harness(range=2 * SECOND) as over:
        for seconds in (5, 6):
            over.process(row(seconds), timestamp_ms=seconds * 1_000)
        assert over.watermark(6_500) == [((5,), (1,)), ((6,), (2,))]
        saved = over.snapshot()
    with over_harness(range=2 * SECOND, restored=[saved]) as over:
        over.process(row(3), timestamp_ms=3_000)
        over.process(row(7), timestamp_ms=7_000)
        assert over.watermark(3_500) == []
        assert over.metrics.counter("numLateRecordsDropped").get_count() == 1
        assert over.watermark(7_000) == [((7,), (3,))]
