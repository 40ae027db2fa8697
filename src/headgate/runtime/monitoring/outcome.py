"""The outcome of a job, as the program that submitted it sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from headgate.ids import JobId
from headgate.job_status import JobStatus


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """How a job ended. A suspended job has not ended: only its driver has, and a later driver continues the job.

    `cause` is a text for people, None when the job finished; `counters` are the job's named counters. `way_on` says
    where the job can go on, or why it cannot; empty where there is nothing to say. A `cause` repeats it.
    """

    job_id: JobId
    status: JobStatus
    cause: str | None
    runtime_ms: float
    counters: dict[str, int] = field(default_factory=dict)
    way_on: str = ""

    def in_a_line(self) -> str:
        """Return how the job ended, and where it can go on.

        >>> cause = "OSError: no\\n  in operator 'x'"
        >>> JobOutcome(job_id=JobId("1f"), status=JobStatus.FAILED, cause=cause, runtime_ms=1.0).in_a_line()
        'job 1f is failed: OSError: no'
        """
        why, _, rest = (self.cause or self.way_on).partition("\n")
        told = [f"job {self.job_id} is {self.status.word}", *filter(None, [why, self.way_on if rest else ""])]
        return ": ".join(told)
