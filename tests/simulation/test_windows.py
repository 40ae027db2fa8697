"""Jobs with windows under faults: each window is evaluated once, with all of its records."""

from __future__ import annotations

import pytest

from headgate.testing.sim.program import Program
from tests.simulation import window_plants, window_programs
from tests.simulation.plants import Plant
from tests.simulation.some_seeds import check_promises, check_seen, on_some_seeds

PROGRAMS = [window_programs.event_time, window_programs.counted]
FAULT_SEEDS = [1, 2, 12, *range(3, 12), *range(13, 41)]
"""The seeds that see a planted fault come first."""


@on_some_seeds
@pytest.mark.parametrize("program", PROGRAMS)
def test_windows_are_the_same_whatever_goes_wrong(program: Program, seeds: range) -> None:
    reports = check_promises(program, seeds)
    assert any(report.restarts or report.rescales for report in reports)


@pytest.mark.soak
@pytest.mark.parametrize("plant", window_plants.PLANTS)
def test_a_planted_fault_is_seen(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    check_seen(plant, window_programs.event_time, monkeypatch, FAULT_SEEDS)
