"""Jobs with aligned sources under faults: splits are paused, and everything is read."""

from __future__ import annotations

import pytest

from headgate.testing.sim import PromiseBroken, simulate
from tests.simulation import alignment_plants, alignment_programs
from tests.simulation.plants import Plant
from tests.simulation.some_seeds import on_some_seeds


@on_some_seeds
def test_aligned_sources_read_all_whatever_goes_wrong(seeds: range) -> None:
    alignment_programs.PAUSED.clear()
    summary = simulate(alignment_programs.aligned_sources, seeds=seeds)
    assert summary.restarts > 0
    assert alignment_programs.PAUSED


@pytest.mark.slow
@pytest.mark.parametrize("plant", alignment_plants.PLANTS)
def test_a_planted_fault_is_seen(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(PromiseBroken):
        simulate(alignment_programs.aligned_sources, seeds=40)
