"""Whole jobs whose driver dies inside a savepoint and goes on: nothing is kept for ever, and nothing is lost."""

from __future__ import annotations

import pytest

from tests.simulation.own_jobs.run import run
from tests.simulation.some_seeds import all_passed

CRASHES = ("master crash inside a savepoint",) * 3
BLOCK = 5
BLOCKS = [
    pytest.param(first, marks=pytest.mark.slow if first < 6 else (pytest.mark.soak, pytest.mark.long))
    for first in range(1, 61, BLOCK)
]


@pytest.mark.parametrize("first", BLOCKS)
def test_every_promise_is_kept_when_drivers_die_inside_savepoints(first: int) -> None:
    reports = all_passed(run(seed, often=CRASHES) for seed in range(first, first + BLOCK))
    story = "\n".join(line for report in reports for line in report.trace)
    assert "was given up" in story
