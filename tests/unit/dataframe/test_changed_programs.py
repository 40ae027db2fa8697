"""A savepoint restores into a changed program: what kept its state, what is new, and what may not be lost."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate import dataframe as pf
from headgate.dataframe.dataframe import DataFrame
from headgate.errors import ProgramError
from tests.unit.dataframe.paced import Split, read, resumed, source, statements, stopped

SPLITS = Split("a", 0), Split("b", 5)
SECOND = dt.timedelta(seconds=1)


def counted(frame: DataFrame, key: str = "split", **more: Any) -> DataFrame:
    windows = frame.with_watermark("ts").tumble(on="ts", size=10 * SECOND)
    return windows.group_by("window_start", "window_end", key).agg(n=pf.col("at").count, **more)


def first(frame: DataFrame) -> DataFrame:
    return frame.select(decade=pf.col("at") / 10).distinct()


def results(rows: list[dict[str, Any]], key: str = "split") -> list[Any]:
    return sorted((row["window_start"], row[key], row["n"]) for row in rows)


Change = Callable[[DataFrame], list[DataFrame]]
SAME: dict[str, Change] = {
    "nothing": lambda frame: [counted(frame)],
    "a column more": lambda frame: [counted(frame.with_column("x", pf.col("at") * 2))],
    "a column less": lambda frame: [counted(frame.select("at", "split", "ts"))],
    "columns in another order": lambda frame: [counted(frame.select("ts", "split", "at"))],
    "a filter": lambda frame: [counted(frame).filter(pf.col("n") > 0)],
    "a computed result": lambda frame: [counted(frame).with_column("twice", pf.col("n") * 2)],
    "another sink": lambda frame: [counted(frame), counted(frame).filter(pf.col("n") > 0)],
    "another query": lambda frame: [counted(frame), first(frame)],
}


def saved(environment: Any, folder: Path) -> tuple[str, DataFrame]:
    """Stop a program that counts, and return the savepoint and the source."""
    frame = read(environment, *SPLITS, rows=15, ends=False)
    return stopped(counted(frame), folder / "out", folder / "savepoints"), frame


@pytest.mark.parametrize("change", list(SAME))
def test_state_is_found_after_changes_elsewhere(
    environment: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, change: str
) -> None:
    caplog.set_level(logging.INFO, "headgate")
    location, frame = saved(environment, tmp_path)
    found = resumed(environment, location, SAME[change](frame), tmp_path / "out", rows=25)
    starts = [f"1970-01-01 00:00:{second:02}" for second in (0, 10, 20)]
    counts = {"a": [10, 10, 5], "b": [5, 10, 10]}
    assert results(found) == sorted((start, key, counts[key][at]) for at, start in enumerate(starts) for key in counts)
    (told,) = [own.getMessage() for own in caplog.records if "starting from" in own.getMessage()]
    kept, _, new = told.partition("; without state: ")
    assert "(uid Scan-" in kept
    assert "(uid WindowAggregate-" in kept
    assert "left behind" not in told
    assert ("(uid Distinct-" in new) == (change == "another query")


def test_a_changed_aggregate_loses_no_state_unless_it_is_told_to(
    environment: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headgate")
    location, frame = saved(environment, tmp_path)
    changed = [counted(frame, most=pf.col("at").max)]
    with pytest.raises(Exception, match="uid 'WindowAggregate-"):
        resumed(environment, location, changed, tmp_path / "out", rows=25)
    environment.get_config().set("execution.state-recovery.ignore-unclaimed-state", "true")
    found = resumed(environment, location, changed, tmp_path / "out", rows=25)
    assert sum(row["n"] for row in found) < 50
    assert any("left behind: 'GivenWindows' (uid Window" in own.getMessage() for own in caplog.records)


# --- plan files


def test_a_plan_file_keeps_the_uids_of_a_source_with_another_name(environment: Any, tmp_path: Path) -> None:
    frame = read(environment, *SPLITS, rows=15, ends=False)
    statements([counted(frame)], tmp_path / "out").compile_plan().write_to_file(str(tmp_path / "plan.json"))
    location = stopped(counted(frame), tmp_path / "out", tmp_path / "savepoints")
    renamed = [counted(source(environment, *SPLITS, name="moved"))]
    with pytest.raises(Exception, match="no operator of that uid"):
        resumed(environment, location, renamed, tmp_path / "out", rows=25)
    plan = pf.CompiledPlan.from_file(str(tmp_path / "plan.json"))
    assert statements(renamed, tmp_path / "out").compile_plan(plan).operators != plan.operators
    found = resumed(environment, location, renamed, tmp_path / "out", rows=25, plan=plan)
    assert sum(row["n"] for row in found) == 50


def test_an_operator_is_found_by_what_it_computes_before_its_place(environment: Any, tmp_path: Path) -> None:
    frame = read(environment, *SPLITS)
    plan = statements([counted(frame)], tmp_path).compile_plan()
    more = counted(frame).union_all(counted(frame.filter(pf.col("at") > 3).with_column("at", pf.col("at") + 1)))
    uids = {own.derived: own.uid for own in statements([more], tmp_path).compile_plan(plan).operators}
    assert all(uids[own.derived] == own.uid for own in plan.operators)
    assert len(set(uids.values())) == len(uids) == 4


def test_a_plan_file_pins_no_state_of_another_form(environment: Any, tmp_path: Path) -> None:
    frame = read(environment, *SPLITS)
    plan = statements([counted(frame)], tmp_path).compile_plan()
    with pytest.raises(ProgramError, match="pins the uid"):
        statements([counted(frame, most=pf.col("at").max)], tmp_path).execute(plan)


def test_a_plan_file_is_written_once(environment: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "plan.json")
    plan = statements([counted(read(environment, *SPLITS))], tmp_path).compile_plan()
    plan.write_to_file(path)
    plan.write_to_file(path, ignore_if_exists=True)
    assert pf.CompiledPlan.from_file(path).operators == plan.operators
    with pytest.raises(FileExistsError):
        plan.write_to_file(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2, "operators": []}', '{"operators": [{"uid": 1}]}'])
def test_other_texts_are_no_plans(text: str) -> None:
    with pytest.raises(ValueError, match="compiled plan"):
        pf.CompiledPlan.from_json_string(text)
