"""Whole jobs whose slots or drivers crash at the end, while functions are closed and nothing is left to commit."""

from __future__ import annotations

import pytest

from tests.simulation.own_jobs.run import run
from tests.simulation.some_seeds import all_passed

AT_THE_END = ("crash while closing",) * 2
BLOCK = 5
BLOCKS = [
    pytest.param(first, marks=pytest.mark.slow if first < 6 else (pytest.mark.soak, pytest.mark.long))
    for first in range(1, 41, BLOCK)
]


@pytest.mark.parametrize("first", BLOCKS)
def test_every_promise_is_kept_though_processes_crash_while_functions_are_closed(first: int) -> None:
    all_passed(run(seed, often=AT_THE_END) for seed in range(first, first + BLOCK))
