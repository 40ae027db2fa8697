"""The simulator sees each fault planted in production code, within a stated number of seeds."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from tests.simulation.own_jobs.run import job_of, run
from tests.simulation.planted import PLANTED, Planted

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "simulation.md"


@pytest.mark.soak
@pytest.mark.parametrize("planted", PLANTED, ids=[planted.name for planted in PLANTED])
def test_the_simulator_sees_a_planted_fault(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    planted.plant(monkeypatch)
    seeds = (seed for seed in itertools.count(1) if re.search(planted.jobs, job_of(seed)))
    for seed in itertools.chain(planted.seen_by, itertools.islice(seeds, planted.seeds_max)):
        report = run(seed, often=planted.often, settings=planted.settings)
        if not report.passed:
            assert re.search(planted.symptom, " ".join(report.violations)), report.violations
            return
    pytest.fail(f"it was not seen within {planted.seeds_max} seeds")


def test_the_page_on_the_simulation_tells_of_all_planted_faults() -> None:
    rows = [f"| {_sentence(planted)} | {planted.seeds_max} |" for planted in PLANTED]
    found = [line for line in PAGE.read_text().splitlines() if re.search(r"\| \d+ \|$", line)]
    assert found == rows, "the rows should be:\n" + "\n".join(rows)


def _sentence(planted: Planted) -> str:
    assert planted.plant.__doc__ is not None
    return planted.plant.__doc__.strip().removesuffix(".")
