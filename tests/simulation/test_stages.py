"""Sources that read in stages, under faults: each record of each stage is read once, and none is late."""

from __future__ import annotations

import pytest

from headgate.testing.sim import PromiseBroken, simulate
from tests.simulation.plants import Plant
from tests.simulation.some_seeds import on_some_seeds
from tests.simulation.stage_programs import PLANTS, in_stages


@on_some_seeds
def test_stages_are_read_once_whatever_goes_wrong(seeds: range) -> None:
    summary = simulate(in_stages, seeds=seeds)
    assert min(summary.restarts, summary.rescales) > 0


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_seen(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(PromiseBroken):
        simulate(in_stages, seeds=20)
