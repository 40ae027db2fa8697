"""One simulated run: a program, a journey, faults and the verdict, all from one seed."""

from __future__ import annotations

import logging
import random
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import final
from unittest.mock import patch

from headgate.dataflow import pace
from headgate.runtime.slot import slot
from headgate.state.keyed import walk
from headgate.testing.sim.external import External
from headgate.testing.sim.faults import Faults
from headgate.testing.sim.job import J, Leg, SimProgram
from headgate.testing.sim.journey import Journey
from headgate.testing.sim.storage import SimStorage
from headgate.testing.sim.world import World


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The result of a run. `violations` is empty when every promise was kept."""

    seed: int = 0
    reproduce: str = ""
    """The command that reproduces the run."""
    job: str
    faults: tuple[str, ...]
    violations: tuple[str, ...]
    trace: tuple[str, ...]
    actions: int
    checkpoints: int
    restarts: int
    rescales: int
    virtual_ms: float

    @property
    def passed(self) -> bool:
        """Whether every promise was kept."""
        return not self.violations

    def describe(self, trace_lines: int = 60) -> str:
        """Return a description of a failure: the broken promises, how to reproduce them, and the end of the trace."""
        return "\n".join(
            [
                f"seed {self.seed} failed: {'; '.join(self.violations)}",
                f"  reproduce: {self.reproduce}",
                f"  job: {self.job}",
                f"  faults: {', '.join(self.faults) or 'none'}",
                f"  the last {trace_lines} of {len(self.trace)} lines of the trace:",
                *(f"    {line}" for line in self.trace[-trace_lines:]),
            ]
        )


Draw = Callable[[random.Random], SimProgram[J]]
"""Draws a random program and its journey."""


def run(seed: int, draw: Draw[J], reproduce: str, *, faults: bool = True, often: tuple[str, ...] = ()) -> RunReport:
    """Simulate the program of a seed under the faults of the seed, plus the kinds of faults in `often`.

    `reproduce` is the command that repeats the run.
    """
    world = World(seed)
    storage = SimStorage(world)
    outside = External(world, storage.permitted)
    try:
        with _without_logs(), _in_many_pieces(world):
            faults_of = partial(Faults, often=often) if faults else None
            journey = Journey(storage, outside, draw(world.rng), faults_of)
            return replace(_run(world, journey), seed=seed, reproduce=reproduce)
    finally:
        outside.close()


def journey_in_words(seed: int, draw: Draw[J]) -> str:
    """Return the description of the journey that `draw` draws for a seed: `RunReport.job`. Nothing runs."""
    world = World(seed)
    with _in_many_pieces(world):
        return _describe(draw(world.rng).legs)


def _describe(legs: tuple[Leg[J], ...]) -> str:
    return "; then ".join(leg.describe() for leg in legs)


def _run(world: World, journey: Journey[J]) -> RunReport:
    try:
        journey.run()
    except Exception as error:  # noqa: BLE001  # the simulation looks for any error that stops a process
        world.violated("".join(traceback.format_exception(error)).rstrip())
    journey.close()
    return RunReport(
        job=_describe(journey.legs),
        faults=tuple(journey.planned),
        violations=tuple(world.violations),
        trace=tuple(world.trace),
        actions=world.actions,
        checkpoints=sum(cluster.store.ledger.completed for cluster in journey.clusters),
        restarts=sum(cluster.master.master.progress.restarts for cluster in journey.clusters if cluster.masters),
        rescales=sum(cluster.rescales for cluster in journey.clusters),
        virtual_ms=world.now_ms,
    )


@contextmanager
def _in_many_pieces(world: World) -> Iterator[None]:
    """Have loops divide their work into many pieces, even with few records and little state.

    Virtual time stands still during a step, so loops would never notice a slow piece; half of them are told that each
    piece takes too long.
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
