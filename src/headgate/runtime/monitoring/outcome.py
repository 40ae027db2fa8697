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
    """How a job ended. `cause` is a text for people, None when it finished; `counters` are its named counters.

    `way_on` says where the job can go on, or why it cannot; empty where there is nothing to say. Where there is a
    `cause`, that says it, too.
    """

    job_id: JobId
    status: JobState
    cause: str | None
    runtime_ms: float
    counters: dict[str, int] = field(default_factory=dict)
    way_on: str = ""

    def in_a_line(self) -> str:
        """Return how the job ended, and where it can go on.

        >>> cause = "OSError: no\\n  in operator 'x'"
        >>> JobOutcome(job_id=JobId("1f"), status=JobState.FAILED, cause=cause, runtime_ms=1.0).in_a_line()
        'job 1f is failed: OSError: no'
        """
        why, _, rest = (self.cause or self.way_on).partition("\n")
        told = [f"job {self.job_id} is {self.status.value}", *filter(None, [why, self.way_on if rest else ""])]
        return ": ".join(told)
