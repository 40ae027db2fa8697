"""Joins of DataFrames for the simulator, and faults of theirs to plant."""

from __future__ import annotations

from typing import Any, Final

import pytest

from headgate import dataframe as pf
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.operators.columns.joins import JoinOperator
from tests.simulation.dataframe_programs import MS, frame_of
from tests.simulation.plants import Plant


def joins(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A join of each kind, of numbers with others that are near in time."""
    frame = frame_of(env).filter("n <= 120")
    ts, at, same = pf.col("ts"), pf.col("at"), pf.col("k") == pf.col("j")
    other = frame.filter("n % 3 > 0").select(m=pf.col("n") * 2, j=pf.col("k"), at=ts)
    bounds = at.between(ts - pf.lit(60).millis, ts + pf.lit(20).millis)
    names = ["window_start", "window_end", "window_time"]
    windows = frame.tumble(on="ts", size=20 * MS), other.tumble(on="at", size=20 * MS)
    made = {
        "near": frame.join(other, on=same & bounds & (pf.col("n") < pf.col("m")), how="full").select("n", "m"),
        "lone": windows[0].join(windows[1], left_on=[*names, "k"], right_on=[*names, "j"], how="anti").select("n"),
        "latest": frame.join_asof(other, on="ts", left_by="k", right_by="j", how="left").select("n", "m"),
    }
    return {name: own.to_data_stream().map(tuple) for name, own in made.items()}


def rows_are_not_kept(patch: pytest.MonkeyPatch) -> None:
    """A restored join has no rows of the right side."""
    opened = JoinOperator.open

    def without_right(self: JoinOperator, context: Any) -> None:
        opened(self, context)
        for cell in list(self._backend.cells.values()):
            cell[self._right.own.column] = None

    patch.setattr(JoinOperator, "open", without_right)


def matches_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Rows that have matched are emitted again as rows without a match."""
    patch.setattr(JoinOperator, "_mark", lambda *_: None)


PLANTS: Final[list[Plant]] = [rows_are_not_kept, matches_are_forgotten]
