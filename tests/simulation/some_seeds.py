"""Programs under faults: a few seeds in `make test`, more in `make soak-long`, and each once without faults."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

import pytest

from headgate.testing.sim.program import Program
from headgate.testing.sim.run import RunReport
from headgate.testing.sim.simulate import Simulation
from tests.simulation.plants import Plant

on_some_seeds: Final = pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(1, 4), id="1 to 3", marks=pytest.mark.slow),
        pytest.param(range(4, 41), id="4 to 40", marks=(pytest.mark.soak, pytest.mark.long)),
    ],
)
simulation_of: Final = cache(Simulation)


def check_promises(program: Program, seeds: Iterable[int]) -> list[RunReport]:
    """Return the reports of all seeds, none of which breaks a promise."""
    return all_passed(map(simulation_of(program), seeds))


def all_passed(reports: Iterable[RunReport]) -> list[RunReport]:
    """Return the reports, none of which tells of a broken promise."""
    found = list(reports)
    failed = [report.describe() for report in found if not report.passed]
    assert not failed, "\n\n".join(failed)
    return found


def check_seen(
    plant: Plant, program: Program, monkeypatch: pytest.MonkeyPatch, seeds: Iterable[int] = range(1, 41)
) -> None:
    """Plant a fault; some seed sees it. Those that are known to see some fault come first."""
    simulation = simulation_of(program)
    plant(monkeypatch)
    assert any(not simulation(seed).passed for seed in seeds)
