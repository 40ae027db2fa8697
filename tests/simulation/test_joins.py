"""Jobs with joins under faults: each pair is emitted once, and each unmatched record."""

from __future__ import annotations

import pytest

from headgate.testing.sim import PromiseBroken, simulate
from tests.simulation.join_programs import PLANTS, interval_join
from tests.simulation.plants import Plant


@pytest.mark.slow
def test_an_interval_join_is_the_same_whatever_goes_wrong() -> None:
    assert simulate(interval_join, seeds=25).restarts > 0


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_seen(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(PromiseBroken):
        simulate(interval_join, seeds=40)
