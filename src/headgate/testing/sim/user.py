"""The user of a simulated job: requests savepoints and other parallelisms, and ends the job at the end of its leg."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import Final, assert_never, final

from headgate.runtime.master.requests import SavepointRequest
from headgate.testing.sim.cluster import SimCluster
from headgate.testing.sim.job import Leg, LegEnd, SimJob, SimRescale

SAVEPOINTS: Final = "/sim/savepoints"

_PATIENCE_MS: Final = (20.0, 400.0)
"""How long the user waits before asking again."""


@final
class User:
    """Ends one leg from outside, and repeats the request until the leg is over."""

    def __init__(self, cluster: SimCluster, leg: Leg[SimJob]) -> None:
        self._cluster = cluster
        self._world = cluster.world
        self._leg = leg
        self._asked: Future[str] | None = None

    def plan(self) -> None:
        """Have savepoints taken, the job rescaled, and the leg end, at their times."""
        began_ms = self._world.now_ms
        if self._leg.job.grows:
            self._world.at(began_ms, self._drain_when_all_is_read)
        for after_ms in self._leg.savepoints_after_ms:
            self._world.at(began_ms + after_ms, self._take_savepoint)
        for rescale in self._leg.job.rescales:
            self._world.at(began_ms + rescale.after_ms, partial(self._rescale, rescale))
        for after_ms, most in self._leg.job.slots_max:
            self._world.at(began_ms + after_ms, partial(self._cluster.have_slots, most))
        match self._leg.end:
            case LegEnd.RUNS_OUT:
                return
            case LegEnd.CANCELLED:
                end = self._cancel
            case LegEnd.LOST:
                end = self._lose
            case LegEnd.STOPPED | LegEnd.DRAINED:
                end = self._stop
            case _:
                assert_never(self._leg.end)
        self._world.at(began_ms + self._leg.after_ms, end)

    def _take_savepoint(self) -> None:
        if not self._cluster.over:
            self._cluster.take_savepoint(SavepointRequest(target=SAVEPOINTS, format=self._leg.savepoint_format))

    def _rescale(self, rescale: SimRescale) -> None:
        if not self._cluster.over:
            self._cluster.rescale(rescale.bounds(self._cluster.plan))

    def _stop(self) -> None:
        """Ask for the job to be stopped, until it stops."""
        if not self._cluster.over:
            self._ask_to_stop(drains=self._leg.end is LegEnd.DRAINED)
            self._world.after(*_PATIENCE_MS, self._stop)

    def _drain_when_all_is_read(self) -> None:
        """End a job whose sources would discover for ever."""
        if self._cluster.over:
            return
        if self._leg.job.is_all_read(self._cluster.store):
            self._ask_to_stop(drains=True)
        self._world.after(*_PATIENCE_MS, self._drain_when_all_is_read)

    def _ask_to_stop(self, *, drains: bool) -> None:
        """Ask for a stop; ask again when the request has failed, or no driver is left to answer."""
        if self._asked is None or self._asked.done() or self._world.chance(0.1):
            request = SavepointRequest(target=SAVEPOINTS, format=self._leg.savepoint_format, stops=True, drains=drains)
            self._asked = self._cluster.take_savepoint(request)

    def _cancel(self) -> None:
        if not self._cluster.over:
            self._cluster.cancel()
            self._world.after(*_PATIENCE_MS, self._cancel)

    def _lose(self) -> None:
        if not self._cluster.over:
            self._cluster.lose_driver()
