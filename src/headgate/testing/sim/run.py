"""One simulated run: a random job, random faults, and the oracle's verdict, all from one seed."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, final
from unittest.mock import patch

from headgate import options
from headgate.deploy.package import pack
from headgate.runtime.master.supervision import JobStatus
from headgate.state.keyed import walk
from headgate.testing.sim.cluster import Cluster
from headgate.testing.sim.external import External
from headgate.testing.sim.faults import CALM_AFTER_MS, Faults
from headgate.testing.sim.jobs import NUMBERERS, plan_of, random_job
from headgate.testing.sim.oracle import Ending, judge_cancelled, judge_finished
from headgate.testing.sim.storage import SimStore
from headgate.testing.sim.world import World

END_MS_MAX: Final = CALM_AFTER_MS + 60_000.0
ACTIONS_MAX: Final = 120_000


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


def run(seed: int, *, faults: bool = True) -> RunReport:
    """Simulate the job of a seed, with its faults or without.

    >>> run(1).passed
    True
    """
    world = World(seed)
    store = SimStore(world)
    outside = External(world, store.ledger)
    try:
        with _without_logs(), patch.object(walk, "CHUNK_CELLS", 1):  # in many pieces, though there is little state
            return _run(seed, store, outside, Faults if faults else None)
    finally:
        outside.close()


def _run(seed: int, store: SimStore, outside: External, faults_of: type[Faults] | None) -> RunReport:
    world = outside.world
    spec = random_job(world.rng)
    plan = plan_of(spec, outside.number)
    cluster = Cluster(world, store, plan, pack(plan), plan.settings.get(options.CREDIT_BATCHES))
    names = [f"{stage.kind}{index}" for index, stage in enumerate(spec.stages)]
    functions = [*names, *(f"open of {name}" for name in names)]
    numbering = [name for name, stage in zip(names, spec.stages, strict=True) if stage.kind in NUMBERERS]
    functions += [f"snapshot of {name}" for name in numbering]
    planned: list[str] = []
    if faults_of is not None:
        faults = faults_of(cluster, outside, functions)
        faults.plan()
        planned = faults.planned
    cluster.start_master()
    try:
        world.run(cluster.is_over, END_MS_MAX, ACTIONS_MAX)
    except Exception as error:  # noqa: BLE001  # whatever stops a process of ours is what the simulation looks for
        world.violated("".join(traceback.format_exception(error)).rstrip())
    if not world.violations:
        cluster.results.end()
        is_tidy = store.mishaps == 0 and len(cluster.processes) == plan.slots
        _judge(
            cluster,
            Ending(
                spec=spec,
                outside=outside,
                store=store,
                collected=list(cluster.results),
                programs=len(cluster.masters),
                is_tidy=is_tidy,
            ),
        )
    return RunReport(
        seed=seed,
        job=spec.describe(),
        faults=tuple(planned),
        violations=tuple(world.violations),
        trace=tuple(world.trace),
        actions=world.actions,
        checkpoints=store.ledger.completed,
        restarts=cluster.master.master.progress.restarts,
        virtual_ms=world.now_ms,
    )


def _judge(cluster: Cluster, ending: Ending) -> None:
    outcome = cluster.master.master.outcome
    assert outcome is not None
    was_cancelled = outcome.status is JobStatus.CANCELLED and cluster.was_cancelled
    if outcome.status is not JobStatus.FINISHED and not was_cancelled:
        cluster.world.violated(f"the job ended as {outcome.status.value}: {outcome.cause}")
    for what in judge_cancelled(ending) if was_cancelled else judge_finished(ending):
        cluster.world.violated(what)


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
