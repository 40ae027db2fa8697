"""Watermarks of DataFrames: of each split within a source, of a subtask behind other operators, and of idle inputs."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate import dataframe as pf
from headgate.common import Row
from headgate.dataframe.dataframe import DataFrame
from headgate.dataframe.planner.logical import EventTime, Relation, Scan, inputs_of
from headgate.dataframe.planner.optimizer import optimized
from tests.unit.dataframe.paced import LIMITS, Split, read, resumed, stopped

SECOND = dt.timedelta(seconds=1)
BEHIND, AHEAD = Split("behind", 0), Split("ahead", 100)
LIVE, SILENT = Split("live", 0), Split("silent", 0)


def counts(frame: DataFrame) -> DataFrame:
    windows = frame.tumble(on="ts", size=10 * SECOND).group_by("window_start", "window_end", "split")
    return windows.agg(n=pf.lit(1).count).select("split", "n")


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_split_that_is_ahead_makes_no_row_of_another_split_late(environment: Any, parallelism: int) -> None:
    environment.get_config().set("parallelism.default", str(parallelism))
    found = counts(read(environment, BEHIND, AHEAD).with_watermark("ts")).collect()
    assert sorted(map(tuple, found)) == [("ahead", 10), ("ahead", 10), ("behind", 10), ("behind", 10)]


def test_behind_another_operator_a_subtask_has_one_watermark(environment: Any) -> None:
    filtered = read(environment, BEHIND, AHEAD).filter(pf.col("at") >= 0).with_watermark("ts")
    found = counts(filtered).collect()
    assert sum(row.n for row in found if row.split == "behind") < 20


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 1)])
def test_after_a_rescale_no_row_of_a_split_is_late(environment: Any, tmp_path: Path, before: int, after: int) -> None:
    config = environment.get_config().set("parallelism.default", str(before))
    frame = counts(read(environment, BEHIND, AHEAD, Split("middle", 50), ends=False).with_watermark("ts"))
    location = stopped(frame, tmp_path / "out", tmp_path / "savepoints")
    config.set("parallelism.default", str(after))
    found = resumed(environment, location, [frame], tmp_path / "out", rows=40)
    assert sorted(tuple(row.values()) for row in found) == [
        (name, 10) for name in ("ahead", "behind", "middle") for _ in range(4)
    ]


@pytest.mark.parametrize(("parallelism", "in_source"), [(1, True), (2, True), (2, False)])
def test_idle_input_is_not_waited_for(environment: Any, parallelism: int, in_source: bool) -> None:
    environment.get_config().set("table.exec.source.idle-timeout", "20 ms")
    environment.get_config().set("parallelism.default", str(parallelism))
    frame = read(environment, SILENT, LIVE, rows=12, ends=False)
    LIMITS["silent"] = 0
    frame = frame if in_source else frame.filter(pf.col("at") >= 0)
    assert counts(frame.with_watermark("ts")).take(1, timeout=20) == [{"split": "live", "n": 10}]


# --- where a watermark is made


def relations(frame: DataFrame) -> list[Relation]:
    def walk(plan: Relation) -> list[Relation]:
        return [plan, *(own for below in inputs_of(plan) for own in walk(below))]

    return walk(optimized(frame._plan))


def is_in_source(frame: DataFrame) -> bool:
    found = relations(frame)
    (scan,) = [own for own in found if isinstance(own, Scan)]
    in_plan = any(isinstance(own, EventTime) for own in found)
    assert in_plan == (scan.watermark is None)
    return not in_plan


def twice(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def test_a_source_makes_the_watermarks_of_its_columns(environment: Any) -> None:
    frame = read(environment, BEHIND)
    assert is_in_source(frame.with_watermark("ts"))
    assert is_in_source(frame.rename("ts", "time").with_watermark("time").filter(pf.col("at") > 3))
    assert not is_in_source(frame.filter(pf.col("at") > 3).with_watermark("ts"))
    assert not is_in_source(frame.map_batches(twice).with_watermark("ts"))


def test_a_time_that_a_function_of_the_user_computes_is_marked_behind_it(environment: Any) -> None:
    own = pf.udf(lambda at: dt.datetime.fromtimestamp(at, dt.UTC), return_dtype=pf.DataType.timestamp_ltz(3))
    frame = read(environment, BEHIND).with_column("ts", own(pf.col("at"))).with_watermark("ts")
    assert not is_in_source(frame)
    assert sum(row.n for row in counts(frame).collect()) == 20


def test_a_second_watermark_replaces_that_of_the_source(environment: Any) -> None:
    frame = read(environment, BEHIND, AHEAD).with_watermark("ts").with_watermark("ts", dt.timedelta(hours=1))
    assert [type(own) for own in relations(frame)].count(EventTime) == 1
    assert sum(row.n for row in counts(frame).collect()) == 40


def test_a_source_reads_the_columns_of_its_event_time_only_for_the_watermark() -> None:
    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    frame = pf.from_dict({"ts": [at], "k": ["a"], "v": [1]}).with_watermark("ts").select("k")
    (scan,) = [own for own in relations(frame) if isinstance(own, Scan)]
    assert scan.columns == ("ts", "k")
    assert frame.collect() == [Row(k="a")]


def test_a_watermark_that_cannot_be_computed_names_the_row(environment: Any) -> None:
    frame = pf.from_dict({"text": ["2024-01-01 00:00:00", "later"]})
    timed = frame.with_column("ts", pf.col("text").cast("TIMESTAMP(3)")).with_watermark("ts")
    with pytest.raises(Exception, match="later"):
        timed.collect()
