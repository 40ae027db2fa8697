"""Sorted rows: by event time in a stream, by anything in batch mode."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate import dataframe as pf
from headgate.elements import Batch
from headgate.errors import UnsupportedError
from headgate.operators.columns.sort import SortFactory
from headgate.testing.harness import OperatorHarness
from tests.sample_size import sample_size

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)


def batch_mode(environment: Any) -> None:
    environment.get_config().set("execution.runtime-mode", "BATCH").set("headgate.batch.records", "2")


@settings(max_examples=sample_size(12))
@given(
    rows=st.lists(st.tuples(st.integers(-9, 9), st.one_of(st.none(), st.integers(0, 3))), min_size=1, max_size=30),
    down=st.booleans(),
    first=st.booleans(),
)
def test_a_stream_is_sorted_by_time_and_then_by_other_keys(rows: list[Any], down: bool, first: bool) -> None:
    pf.get_or_create_table_environment().get_config().set("headgate.batch.records", "3")
    times, values = zip(*rows, strict=True)
    frame = pf.from_arrow(
        pa.table({"v": pa.array(values, pa.int32()), "ts": [EPOCH + time * SECOND for time in times]})
    ).with_watermark("ts", 20 * SECOND)
    found = frame.sort(["ts", pf.col("v") * 2], descending=[False, down], nulls_first=[False, first]).collect()
    sign = -1 if down else 1
    expected = sorted(rows, key=lambda row: (row[0], (row[1] is None) != first, sign * (row[1] or 0)))
    assert [((row.ts - EPOCH) // SECOND, row.v) for row in found] == expected


def test_late_rows_are_dropped_and_the_event_time_stays(environment: Any) -> None:
    environment.get_config().set("headgate.batch.records", "1")
    times = [1, 9, 4, 3, 20, 15, 14, 31]
    frame = pf.from_dict({"n": times, "ts": [EPOCH + time * SECOND for time in times]}).with_watermark("ts", 5 * SECOND)
    ordered = frame.sort("ts")
    assert [row.n for row in ordered.collect()] == [1, 4, 9, 15, 20, 31], "3 follows 9, and 14 follows 20"
    windows = ordered.tumble(on="ts", size=10 * SECOND).group_by("window_start", "window_end")
    assert [row.n for row in windows.agg(n=pf.col("n").count).collect()] == [3, 1, 1, 1]


def test_rows_that_wait_are_in_a_snapshot() -> None:
    schema = pa.schema([("n", pa.int64()), ("ts", pa.timestamp("ms", "UTC"))])

    def rows(*times: int) -> Batch:
        columns = [pa.array(times, pa.int64()), pa.array(times, pa.int64()).cast(pa.timestamp("ms", "UTC"))]
        return Batch.of_arrow(pa.RecordBatch.from_arrays(columns, schema=schema))

    def numbers(found: list[Any]) -> list[int]:
        return [row[0] for row in found]

    factory = SortFactory(schema, pa.schema([("n", pa.int64())]), [(1, False, False)], timed=True)
    with OperatorHarness(factory) as sort:
        sort.process_batch(rows(5, 2, 9, 7))
        assert numbers(sort.watermark(4)) == [2]
        sort.process_batch(rows(4, 8, 3, 6))
        assert sort.metrics.counter("numLateRecordsDropped").get_count() == 2
        saved = sort.snapshot()
    with OperatorHarness(factory, restored=[saved]) as sort:
        sort.process_batch(rows(1, 10))
        assert sort.metrics.counter("numLateRecordsDropped").get_count() == 1
        assert numbers(sort.watermark(8, records_max=2)) == [5, 6, 7, 8]
        assert numbers(sort.watermark(10)) == [9, 10]


def test_batch_mode_sorts_by_anything(environment: Any) -> None:
    batch_mode(environment)
    nan, inf = math.nan, math.inf
    frame = pf.from_dict(
        {"x": [2.0, None, -inf, nan, -0.5, inf, 0.25], "s": list("gfedcba"), "b": [True, None] * 3 + [False]}
    )
    assert str([row.x for row in frame.sort("x").collect()]) == "[-inf, -0.5, 0.25, 2.0, inf, nan, None]"
    assert (
        str([row.x for row in frame.sort("x", descending=True).collect()]) == "[None, nan, inf, 2.0, 0.25, -0.5, -inf]"
    )
    assert [row.s for row in frame.sort(pf.col("s").upper_case).select("s").collect()] == list("abcdefg")
    mixed = frame.sort(["b", "s"], descending=[True, False], nulls_first=False).collect()
    assert "".join(row.s for row in mixed) == "cegabdf"


def test_wrong_orders_are_refused() -> None:
    frame = pf.from_dict({"ts": [EPOCH], "v": [1], "l": [[1]]}).with_watermark("ts")
    for wrong, error in [("v", UnsupportedError), (["v", "ts"], UnsupportedError), ([], ValueError), (1, TypeError)]:
        with pytest.raises(error):
            frame.sort(wrong)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="ascending"):
        frame.sort("ts", descending=True)
    with pytest.raises(ValueError, match="descending="):
        frame.sort(pf.col("ts").desc)
    with pytest.raises(ValueError, match="no order"):
        frame.sort(["ts", "l"])
    with pytest.raises(ValueError, match="2 values for 1"):
        frame.sort("ts", descending=[False, True])
    with pytest.raises(TypeError, match="nulls_first"):
        frame.sort("ts", nulls_first=1)  # type: ignore[arg-type]


def test_a_row_without_event_time_fails_the_job() -> None:
    frame = pf.from_dict({"ts": [EPOCH, None], "n": [1, 2]}).with_watermark("ts")
    with pytest.raises(Exception, match=r"(?s)NULL.*n=2"):
        frame.sort("ts").collect()
