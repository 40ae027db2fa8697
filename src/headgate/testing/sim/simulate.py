"""The simulator's public entry: it runs a user's program under faults, and compares it with a run without faults."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, final

from headgate.testing.sim.external import External
from headgate.testing.sim.job import Leg, SimEnding
from headgate.testing.sim.program import Outcome, Program, UserJob, UserProgram, each_record
from headgate.testing.sim.random_jobs import journey_of, random_settings
from headgate.testing.sim.run import RunReport, run

_READING_MS: Final = (300.0, 1_500.0)
"""About how long sources are read, so that faults occur meanwhile."""


class PromiseBroken(AssertionError):
    """A seed has broken a promise. The message names the promise and the command to repeat it, then the trace."""


@final
@dataclass(frozen=True, slots=True)
class SimulationSummary:
    """Totals of all runs: completed checkpoints, restarts, and rescales of running jobs."""

    seeds: int
    checkpoints: int
    restarts: int
    rescales: int


def simulate(program: Program, seeds: int | Iterable[int] = 100, outcome: Outcome = each_record) -> SimulationSummary:
    """Run a program under faults, once for each seed, and check that its output is always the same; blocks.

    `program` takes a `StreamExecutionEnvironment`, builds the job in it without executing it, and returns the stream
    (or a dict of streams by name) whose records are compared. Its sources must end; a few hundred records are enough.
    `seeds` is a number (the seeds from 1 on) or the seeds themselves; the same seed does the same each time, if the
    program's functions do. `outcome` computes, from all records of a stream, a value that must not depend on faults; by
    default, how often each record occurs.

    Each run draws checkpoint settings, parallelism and faults: slots and drivers that crash, hang or stop, connections
    that break, storage that fails or loses power. Some jobs are stopped with a savepoint and continue at another
    parallelism, some are rescaled while they run. All of it happens in this thread, under virtual time.

    Raises PromiseBroken for the first seed whose output differs, or whose job fails without a fault; ProgramError for a
    program that cannot be simulated.

    >>> def program(env):
    ...     return env.from_collection(list(range(50))).map(lambda n: n * n)
    >>> simulate(program, seeds=2).seeds
    2
    """
    simulation = Simulation(program, outcome)
    reports = []
    for seed in range(1, seeds + 1) if isinstance(seeds, int) else seeds:
        report = simulation(seed)
        if not report.passed:
            raise PromiseBroken(report.describe())
        reports.append(report)
    return SimulationSummary(
        seeds=len(reports),
        checkpoints=sum(report.checkpoints for report in reports),
        restarts=sum(report.restarts for report in reports),
        rescales=sum(report.rescales for report in reports),
    )


@final
class Simulation:
    """A program with its known outcome without faults. Called with a seed, it runs the seed."""

    def __init__(self, program: Program, outcome: Outcome = each_record, reproduce: str = "") -> None:
        """Run the program without faults; raises ProgramError, and PromiseBroken when this run fails.

        `reproduce` is the command that runs a program, to which a seed is added.
        """
        self._program = program
        self._outcome = outcome
        self._reproduce = reproduce
        job = UserJob(program).with_settings(0, random_settings(random.Random(0)))
        job.graph(outside=0, start={})  # so that a wrong program raises here
        undisturbed = _Undisturbed(job, outcome)
        report = run(0, lambda rng: undisturbed, "simulate(..., seeds=0)", faults=False)
        if not report.passed:
            raise PromiseBroken(f"without any fault: {report.describe()}")
        self._expected = undisturbed.outcomes
        self._rate = job.records_per_second
        self._took_ms = report.virtual_ms

    def __call__(self, seed: int, *, faults: bool = True) -> RunReport:
        """Run a seed."""
        reproduce = f"{self._reproduce} --seed {seed}" if self._reproduce else f"simulate(..., seeds=[{seed}])"
        return run(seed, self._draw, reproduce, faults=faults)

    def _draw(self, rng: random.Random) -> UserProgram:
        settings = random_settings(rng)
        rate = self._rate * self._took_ms / rng.uniform(*_READING_MS)
        job = UserJob(self._program, parallelism=rng.randint(1, 3), records_per_second=rate)
        legs = journey_of(job.with_settings(0, settings), rng)
        return UserProgram(tuple(map(_rescaled, legs)), self._outcome, self._expected)


def _rescaled(leg: Leg[UserJob]) -> Leg[UserJob]:
    """Have the job of a leg rescaled while it runs, by a separate generator: the rest of the seed stays as it was."""
    return replace(leg, job=leg.job.rescaled_as_it_runs(random.Random(f"rescales of {leg.describe()}")))


@final
class _Undisturbed:
    """The program on one leg, whose outcomes are recorded (`SimProgram`)."""

    def __init__(self, job: UserJob, outcome: Outcome) -> None:
        self.legs = (Leg(job),)
        self.outcomes: dict[str, object] = {}
        self._outcome = outcome

    def judge(self, ending: SimEnding[UserJob]) -> Iterator[str]:
        """Record the outcomes; yield no errors."""
        outside = ending.outside
        self.outcomes = {name: self._outcome(outside.records_of(name)) for name in ending.jobs[0].functions()}
        return iter(())

    def judge_fork(self, job: UserJob, outside: External) -> Iterator[str]:
        """Yield no errors: the run has left no savepoints."""
        return iter(())
