"""Whole jobs under faults while users look at what leaves their operators, which is to change nothing."""

from __future__ import annotations

import pytest

from tests.simulation.own_jobs.rescaling import run_rescaled
from tests.simulation.own_jobs.run import run
from tests.simulation.some_seeds import all_passed

LOOKS = ("live output",) * 6
BLOCK = 5
BLOCKS = [
    pytest.param(first, marks=pytest.mark.slow if first < 6 else (pytest.mark.soak, pytest.mark.long))
    for first in range(1, 41, BLOCK)
]


@pytest.mark.parametrize("first", BLOCKS)
def test_every_promise_is_kept_while_output_is_looked_at(first: int) -> None:
    reports = all_passed(run(seed, often=LOOKS) for seed in range(first, first + BLOCK))
    story = "\n".join(line for report in reports for line in report.trace)
    assert "user     sees" in story


@pytest.mark.parametrize("first", BLOCKS[:4])
def test_so_it_is_when_jobs_are_rescaled(first: int) -> None:
    all_passed(run_rescaled(seed, often=LOOKS) for seed in range(first, first + BLOCK))
