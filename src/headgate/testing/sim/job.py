"""What the simulator runs: a job on each leg of a journey, and the program that says whether their output is right."""

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
    """Return the id of the job on a leg: later legs have higher ones."""
    return JobId("5e" * 15 + f"{leg:02x}")


@final
@dataclass(frozen=True, slots=True)
class SimRescale:
    """A request for another parallelism, so long after the start of a leg. `bounds` are decided on from what runs."""

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
        """How many jobs have run before, from whose state it goes on."""
        ...

    @property
    def settings(self) -> Mapping[str, object]:
        """Its settings, by Flink's keys."""
        ...

    @property
    def placed(self) -> PlacementPolicy:
        """What decides on the parallelism of each attempt."""
        ...

    @property
    def is_exact(self) -> bool:
        """Whether each record counts exactly once; else at least once."""
        ...

    @property
    def may_drain(self) -> bool:
        """Whether its event time may come to an end before its input has."""
        ...

    @property
    def grows(self) -> bool:
        """Whether its sources find more while they are read, and never end."""
        ...

    @property
    def rescales(self) -> Sequence[SimRescale]:
        """What other parallelisms are asked for while it runs."""
        ...

    @property
    def slots_max(self) -> Sequence[tuple[float, int | None]]:
        """How many slots a launch can have at most, from so many ms after the start of its leg on; None: any number."""
        ...

    def describe(self) -> str:
        """Return the job in one line."""
        ...

    def graph(self, outside: int, start: Mapping[str, object]) -> JobGraph:
        """Return what runs; its sinks find the outside by its number. `start` has the settings to start from."""
        ...

    def functions(self) -> list[str]:
        """Return the names of what user code can be made to fail in."""
        ...

    def is_all_read(self, store: SimStore) -> bool:
        """Return whether its sources, which never end, have nothing left to read."""
        ...

    def with_settings(self, leg: int, settings: Mapping[str, object]) -> Self:
        """Return the same job with these settings, on a leg."""
        ...

    def rescaled(self, rng: random.Random) -> Self:
        """Return the same job at another parallelism."""
        ...


@final
class LegEnd(Enum):
    """How a leg is ended."""

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
    """One job of a journey. `after_ms` is when it is ended, from its start on."""

    job: J_co
    end: LegEnd = LegEnd.RUNS_OUT
    after_ms: float = 0.0
    savepoint_format: SavepointFormat = SavepointFormat.CANONICAL
    savepoints_after_ms: tuple[float, ...] = ()
    """When savepoints are asked for, from its start on."""

    def describe(self) -> str:
        """Return the leg in one line."""
        savepoints = "".join(f"; savepoint after {after_ms:.0f} ms" for after_ms in self.savepoints_after_ms)
        how = "" if self.end is LegEnd.RUNS_OUT else f"; after {self.after_ms:.0f} ms it {self.end.value}"
        return f"{self.job.describe()}{savepoints}{how}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SimEnding(Generic[J]):
    """What is left when a journey is over."""

    jobs: tuple[J, ...]
    """The job on each leg that was planned."""
    legs: int
    """How many of them ran."""
    outside: External
    collected: list[Any]
    """What reached the programs."""
    drivers: int
    """At most so many drivers ran a leg, one after the other."""
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
        """Yield what is wrong with the output of a journey, in words."""
        ...

    def judge_fork(self, job: J, outside: External) -> Iterator[str]:
        """Yield what is wrong with what is outside when a job went on from a savepoint that another has left behind."""
        ...
