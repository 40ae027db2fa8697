"""Jobs of DataFrames under faults: each row counts once in each of its windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.dataframe_session import session_in_this_process
from tests.simulation import dataframe_joins, dataframe_programs
from tests.simulation.dataframe_joins import joins
from tests.simulation.dataframe_programs import frames
from tests.simulation.plants import Plant
from tests.simulation.some_seeds import check_promises, check_seen


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    with session_in_this_process():
        yield


@pytest.mark.parametrize(
    ("program", "seeds"),
    [
        pytest.param(frames, range(1, 2), id="frames, 1", marks=pytest.mark.slow),
        pytest.param(joins, range(1, 3), id="joins, 1 to 2", marks=pytest.mark.slow),
        pytest.param(frames, range(2, 11), id="frames, 2 to 10", marks=(pytest.mark.soak, pytest.mark.long)),
        pytest.param(joins, range(3, 11), id="joins, 3 to 10", marks=(pytest.mark.soak, pytest.mark.long)),
    ],
)
def test_dataframes_are_the_same_whatever_goes_wrong(program: Any, seeds: range) -> None:
    reports = check_promises(program, seeds)
    assert any(report.restarts or report.rescales for report in reports)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("plant", "program"),
    [(own, frames) for own in dataframe_programs.PLANTS] + [(own, joins) for own in dataframe_joins.PLANTS],
)
def test_a_planted_fault_is_seen(plant: Plant, program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check_seen(plant, program, monkeypatch)
