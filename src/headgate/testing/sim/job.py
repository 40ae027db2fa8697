"""Simulated jobs and programs: a job runs on each leg of a journey, and the program judges the output."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, Self, TypeVar, final

from headgate.elements import SavepointFormat
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import PlacementPolicy
from headgate.ids import JobId
from headgate.runtime.master.rescales import Bounds
from headgate.testing.sim.external import External
from headgate.testing.sim.storage import SimStore


def simulated_id(leg: int) -> JobId:
    """Return the id of the job on a leg: later legs have higher ids."""
    return JobId("5e" * 15 + f"{leg:02x}")


@final
@dataclass(frozen=True, slots=True)
class SimRescale:
    """A request for another parallelism, `after_ms` after the start of a leg: `bounds` of the running graph."""

    after_ms: float
    bounds: Callable[[JobGraph], Bounds]


class SimJob(Protocol):
    """One job: a program at some parallelism with some settings. Immutable."""

    @property
    def job_id(self) -> JobId:
        """Its id, `simulated_id`."""
        ...

    @property
    def leg(self) -> int:
        """How many jobs have run before: the job continues from their state."""
        ...

    @property
    def settings(self) -> Mapping[str, object]:
        """Its settings, by Flink's keys."""
        ...

    @property
    def placed(self) -> PlacementPolicy:
        """The policy that decides the parallelism of each attempt."""
        ...

    @property
    def is_exact(self) -> bool:
        """Whether each record counts exactly once, instead of at least once."""
        ...

    @property
    def may_drain(self) -> bool:
        """Whether event time may end before the input does."""
        ...

    @property
    def grows(self) -> bool:
        """Whether its sources discover more splits while they are read, and never end."""
        ...

    @property
    def rescales(self) -> Sequence[SimRescale]:
        """The requests for another parallelism while the job runs."""
        ...

    @property
    def slots_max(self) -> Sequence[tuple[float, int | None]]:
        """Pairs: ms after the start of the leg, and the maximum slots of a launch from then on; None: any number."""
        ...

    def describe(self) -> str:
        """Return the job in one line."""
        ...

    def graph(self, outside: int, start: Mapping[str, object]) -> JobGraph:
        """Return the graph; its sinks find the external system by `outside`. `start` has the settings to start from."""
        ...

    def functions(self) -> list[str]:
        """Return the names of the user functions that can be made to fail."""
        ...

    def is_all_read(self, store: SimStore) -> bool:
        """Return whether its endless sources have nothing left to read."""
        ...

    def with_settings(self, leg: int, settings: Mapping[str, object]) -> Self:
        """Return the same job with these settings, on a leg."""
        ...

    def rescaled(self, rng: random.Random) -> Self:
        """Return the same job at another parallelism."""
        ...


@final
class LegEnd(Enum):
    """How a leg ends."""

    RUNS_OUT = "runs to its end"
    STOPPED = "is stopped with a savepoint"
    DRAINED = "is drained and stopped with a savepoint"
    CANCELLED = "is cancelled"
    LOST = "loses its driver for good"


J = TypeVar("J", bound=SimJob)
J_co = TypeVar("J_co", bound=SimJob, covariant=True)
"""A kind of job."""


@final
@dataclass(frozen=True, slots=True)
class Leg(Generic[J_co]):
    """One job of a journey. It ends `after_ms` after its start."""

    job: J_co
    end: LegEnd = LegEnd.RUNS_OUT
    after_ms: float = 0.0
    savepoint_format: SavepointFormat = SavepointFormat.CANONICAL
    savepoints_after_ms: tuple[float, ...] = ()
    """When savepoints are requested, in ms after the start."""

    def describe(self) -> str:
        """Return the leg in one line."""
        savepoints = "".join(f"; savepoint after {after_ms:.0f} ms" for after_ms in self.savepoints_after_ms)
        how = "" if self.end is LegEnd.RUNS_OUT else f"; after {self.after_ms:.0f} ms it {self.end.value}"
        return f"{self.job.describe()}{savepoints}{how}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SimEnding(Generic[J]):
    """The outcome of a journey."""

    jobs: tuple[J, ...]
    """The jobs of all planned legs."""
    legs: int
    """Number of legs that ran."""
    outside: External
    collected: list[Any]
    """The results that the programs received."""
    drivers: int
    """The largest number of drivers that ran one leg, one after the other."""
    is_exact: bool
    """Whether each record counts exactly once: everywhere, or because nothing was restored."""
    was_cancelled: bool


class SimProgram(Protocol[J]):
    """A program that runs on all legs of one journey, and the oracle that knows what it has to emit."""

    @property
    def legs(self) -> tuple[Leg[J], ...]:
        """The journey."""
        ...

    def judge(self, ending: SimEnding[J]) -> Iterator[str]:
        """Yield descriptions of errors in the output of a journey."""
        ...

    def judge_fork(self, job: J, outside: External) -> Iterator[str]:
        """Yield descriptions of errors in the external system after a job continued from another job's savepoint."""
        ...
