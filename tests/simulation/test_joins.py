"""Jobs with joins under faults: each pair is emitted once, and each unmatched record."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulation.join_programs import PLANTS, PROGRAMS
from tests.simulation.plants import Plant
from tests.simulation.some_seeds import check_promises, check_seen, on_some_seeds


@on_some_seeds
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_join_is_the_same_whatever_goes_wrong(program: Any, seeds: range) -> None:
    reports = check_promises(program, seeds)
    assert any(report.restarts or report.rescales for report in reports)


@pytest.mark.soak
@pytest.mark.parametrize(("plant", "program"), PLANTS)
def test_a_planted_fault_is_seen(plant: Plant, program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check_seen(plant, program, monkeypatch)
