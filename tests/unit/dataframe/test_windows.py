"""Windows and their aggregates, against the windows that each row is in by their definition."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate import dataframe as pf
from headgate.columns.functions.windows import points_in_time
from headgate.errors import UnsupportedError
from tests.sample_size import sample_size

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
Window = tuple[int, int]


def at(seconds: float) -> dt.datetime:
    return EPOCH + seconds * SECOND


def frame_of(rows: list[tuple[int, Any, Any]]) -> pf.DataFrame:
    """Return rows of time in seconds, key and value, with event time, in the order of time."""
    ordered = sorted(rows, key=lambda row: row[0])
    columns = [list(column) for column in zip(*((at(time), k, v) for time, k, v in ordered), strict=True)]
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("v", pa.float64())])
    table = pa.table([pa.array(own, field.type) for own, field in zip(columns, schema, strict=True)], schema)
    return pf.from_arrow(table).with_watermark("ts")


def seconds(local: dt.datetime) -> int:
    return (local.replace(tzinfo=dt.UTC) - EPOCH) // SECOND


def tumbling(time: int) -> list[Window]:
    return [(time - time % 10, time - time % 10 + 10)]


def hopping(time: int) -> list[Window]:
    return [(start, start + 10) for start in range(time - time % 4 - 12, time + 1, 4) if start <= time < start + 10]


def cumulating(time: int) -> list[Window]:
    start = time - time % 12
    return [(start, start + step) for step in (4, 8, 12) if time < start + step]


def tumbled(frame: pf.DataFrame) -> pf.DataFrame:
    return frame.tumble(on="ts", size=10 * SECOND)


def hopped(frame: pf.DataFrame) -> pf.DataFrame:
    return frame.hop(on="ts", slide=4 * SECOND, size=10 * SECOND)


def cumulated(frame: pf.DataFrame) -> pf.DataFrame:
    return frame.cumulate(on=pf.col("ts"), step=4 * SECOND, size=12 * SECOND)


KINDS = [(tumbled, tumbling), (hopped, hopping), (cumulated, cumulating)]


@pytest.mark.parametrize("assigned", [tumbled, hopped, cumulated])
def test_the_columns_of_the_window_follow_the_others_in_flinks_order(assigned: Callable[..., pf.DataFrame]) -> None:
    bounds = ["window_start", "window_end", "window_time"]
    once = assigned(frame_of([(1, "a", 1.0)]))
    assert once.columns == ["ts", "k", "v", *bounds]
    assert once.tumble(on="window_time", size=60 * SECOND).columns == ["ts", "k", "v", *bounds]


ROWS = st.lists(
    st.tuples(st.integers(-30, 60), st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(-5, 5))),
    min_size=1,
    max_size=30,
)


@pytest.mark.parametrize(("windowed", "windows"), KINDS)
@settings(max_examples=sample_size(12))
@given(rows=ROWS)
def test_each_row_is_in_the_windows_that_contain_it(
    windowed: Callable[[pf.DataFrame], pf.DataFrame], windows: Callable[[int], list[Window]], rows: list[Any]
) -> None:
    found = windowed(frame_of(rows)).collect()
    expected = [(time, *window) for time, _, _ in rows for window in windows(time)]
    assert sorted((seconds(r.ts), seconds(r.window_start), seconds(r.window_end)) for r in found) == sorted(expected)
    assert all(seconds(row.window_time) == seconds(row.window_end) - 1 for row in found)
    assert all(row.window_time.microsecond == 999_000 for row in found)


@pytest.mark.parametrize(("windowed", "windows"), KINDS)
@settings(max_examples=sample_size(12))
@given(rows=ROWS)
def test_aggregates_of_windows_are_those_of_their_rows(
    windowed: Callable[[pf.DataFrame], pf.DataFrame], windows: Callable[[int], list[Window]], rows: list[Any]
) -> None:
    groups: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for time, key, value in sorted(rows, key=lambda row: row[0]):
        for window in windows(time):
            groups[(key, *window)].append(value)
    v = pf.col("v")
    found = (
        windowed(frame_of(rows))
        .group_by("k", "window_start", "window_end")
        .agg(
            n=pf.lit(1).count,
            some=v.count,
            total=v.sum,
            least=v.min,
            most=v.max,
            mean=v.avg,
            spread=v.stddev_pop,
            first=v.first_value,
            last=v.last_value,
            values=v.array_agg,
            different=v.count.distinct,
        )
        .collect()
    )
    assert len(found) == len(groups)
    for row in found:
        every = groups[(row.k, seconds(row.window_start), seconds(row.window_end))]
        values = [own for own in every if own is not None]
        assert (row.n, row.some, row.values) == (len(every), len(values), every)
        assert row.different == len(set(values))
        expected = [sum(values), min(values), max(values), values[0], values[-1]] if values else [None] * 5
        assert [row.total, row.least, row.most, row.first, row.last] == expected
        if values:
            assert row.mean == pytest.approx(statistics.fmean(values))
            assert row.spread == pytest.approx(statistics.pstdev(values), abs=1e-9)
        else:
            assert (row.mean, row.spread) == (None, None)


@settings(max_examples=sample_size(12))
@given(rows=ROWS)
def test_sessions_end_when_no_row_of_their_key_follows(rows: list[Any]) -> None:
    expected = []
    for key in {key for _, key, _ in rows}:
        times = sorted(time for time, own, _ in rows if own == key)
        start = end = times[0]
        count = 0
        for time in times:
            if time > end:
                expected.append((key, start, end, count))
                start, count = time, 0
            end, count = time + 3, count + 1
        expected.append((key, start, end, count))
    sessions = frame_of(rows).session(on="ts", gap=3 * SECOND, partition_by="k")
    found = sessions.group_by("k", "window_start", "window_end").agg(n=pf.lit(1).count).collect()
    assert sorted(map(str, ((r.k, seconds(r.window_start), seconds(r.window_end), r.n) for r in found))) == sorted(
        map(str, expected)
    )


def test_windows_of_windows_and_expressions_of_aggregates() -> None:
    frame = tumbled(frame_of([(time, "a", time) for time in range(60)]))
    v = pf.col("v")
    sums = frame.group_by("window_start", "window_end", "window_time").agg(
        (v.sum / v.count).alias("mean"), v.max - v.min
    )
    assert sums.columns == ["window_start", "window_end", "window_time", "mean", "EXPR$1"]
    again = sums.tumble(on="window_time", size=dt.timedelta(seconds=30))
    found = again.group_by("window_start", "window_end").agg(n=pf.col("mean").count, most=pf.col("mean").max).collect()
    assert [(seconds(row.window_start), row.n, row.most) for row in found] == [(0, 3, 24.5), (30, 3, 54.5)]


@pytest.mark.parametrize("assigned", [tumbled, hopped, cumulated])
def test_windows_of_windows_replace_the_bounds(assigned: Callable[[pf.DataFrame], pf.DataFrame]) -> None:
    rows = frame_of([(time, "a", 1.0) for time in range(24)])
    counts = rows.tumble(on="ts", size=12 * SECOND).group_by("window_start", "window_end", "window_time")
    first = counts.agg(n=pf.lit(1).count)
    again = assigned(first.with_column("ts", pf.col("window_time")))
    assert again.columns == ["n", "ts", "window_start", "window_end", "window_time"]
    direct = assigned(first.select("n", pf.col("window_time").alias("ts")))
    assert again.collect() == direct.collect() != []


def test_keys_are_equal_as_in_sql() -> None:
    nan = float("nan")
    frame = pf.from_dict({"ts": [at(1)] * 6, "x": [0.0, -0.0, nan, nan, None, None]}).with_watermark("ts")
    found = tumbled(frame).group_by("window_start", "window_end", "x").agg(n=pf.lit(1).count).collect()
    assert sorted((str(row.x), row.n) for row in found) == [("0.0", 2), ("None", 2), ("nan", 2)]


@pytest.mark.parametrize("batch", [1, 8])
def test_aggregates_of_extreme_values_do_not_depend_on_batches(batch: int) -> None:
    pf.get_or_create_table_environment().get_config().set("headgate.batch.records", str(batch))
    v = pf.col("v")

    def of(values: list[Any], kind: pa.DataType, *aggregates: Any) -> list[Any]:
        times = pa.array([at(0)] * len(values), pa.timestamp("us", "UTC"))
        frame = pf.from_arrow(pa.table({"ts": times, "v": pa.array(values, kind)})).with_watermark("ts")
        (row,) = tumbled(frame).group_by("window_start", "window_end").agg(*aggregates).collect()
        return list(row)[2:]

    most, nines = 2**63 - 1, Decimal("9e37")
    whole = pa.decimal128(38, 0)
    assert of([most, 1, 1], pa.int64(), v.sum, v.avg) == [-most, -(most // 3)]
    assert of([2**60, 2**60 + 2**20], pa.int64(), v.var_pop, v.var_pop.distinct) == [2.0**38] * 2
    assert of([nines, Decimal("8e37")], whole, v.sum, v.sum.distinct, v.avg, v.avg.distinct) == [None] * 4
    assert of([Decimal("1e37")], whole, v.sum, v.avg, v.avg.distinct) == [Decimal("1e37"), None, None]
    for values in ([math.nan, 1.0, 2.0], [1.0, math.nan, 2.0], [1.0, 2.0, math.nan]):
        assert of(values, pa.float64(), v.min, v.max) == [1.0, 2.0]
    assert of([0.0, math.nan, -0.0, math.nan], pa.float64(), v.count.distinct) == [3]


def test_late_rows_are_dropped(environment: Any) -> None:
    environment.get_config().set("headgate.batch.records", "1")
    times = [1, 25, 2, 12, 26]
    frame = pf.from_dict({"ts": [at(time) for time in times]}).with_watermark("ts", 5 * SECOND)
    found = tumbled(frame).group_by("window_start", "window_end").agg(n=pf.lit(1).count).collect()
    assert [(seconds(row.window_start), row.n) for row in found] == [(0, 1), (20, 2)]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"])
def test_days_begin_at_midnight_of_the_session(environment: Any, zone: str) -> None:
    environment.get_config().set("table.local-time-zone", zone)
    start = dt.datetime(2024, 3, 8, tzinfo=dt.UTC)
    times = [start + dt.timedelta(hours=hour) for hour in range(24 * 30)]  # both changes to summer time are within
    frame = pf.from_dict({"ts": times}).with_watermark("ts")
    days = frame.tumble(on="ts", size=dt.timedelta(days=1))
    found = days.group_by("window_start", "window_end").agg(n=pf.lit(1).count).collect()
    expected: dict[dt.date, int] = defaultdict(int)
    for time in times:
        expected[time.astimezone(ZoneInfo(zone)).date()] += 1
    assert {row.window_start.date(): row.n for row in found} == expected
    assert all(row.window_start.time() == dt.time(0) for row in found)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Tokyo"])
def test_windows_follow_daylight_saving_after_2037(environment: Any, zone: str) -> None:
    environment.get_config().set("table.local-time-zone", zone)
    local = dt.datetime(2040, 7, 1, 0, 30, tzinfo=ZoneInfo(zone))
    days = pf.from_dict({"ts": [local]}).with_watermark("ts").tumble(on="ts", size=dt.timedelta(days=1))
    (row,) = days.group_by("window_start", "window_end", "window_time").agg(n=pf.lit(1).count).collect()
    assert (row.window_start, row.window_end) == (dt.datetime(2040, 7, 1), dt.datetime(2040, 7, 2))
    assert row.window_time.replace(tzinfo=None) == dt.datetime(2040, 7, 1, 23, 59, 59, 999_000)


@pytest.mark.parametrize("year", [2024, 2040, 2104])
def test_a_window_that_would_end_within_a_gap_ends_with_it(year: int) -> None:
    gap = min(dt.date(year, 3, day) for day in range(25, 32) if dt.date(year, 3, day).weekday() == 6)
    ends = pa.array([dt.datetime(year, 3, gap.day, 2, minute) for minute in (0, 5, 59)], pa.timestamp("ms"))
    found = points_in_time(ends, "Europe/Berlin").to_pylist()
    assert found == [dt.datetime(year, 3, gap.day, 1, tzinfo=dt.UTC)] * 3


def test_what_has_no_event_time_or_no_windows_is_refused() -> None:
    frame = frame_of([(1, "a", 1)])
    for wrong in (frame.select(ts=pf.col("ts").cast("TIMESTAMP_LTZ(6)")), frame.select("v", ts=pf.col("k"))):
        with pytest.raises(TypeError, match="event time"):
            tumbled(wrong)
    with pytest.raises(UnsupportedError, match="window_start"):
        frame.group_by("k").agg(n=pf.col("v").count)
    with pytest.raises(UnsupportedError, match="window_start"):
        tumbled(frame).group_by("window_start", "k").agg(n=pf.col("v").count)
    with pytest.raises(ValueError, match="'v'"):
        tumbled(frame).group_by("window_start", "window_end").agg(pf.col("v"))
    with pytest.raises(ValueError, match="'k'"):
        tumbled(frame).group_by("window_start", "window_end", "k").agg(k=pf.col("v").sum)
    with pytest.raises(ValueError, match="step"):
        frame.cumulate(on="ts", step=4 * SECOND, size=10 * SECOND)
    for size, error in [("10 s", TypeError), (0 * SECOND, ValueError), (10, TypeError)]:
        with pytest.raises(error):
            frame.tumble(on="ts", size=size)  # type: ignore[arg-type]
    assert tumbled(frame.rename("ts", "t2").rename("t2", "ts")).columns[-1] == "window_time"
    lengths = frame.tumble(on="ts", size=pf.lit(10).seconds).collect()
    assert seconds(lengths[0].window_end) == 10


def test_a_row_without_event_time_fails_the_job() -> None:
    frame = pf.from_dict({"ts": [at(1), None], "n": [1, 2]}).with_watermark("ts")
    with pytest.raises(Exception, match=r"(?s)NULL.*n=2"):
        tumbled(frame).collect()


def test_first_and_last_of_every_type_that_has_values() -> None:
    values: dict[str, list[Any]] = {
        "d": [None, Decimal("1.50"), Decimal("2.50"), None],
        "i": [None, 2 * SECOND, SECOND, None],
        "s": [None, "b", "a", None],
        "t": [None, dt.time(2), dt.time(1), None],
    }
    frame = tumbled(pf.from_dict({"ts": [at(1)] * 4, **values}).with_watermark("ts"))
    windows = frame.group_by("window_start", "window_end")
    for name, own in values.items():
        column = pf.col(name)
        found = windows.agg(f=column.first_value, l=column.last_value, m=column.max, a=column.array_agg).take(1)[0]
        assert (found["f"], found["l"], found["a"]) == (own[1], own[2], own)
        assert found["m"] == max(own[1:3])


def test_aggregates_of_collections_are_refused_but_count() -> None:
    frame = tumbled(pf.from_dict({"ts": [at(1)], "l": [[1]]}).with_watermark("ts"))
    windows = frame.group_by("window_start", "window_end")
    assert [row.n for row in windows.agg(n=pf.col("l").count).collect()] == [1]
    for wrong in (pf.col("l").first_value, pf.col("l").array_agg, pf.col("l").count.distinct, pf.col("l").max):
        with pytest.raises(ValueError, match="ARRAY"):
            windows.agg(n=wrong)
