"""Late rows of windows: which are counted, and which are returned."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from headgate import dataframe as pf
from headgate.elements import MAX_TIMESTAMP, Watermark, WatermarkStatus
from headgate.errors import UnsupportedError
from headgate.operators.columns.lateness import DelayFactory
from headgate.table.expressions import call_sql
from tests.unit.runtime.subtasks import Rig

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
BOUNDS = ("window_start", "window_end")


def frame_of(times: list[int], delay: int = 0) -> pf.DataFrame:
    environment = pf.get_or_create_table_environment()
    environment.get_config().set("headgate.batch.records", "1")
    frame = pf.from_dict({"n": times, "ts": [EPOCH + time * SECOND for time in times]})
    return frame.with_watermark("ts", delay * SECOND)


def tumbled(frame: pf.DataFrame) -> pf.GroupedDataFrame[pf.DataFrame]:
    return frame.tumble(on="ts", size=10 * SECOND).group_by(*BOUNDS)


def counted(windows: Any) -> list[tuple[int, int]]:
    found = windows.agg(n=pf.lit(1).count).collect()
    return sorted(((row.window_start - dt.datetime(1970, 1, 1)) // SECOND, row.n) for row in found)


TIMES = [1, 25, 2, 12, 26, 3]


@pytest.mark.parametrize(
    ("lateness", "counts", "late"),
    [
        (0, [(0, 1), (20, 2)], [2, 12, 3]),
        (5, [(0, 1), (10, 1), (20, 2)], [2, 3]),
        (10, [(0, 1), (10, 1), (20, 2)], [2, 3]),
        (11, [(0, 2), (10, 1), (20, 2)], [3]),
        (60, [(0, 3), (10, 1), (20, 2)], []),
    ],
)
def test_each_row_is_counted_or_late(lateness: int, counts: list[Any], late: list[int]) -> None:
    windows = tumbled(frame_of(TIMES, 5)).allowed_lateness(lateness * SECOND)
    assert counted(windows) == counts
    rows = windows.late_rows()
    assert rows.columns == ["n", "ts", "window_start", "window_end", "window_time"]
    assert [row.n for row in rows.collect()] == late


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_a_row_is_late_for_each_window_that_it_missed(environment: Any, zone: str) -> None:
    environment.get_config().set_local_timezone(zone)
    frame = frame_of([1, 24, 12, 3]).hop(on="ts", slide=5 * SECOND, size=10 * SECOND)
    late = frame.group_by(*BOUNDS).late_rows().select("n", end=call_sql("EXTRACT(SECOND FROM window_end)")).collect()
    assert sorted(map(tuple, late)) == [(3, 5), (3, 10), (12, 15), (12, 20)]


def test_windows_of_windows_wait_as_well() -> None:
    windows = frame_of(TIMES, 5).tumble(on="ts", size=10 * SECOND).group_by(*BOUNDS, "window_time")
    waiting = windows.allowed_lateness(60 * SECOND).agg(n=pf.lit(1).count)
    again = waiting.tumble(on="window_time", size=20 * SECOND).group_by(*BOUNDS).agg(n=pf.col("n").sum)
    assert sorted(row.n for row in again.collect()) == [2, 4]
    running = waiting.select(total=pf.col("n").sum.over(order_by="window_time"))
    assert [row.total for row in running.collect()] == [3, 4, 6]


def test_sessions_wait_for_late_rows() -> None:
    def sessions(lateness: int) -> list[tuple[int, int]]:
        windows = frame_of([1, 20, 4, 30]).session(on="ts", gap=5 * SECOND).group_by(*BOUNDS)
        return counted(windows.allowed_lateness(lateness * SECOND))

    assert sessions(0) == [(1, 1), (20, 1), (30, 1)]
    assert sessions(15) == [(1, 2), (20, 1), (30, 1)]


def test_what_waits_for_nothing_is_refused() -> None:
    frame = frame_of([1])
    windows = tumbled(frame)
    for wrong, error in [(-SECOND, ValueError), (5, TypeError), ("5 s", TypeError)]:
        with pytest.raises(error, match="lateness"):
            windows.allowed_lateness(wrong)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="window_start"):
        frame.group_by("n").allowed_lateness(SECOND)
    with pytest.raises(UnsupportedError, match="window_start"):
        frame.group_by("n").late_rows()
    with pytest.raises(UnsupportedError, match="sessions"):
        frame.session(on="ts", gap=SECOND).group_by(*BOUNDS).late_rows()
    with pytest.raises(TypeError, match="event time"):
        windows.late_rows().tumble(on="ts", size=SECOND)


def test_watermarks_are_earlier_and_the_last_one_is_not() -> None:
    rig = Rig(DelayFactory(100))
    idle, active = WatermarkStatus(idle=True), WatermarkStatus(idle=False)
    rig.feed(0, Watermark(250), idle, active, Watermark(MAX_TIMESTAMP))
    rig.run()
    assert rig.out.sent == [Watermark(150), idle, active, Watermark(MAX_TIMESTAMP)]
