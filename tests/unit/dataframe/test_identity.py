"""The uids of operators with state: they stay while other parts of a program change."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from headgate import dataframe as pf
from headgate.dataframe.planner.identity import uid_of
from headgate.dataframe.planner.logical import Distinct, Limit, Relation, Scan, WindowAggregate, inputs_of
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
        own = {type(plan).__name__: uid_of(plan)} if isinstance(plan, WindowAggregate | Scan | Distinct | Limit) else {}
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
