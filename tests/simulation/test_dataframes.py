"""Jobs of DataFrames under faults: each row counts once in each of its windows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.common import Configuration
from headgate.dataframe import set_table_environment
from headgate.table import TableEnvironment
from tests.simulation import dataframe_programs
from tests.simulation.plants import Plant
from tests.simulation.some_seeds import check_promises, check_seen, on_some_seeds


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    settings = {"headgate.deploy.target": "minicluster", "table.local-time-zone": "UTC"}
    set_table_environment(TableEnvironment.create(Configuration.from_dict(settings)))
    yield
    set_table_environment(None)


@on_some_seeds
def test_dataframes_are_the_same_whatever_goes_wrong(seeds: range) -> None:
    reports = check_promises(dataframe_programs.frames, seeds)
    assert any(report.restarts or report.rescales for report in reports)


@pytest.mark.soak
@pytest.mark.parametrize("plant", dataframe_programs.PLANTS)
def test_a_planted_fault_is_seen(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    check_seen(plant, dataframe_programs.frames, monkeypatch)
