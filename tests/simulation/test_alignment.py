"""Jobs with aligned sources under faults: splits are paused, and everything is read."""

from __future__ import annotations

import pytest

from tests.simulation import alignment_plants, alignment_programs
from tests.simulation.plants import Plant
from tests.simulation.some_seeds import check_promises, check_seen, on_some_seeds


@on_some_seeds
def test_aligned_sources_read_all_whatever_goes_wrong(seeds: range) -> None:
    alignment_programs.PAUSED.clear()
    reports = check_promises(alignment_programs.aligned_sources, seeds)
    assert any(report.restarts for report in reports)
    assert alignment_programs.PAUSED


@pytest.mark.soak
@pytest.mark.parametrize("plant", alignment_plants.PLANTS)
def test_a_planted_fault_is_seen(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    check_seen(plant, alignment_programs.aligned_sources, monkeypatch)
