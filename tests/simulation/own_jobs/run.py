"""A simulated run of a job of our own: a random job, random faults, and the oracle's verdict, all from one seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, final

from headgate.testing.sim import run as sim
from headgate.testing.sim.external import External
from headgate.testing.sim.job import Leg, SimEnding
from headgate.testing.sim.random_jobs import journey_of
from headgate.testing.sim.run import RunReport
from tests.simulation.own_jobs.jobs import JobSpec, random_job
from tests.simulation.own_jobs.oracle import judge_cancelled, judge_finished, judge_fork


@final
@dataclass(frozen=True, slots=True)
class OwnProgram:
    """One of our own programs (`SimProgram`)."""

    legs: tuple[Leg[JobSpec], ...]

    def judge(self, ending: SimEnding[JobSpec]) -> Iterator[str]:
        """Yield what is wrong with the output."""
        return judge_cancelled(ending) if ending.was_cancelled else judge_finished(ending)

    def judge_fork(self, job: JobSpec, outside: External) -> Iterator[str]:
        """Yield what is wrong with the output of a job that went on from a savepoint on the way."""
        return judge_fork(job, outside)


def run(
    seed: int,
    *,
    faults: bool = True,
    often: tuple[str, ...] = (),
    settings: Mapping[str, Any] = MappingProxyType({}),
    change: Callable[[JobSpec], JobSpec] = lambda job: job,
) -> RunReport:
    """Simulate the job of a seed, with its faults or without; those in `often`, by their kinds, in addition.

    `settings` replace those that are drawn, on all legs. `change` returns what the job of a leg is to be like.
    """
    draw = partial(_draw, lambda job: change(replace(job, settings={**job.settings, **settings})))
    return sim.run(seed, draw, f"make sim SEED={seed}", faults=faults, often=often)


def job_of(seed: int) -> str:
    """Return the job of a seed, in words, with all its legs: `RunReport.job`. Nothing runs."""
    return sim.journey_in_words(seed, partial(_draw, lambda job: job))


def _draw(change: Callable[[JobSpec], JobSpec], rng: random.Random) -> OwnProgram:
    spec = random_job(rng)
    # Drawn apart from all else, so that seeds whose jobs have one leg mean what they meant without the others.
    legs = journey_of(spec.with_settings(0, spec.settings), random.Random(f"legs of {spec!r}"))
    return OwnProgram(tuple(replace(leg, job=change(leg.job)) for leg in legs))
