"""One simulated run: a random job, random faults, and the oracle's verdict, all from one seed."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, final
from unittest.mock import patch

from headgate.dataflow import pace
from headgate.graph.placement import PlacementPolicy, as_programmed
from headgate.runtime.slot import slot
from headgate.state.keyed import walk
from headgate.testing.sim.external import External
from headgate.testing.sim.faults import Faults
from headgate.testing.sim.jobs import random_job
from headgate.testing.sim.journey import Journey
from headgate.testing.sim.legs import Leg, journey_of
from headgate.testing.sim.storage import SimStorage
from headgate.testing.sim.world import World


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What came of a run. `violations` is empty when every promise was kept."""

    seed: int
    job: str
    faults: tuple[str, ...]
    violations: tuple[str, ...]
    trace: tuple[str, ...]
    actions: int
    checkpoints: int
    restarts: int
    virtual_ms: float

    @property
    def passed(self) -> bool:
        """Whether every promise was kept."""
        return not self.violations

    def describe(self, trace_lines: int = 60) -> str:
        """Return the story of a failure: what broke, how to see it again, and the end of the trace."""
        return "\n".join(
            [
                f"seed {self.seed} failed: {'; '.join(self.violations)}",
                f"  reproduce: make sim SEED={self.seed}",
                f"  job: {self.job}",
                f"  faults: {', '.join(self.faults) or 'none'}",
                f"  the last {trace_lines} of {len(self.trace)} lines of the trace:",
                *(f"    {line}" for line in self.trace[-trace_lines:]),
            ]
        )


def run(
    seed: int,
    *,
    faults: bool = True,
    often: tuple[str, ...] = (),
    settings: Mapping[str, Any] = MappingProxyType({}),
    placed: PlacementPolicy = as_programmed,
) -> RunReport:
    """Simulate the job of a seed, with its faults or without; those in `often`, by their kinds, in addition.

    `settings` replace those that are drawn, on all legs. `placed` decides on the parallelism of each attempt.

    >>> run(1).passed
    True
    """
    world = World(seed)
    storage = SimStorage(world)
    outside = External(world, storage.permitted)
    try:
        with _without_logs(), _in_many_pieces(world):
            legs = tuple(_with(settings, placed, leg) for leg in journey_of(random_job(world.rng)))
            return _run(seed, world, Journey(storage, outside, legs, partial(Faults, often=often) if faults else None))
    finally:
        outside.close()


def job_of(seed: int) -> str:
    """Return the job of a seed, in words, with all its legs: `RunReport.job`. Nothing runs.

    >>> run(1).job == job_of(1)
    True
    """
    world = World(seed)
    with _in_many_pieces(world):
        return _describe(journey_of(random_job(world.rng)))


def _describe(legs: tuple[Leg, ...]) -> str:
    return "; then ".join(leg.describe() for leg in legs)


def _with(settings: Mapping[str, Any], placed: PlacementPolicy, leg: Leg) -> Leg:
    return replace(leg, spec=replace(leg.spec, settings={**leg.spec.settings, **settings}, placed=placed))


def _run(seed: int, world: World, journey: Journey) -> RunReport:
    try:
        journey.run()
    except Exception as error:  # noqa: BLE001  # whatever stops a process of ours is what the simulation looks for
        world.violated("".join(traceback.format_exception(error)).rstrip())
    journey.close()
    return RunReport(
        seed=seed,
        job=_describe(journey.legs),
        faults=tuple(journey.planned),
        violations=tuple(world.violations),
        trace=tuple(world.trace),
        actions=world.actions,
        checkpoints=sum(cluster.store.ledger.completed for cluster in journey.clusters),
        restarts=sum(cluster.master.master.progress.restarts for cluster in journey.clusters if cluster.masters),
        virtual_ms=world.now_ms,
    )


@contextmanager
def _in_many_pieces(world: World) -> Iterator[None]:
    """Have loops do their work in many pieces, though there are few records and there is little state.

    Time stands still while a loop is stepped, so that loops never find out that they could do more; half of them are
    told that each piece takes too long.
    """
    piece_ms = pace.PIECE_MS if world.chance(0.5) else -1.0
    with (
        patch.object(walk, "CHUNK_CELLS", 1),
        patch.object(slot, "ROUNDS_PER_STEP", 1),
        patch.object(pace, "PIECE_MS", piece_ms),
    ):
        yield


@contextmanager
def _without_logs() -> Iterator[None]:
    """Failures are the point of a simulation; logging them would bury its report."""
    logger = logging.getLogger("headgate")
    disabled, logger.disabled = logger.disabled, True
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logger.disabled = disabled
        logging.disable(level)
