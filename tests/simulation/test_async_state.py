"""Simulated jobs with coroutines that keep counts by key, under faults."""

from __future__ import annotations

import itertools
import re
from typing import Final

import pytest

from tests.simulation.own_jobs.run import job_of, run

SEEDS: Final = 12
BUSY: Final = {"execution.checkpointing.interval": 20}


@pytest.mark.slow
def test_each_record_counts_once_and_in_order_under_faults() -> None:
    seeds = (seed for seed in itertools.count(1) if re.search("awaitingx", job_of(seed)))
    for seed in itertools.islice(seeds, SEEDS):
        report = run(seed, settings=BUSY)
        assert report.passed, (seed, report.violations)
