"""Whole jobs under faults: whatever the seed, each record counts exactly once and the job comes to its end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.simulation import plants
from tests.simulation.own_jobs.run import run
from tests.simulation.some_seeds import all_passed

DAMAGE = ("damage",) * 3
SEEDS = (*range(1, 11), 29)
"""A small sample of all jobs. `python -m tests.simulation` runs as many others as it is told."""


def test_every_promise_is_kept_whatever_goes_wrong() -> None:
    all_passed(map(run, SEEDS[:2]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "often", "happening"),
    [
        (1008, DAMAGE, "chk-1/_metadata is lost: it is damaged"),
        (1036, DAMAGE, "chk-1/_metadata is torn: it is damaged"),
        (1009, DAMAGE, "chk-1/_metadata is empty: it is damaged"),
        (77, (), "master2  dies: crash"),
    ],
)
def test_the_oracle_asks_for_no_more_than_was_promised(seed: int, often: tuple[str, ...], happening: str) -> None:
    report = run(seed, often=often, settings={"taskmanager.network.memory.buffer-debloat.enabled": False})
    assert happening in "\n".join(report.trace)
    assert report.passed, report.describe()


@pytest.mark.slow
def test_the_oracle_expects_what_a_job_without_faults_puts_out() -> None:
    all_passed(run(seed, faults=False) for seed in range(1, 6))


@pytest.mark.slow
def test_every_promise_is_kept_through_all_that_the_seeds_bring_about() -> None:
    reports = all_passed([*map(run, SEEDS), *(run(seed, often=("master presumed dead",) * 6) for seed in (1, 2))])
    assert sum(report.restarts for report in reports) > 15
    assert sum(report.checkpoints for report in reports) > 50
    story = "\n".join(line for report in reports for line in report.trace)
    for happening in HAPPENINGS:
        assert happening in story, happening


HAPPENINGS = [
    *("dies: crash", "is aborted", "torn", "starts", "CheckpointAborted", "kills launch"),
    *("with data in flight", "the job is to end with", "goes on from", "once more", "has taken over the job"),
]


@pytest.mark.slow
def test_a_failure_tells_how_to_see_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plants.commit_before_the_manifest(monkeypatch)
    report = next(report for seed in range(1, 20) if not (report := run(seed)).passed)
    story = report.describe(trace_lines=5)
    assert f"seed {report.seed} failed: {report.violations[0]}" in story
    assert f"make sim SEED={report.seed}\n" in story
    assert story.splitlines()[-1].strip() == report.trace[-1].strip()


@pytest.mark.soak
@pytest.mark.parametrize("seed", [11, 75])
def test_a_seed_determines_the_run_to_the_last_byte(seed: int) -> None:
    one, other = (_trace_in_a_process(seed, hash_seed) for hash_seed in ("1", "2"))
    assert one.count(b"\n") > 100
    assert one == other


def _trace_in_a_process(seed: int, hash_seed: str) -> bytes:
    command = [sys.executable, "-m", "tests.simulation", "--seed", str(seed)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, env=environment, check=True, capture_output=True).stdout
