"""Identifiers of jobs, checkpoints and attempts, as distinct types."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import NewType, final

JobId = NewType("JobId", str)
"""32 hexadecimal digits, as Flink writes them."""

Attempt = NewType("Attempt", int)
"""Counts the executions of a job's graph, from 1; all that an execution sends and writes carries it."""

Launch = NewType("Launch", int)
"""Counts the submissions of the stage that hosts the slots, from 1."""

CheckpointId = NewType("CheckpointId", int)
"""Counts checkpoints of a job from 1; never used twice, not even across restarts."""

ChannelId = NewType("ChannelId", int)
"""Index of a channel among all channels of an attempt."""

SlotIndex = NewType("SlotIndex", int)
"""Index of a slot, from 0; a slot hosts the subtasks whose index is the same modulo the number of slots."""


@final
@dataclass(frozen=True, slots=True, order=True)
class SubtaskId:
    """One parallel instance of a (chained) vertex of the graph."""

    vertex: int
    index: int

    def __str__(self) -> str:
        return f"{self.vertex}.{self.index}"


@final
@dataclass(frozen=True, slots=True)
class Lineage:
    """One history of a job's output. What a job writes outside carries job id and lineage.

    A job id may be used again, with other storage or from a savepoint. Attempts and checkpoints are then counted from
    the beginning, so that only the lineage tells what this run writes from what an earlier one has written. `digits`
    are 32 random hexadecimal digits; `began_ms` is the time of day, in milliseconds, at which the lineage began.

    `driver` are some digits of the driver that writes under it now, empty where no driver has taken the job. A copy of
    the job's folder, or a backup of it, has the same lineage, and counts attempts and checkpoints once more.
    """

    digits: str
    began_ms: int
    driver: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.digits


def new_job_id(rng: random.Random) -> JobId:
    """Return a fresh job id drawn from `rng`.

    >>> new_job_id(random.Random(1))
    'cd613e30d8f16adf91b7584a2265b1f5'
    """
    return JobId(f"{rng.getrandbits(128):032x}")


def new_lineage(rng: random.Random, wall_ms: int) -> Lineage:
    """Return a fresh lineage drawn from `rng`, which begins now.

    >>> new_lineage(random.Random(1), 5)
    Lineage(digits='cd613e30d8f16adf91b7584a2265b1f5', began_ms=5, driver='')
    """
    return Lineage(f"{rng.getrandbits(128):032x}", wall_ms)
