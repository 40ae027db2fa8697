"""A job with patterns under faults: each match is emitted once, and each whose time has run out."""

from __future__ import annotations

import pytest

from headgate.testing.sim.program import Program
from tests.simulation.pattern_programs import PLANTS, groups, pattern
from tests.simulation.plants import Plant
from tests.simulation.some_seeds import check_promises, check_seen, on_some_seeds


@on_some_seeds
@pytest.mark.parametrize("program", [pattern, groups])
def test_patterns_are_the_same_whatever_goes_wrong(program: Program, seeds: range) -> None:
    reports = check_promises(program, seeds)
    assert any(report.restarts or report.rescales for report in reports)


@pytest.mark.soak
@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_seen(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    check_seen(plant, pattern, monkeypatch)
