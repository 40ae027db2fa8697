"""Simulated jobs with coroutines that keep counts by key, under faults."""

from __future__ import annotations

import itertools
import re
from typing import Final

from tests.simulation.own_jobs.run import job_of, run
from tests.simulation.some_seeds import all_passed, on_some_seeds

BUSY: Final = {"execution.checkpointing.interval": 20}


@on_some_seeds
def test_each_record_counts_once_and_in_order_under_faults(seeds: range) -> None:
    matching = (seed for seed in itertools.count(1) if re.search("awaitingx", job_of(seed)))
    all_passed(run(seed, settings=BUSY) for seed in itertools.islice(matching, seeds.start - 1, seeds.stop - 1))
