"""The uids of operators with state: they stay while other parts of a program change."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from headgate import dataframe as pf
from headgate.dataframe.planner.identity import uid_of
from headgate.dataframe.planner.logical import Distinct, Join, Limit, Relation, Scan, WindowAggregate, inputs_of
from headgate.dataframe.planner.optimizer import optimized

SECOND = dt.timedelta(seconds=1)


def source() -> pf.DataFrame:
    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    return pf.from_dict({"ts": [at], "k": ["a"], "v": [1], "w": [2.0]}).with_watermark("ts")


def counted(frame: pf.DataFrame, size: int = 10, *keys: str, **more: Any) -> pf.DataFrame:
    windows = frame.tumble(on="ts", size=size * SECOND).group_by("window_start", "window_end", *(keys or ("k",)))
    return windows.agg(n=pf.col("v").sum, **more)


def uids(frame: pf.DataFrame) -> dict[str, str]:
    def walk(plan: Relation) -> dict[str, str]:
        own = (
            {type(plan).__name__: uid_of(plan)}
            if isinstance(plan, WindowAggregate | Scan | Distinct | Limit | Join)
            else {}
        )
        for below in inputs_of(plan):
            own |= walk(below)
        return own

    return walk(optimized(frame._plan))


SAME: list[Callable[[pf.DataFrame], pf.DataFrame]] = [
    lambda frame: counted(frame),
    lambda frame: counted(frame.filter(pf.col("w") > 1)),
    lambda frame: counted(frame.with_column("x", pf.col("w") * 2)),
    lambda frame: counted(frame.drop("w")),
    lambda frame: counted(frame.rename("k", "key"), 10, "key").rename("n", "total"),
    lambda frame: counted(frame.select("v", "ts", "k")),
    lambda frame: counted(frame).filter(pf.col("n") > 1).with_column("y", pf.col("n") + 1),
]
OTHER: list[Callable[[pf.DataFrame], pf.DataFrame]] = [
    lambda frame: counted(frame, 20),
    lambda frame: counted(frame, 10, "v"),
    lambda frame: counted(frame, 10, "k", m=pf.col("w").max),
    lambda frame: counted(frame.with_column("v", pf.col("v") + 1)),
    lambda frame: counted(frame.with_column("v", pf.col("v").cast("INT"))),
    lambda frame: counted(frame.distinct(["k"])),
]


@pytest.mark.parametrize("change", SAME)
def test_what_the_state_does_not_depend_on_keeps_the_uid(change: Callable[[pf.DataFrame], pf.DataFrame]) -> None:
    before, after = uids(counted(source())), uids(change(source()))
    assert after["WindowAggregate"] == before["WindowAggregate"]
    assert after["Scan"] == before["Scan"]


@pytest.mark.parametrize("change", OTHER)
def test_what_changes_the_state_changes_the_uid(change: Callable[[pf.DataFrame], pf.DataFrame]) -> None:
    assert uids(change(source()))["WindowAggregate"] != uids(counted(source()))["WindowAggregate"]


def test_a_function_of_the_user_is_known_by_its_name() -> None:
    def key() -> Any:
        return pf.udf(lambda text: text, return_dtype=str, name="key")(pf.col("k"))

    frames = [source().with_column("k", key()).distinct(["k"]) for _ in range(2)]
    assert uids(frames[0]) == uids(frames[1])


def test_equal_operators_of_a_job_have_uids_of_their_own() -> None:
    frame = counted(source())
    both = frame.union_all(frame)
    assert len(both.collect()) == 2


def joined(left: pf.DataFrame, seconds: int = 5, key: str = "k") -> pf.DataFrame:
    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    right = pf.from_dict({"at": [at], "j": ["a"], "x": [1], "y": [1]}).with_watermark("at")
    near = pf.col("at").between(pf.col("ts"), pf.col("ts") + pf.lit(seconds).seconds)
    found = left.join(right, on=(pf.col(key) == pf.col("j")) & near, how="left")
    return found.select(key, "v", "x", "ts", "y")


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: joined(frame.filter(pf.col("w") > 1)),
        lambda frame: joined(frame.with_column("z", pf.col("w") * 2)),
        lambda frame: joined(frame.select("w", "v", "ts", "k")),
        lambda frame: joined(frame.rename("k", "key"), key="key").rename("y", "other"),
        lambda frame: joined(frame).filter("x > 3").select("y", "x", "v", "ts", "k"),
    ],
)
def test_a_join_keeps_its_uid(change: Callable[[pf.DataFrame], pf.DataFrame]) -> None:
    assert uids(change(source()))["Join"] == uids(joined(source()))["Join"]


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: joined(frame, 6),
        lambda frame: joined(frame.with_column("k", pf.col("k").upper_case)),
        lambda frame: joined(frame).drop("v"),
    ],
)
def test_another_state_of_a_join_has_another_uid(change: Callable[[pf.DataFrame], pf.DataFrame]) -> None:
    assert uids(change(source()))["Join"] != uids(joined(source()))["Join"]


def test_the_order_of_columns_does_not_change_a_join() -> None:
    frame = joined(source())
    assert frame.collect() == joined(source().select("w", "v", "ts", "k")).collect()
    assert [(row.k, row.v, row.x, row.y) for row in frame.collect()] == [("a", 1, 1, 1)]
