"""The outcome of a job, as the program that submitted it sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import final

from headgate.ids import JobId


@final
class JobState(Enum):
    """How a job ended. One that is suspended has not: only its driver has, and a later one goes on with the job."""

    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SUSPENDED = "suspended"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """How a job ended. `cause` is a text for people, None when it finished; `counters` are its named counters."""

    job_id: JobId
    status: JobState
    cause: str | None
    runtime_ms: float
    counters: dict[str, int] = field(default_factory=dict)
