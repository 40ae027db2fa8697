"""Identifiers of jobs, checkpoints and attempts, as distinct types."""

from __future__ import annotations

import random
from typing import NewType

JobId = NewType("JobId", str)
"""32 hexadecimal digits, as Flink writes them."""

Attempt = NewType("Attempt", int)
"""Counts the executions of a job's graph, from 1; everything an execution does carries it."""

Launch = NewType("Launch", int)
"""Counts the submissions of the stage that hosts the slots, from 1."""

CheckpointId = NewType("CheckpointId", int)
"""Counts checkpoints of a job from 1; never used twice, also across restarts."""

ChannelId = NewType("ChannelId", int)
"""Index of a channel in the physical graph."""


def new_job_id(rng: random.Random) -> JobId:
    """Return a fresh job id drawn from `rng`.

    >>> new_job_id(random.Random(1))
    'cd613e30d8f16adf91b7584a2265b1f5'
    """
    return JobId(f"{rng.getrandbits(128):032x}")
