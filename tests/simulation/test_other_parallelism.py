"""Whole jobs under faults whose attempts have different parallelisms: each record still counts exactly once."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import partial

import pytest

from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import Placement, as_programmed, place
from headgate.ids import Attempt
from headgate.runtime.job_storage.restore import RestoreResolver, shapes_of
from headgate.testing.sim.run import RunReport
from tests.simulation.own_jobs.jobs import JobSpec
from tests.simulation.own_jobs.rescaling import run_rescaled, width
from tests.simulation.own_jobs.run import run
from tests.simulation.some_seeds import all_passed

UNALIGNED = {
    "execution.checkpointing.interval": 20,
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "execution.checkpointing.unaligned.enabled": True,
    "execution.checkpointing.aligned-checkpoint-timeout": 0,
    "execution.checkpointing.max-concurrent-checkpoints": 1,
}
BLOCK = 5
BLOCKS = [
    pytest.param(first, marks=pytest.mark.slow if first < 6 else (pytest.mark.soak, pytest.mark.long))
    for first in range(1, 81, BLOCK)
]


class Widths:
    """Draws the parallelism of each attempt, and notes what came of it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.placements: dict[tuple[str, Attempt], Placement] = {}

    def __call__(self, graph: JobGraph, attempt: Attempt) -> Placement:
        rng = random.Random(f"{self.seed} {graph.job_id} {attempt}")
        placement = place(graph, [width(vertex, rng) for vertex in graph.vertices])
        self.placements[graph.job_id, attempt] = placement
        return placement


def placed(widths: Widths, job: JobSpec) -> JobSpec:
    return replace(job, placed=widths)


def rescaled(report: RunReport, widths: Widths) -> set[str]:
    """Return what attempts of another parallelism than their checkpoint's have started from, if there is one leg."""
    taken: dict[str, tuple[Attempt, str]] = {}
    ended: set[Attempt] = set()
    found: set[str] = set()
    job, *others = {job for job, _ in widths.placements}
    if others:
        return set()  # the trace does not tell attempts of several legs apart
    for line in report.trace:
        if durable := re.search(r"checkpoint (\d+) of attempt (\d+) is durable(, with data in flight)?", line):
            attempt = Attempt(int(durable[2]))
            taken[durable[1]] = attempt, f"{'in flight' if durable[3] else ''} {'ended' if attempt in ended else ''}"
        elif over := re.search(r"SubtaskEnded attempt=(\d+)", line):
            ended.add(Attempt(int(over[1])))
        elif deploy := re.search(r"Deploy attempt=(\d+) checkpoint_id=(\d+)", line):
            before, what = taken[deploy[2]]
            if widths.placements[job, before] != widths.placements[job, Attempt(int(deploy[1]))]:
                found |= set(re.findall("in flight|ended", what))
    return found


@pytest.mark.parametrize("first", BLOCKS)
def test_every_promise_is_kept_when_each_attempt_has_another_parallelism(first: int) -> None:
    all_passed(run(seed, change=partial(placed, Widths(seed))) for seed in range(first, first + BLOCK))


@pytest.mark.parametrize("first", BLOCKS)
def test_every_promise_is_kept_when_the_job_is_rescaled_while_it_runs(first: int) -> None:
    reports = all_passed(run_rescaled(seed) for seed in range(first, first + BLOCK))
    assert sum(report.rescales for report in reports) > BLOCK // 2


@pytest.mark.slow
def test_attempts_go_on_at_another_parallelism_from_data_in_flight_and_from_subtasks_that_had_ended() -> None:
    missing = {"in flight", "ended"}
    for seed in (11, *range(1, 61)):  # today the first of them shows both
        widths = Widths(seed)
        report = run(seed, settings=UNALIGNED, change=partial(placed, widths))
        assert report.passed, report.describe()
        missing -= rescaled(report, widths)
        if not missing:
            return
    pytest.fail(f"no attempt has started from these at another parallelism: {missing}")


@pytest.mark.slow
def test_state_that_is_dealt_to_the_subtasks_of_another_placement_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RestoreResolver, "_shapes", lambda self: shapes_of(self.plan, as_programmed(self.plan)))
    assert any(not run(seed, change=partial(placed, Widths(seed))).passed for seed in range(1, 21))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1784, 7382])
def test_jobs_that_wait_for_answers_end_and_failed_rescales_count_as_new_beginnings(seed: int) -> None:
    """The first came to no end for the timeouts of its checkpoints; of the other, which counts at least once, it was
    asked that it count each record once, although a rescale had failed and the job had begun again."""
    report = run_rescaled(seed)
    assert report.violations == ()
