"""Runs of our own jobs that change their parallelism while they run, by the seed, next to all that goes wrong."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from typing import Final

from headgate.graph.job_graph import JobGraph, VertexPlan
from headgate.runtime.master.rescales import Bounds
from headgate.testing.sim.job import SimRescale
from headgate.testing.sim.run import RunReport
from tests.simulation.own_jobs.jobs import JobSpec
from tests.simulation.own_jobs.run import run

WIDTH_MAX: Final = 5
FIXED: Final = ("broadcast", "own_list", "union")
"""Stages that count for each of their subtasks: at another parallelism they would rightly count differently."""
CALLING: Final = ("calling", "calling_by_key")
"""Stages whose barriers wait for answers. With fewer subtasks they may wait longer than checkpoints have; a job that
begins again each time, in Flink as well, comes to no end: so their checkpoints may fail."""
_RESCALES_MAX: Final = 6
_APART_MS: Final = (20.0, 500.0)
_SCARCE_MS: Final = (0.0, 2_500.0)
ADAPTIVE: Final = {
    "jobmanager.scheduler": "adaptive",
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": 50,
    "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout": 100,
}
"""Half of the jobs go on with the slots that there are."""


def run_rescaled(seed: int, *, faults: bool = True, often: tuple[str, ...] = ()) -> RunReport:
    """Simulate the job of a seed; ask for other parallelisms on each leg, and let there be too few slots at times.

    Faults of the kinds in `often` come in addition to those that are drawn.
    """
    report = run(seed, faults=faults, often=often, change=partial(_rescaled, seed))
    return replace(report, reproduce=f"python -m tests.simulation --rescaled --seed {seed}")


def _rescaled(seed: int, job: JobSpec) -> JobSpec:
    rng = random.Random(f"rescales of {seed} {job.job_id}")
    after_ms = 0.0
    found = []
    for number in range(rng.randint(1, _RESCALES_MAX)):
        after_ms += rng.uniform(*_APART_MS)
        found.append(SimRescale(after_ms, partial(_bounds, f"{seed} {job.job_id} {number}")))
    settings = {**job.settings, **ADAPTIVE} if rng.random() < 0.5 else job.settings
    if any(stage.kind in CALLING for stage in job.stages):
        settings = {**settings, "execution.checkpointing.tolerable-failed-checkpoints": 100}
    return replace(job, settings=settings, rescales=tuple(found), slots_max=_slots(job, rng))


def _slots(job: JobSpec, rng: random.Random) -> tuple[tuple[float, int | None], ...]:
    """Draw how many slots there are: too few at times, but enough for stages that stay as they are, and in the end."""
    least = max((stage.parallelism for stage in job.stages if stage.kind in FIXED), default=0)
    times = sorted(rng.uniform(*_SCARCE_MS) for _ in range(rng.choice((0, 0, 2, 4))))
    scarce = [(after_ms, rng.choice((None, *range(least, WIDTH_MAX)))) for after_ms in times]
    return (*scarce, (_SCARCE_MS[1], None)) if scarce else ()


def _bounds(seed: str, graph: JobGraph) -> Bounds:
    rng = random.Random(seed)
    counts = [width(vertex, rng) for vertex in graph.vertices]
    return {vertex.id: (count, count) for vertex, count in zip(graph.vertices, counts, strict=True)}


def width(vertex: VertexPlan, rng: random.Random) -> int:
    """Draw how many subtasks a vertex has.

    One of one subtask stays so: records come out of it in order, and the oracle says so.
    """
    is_fixed = any(operator.name.startswith(FIXED) for operator in vertex.operators)
    most = min(WIDTH_MAX, vertex.parallelism_max)
    return vertex.parallelism if is_fixed or vertex.parallelism == 1 else rng.randint(1, most)
