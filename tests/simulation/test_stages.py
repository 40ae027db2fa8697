"""Sources that read in stages, under faults: each record of each stage is read once, and none is late."""

from __future__ import annotations

import pytest

from tests.simulation.plants import Plant
from tests.simulation.some_seeds import check_promises, check_seen, on_some_seeds
from tests.simulation.stage_programs import PLANTS, in_stages


@on_some_seeds
def test_stages_are_read_once_whatever_goes_wrong(seeds: range) -> None:
    reports = check_promises(in_stages, seeds)
    assert any(report.restarts or report.rescales for report in reports)


@pytest.mark.soak
@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_seen(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    check_seen(plant, in_stages, monkeypatch)
