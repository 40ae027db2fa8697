"""The outcome of a job, and the failures on the way to it: what went wrong, where, and whether the job restarts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

from headgate.ids import Attempt, JobId
from headgate.job_status import JobStatus
from headgate.operators.failure import UserFailure
from headgate.runtime.control.messages import SlotTornDown, TaskFailed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """The outcome of a job. A suspended job has not ended: only its driver has, and a later driver continues the job.

    `cause` is a text for people, None when the job finished. `counters` are the job's named counters. `way_on` says how
    to continue the job, or why that is impossible; empty if there is no advice. `cause` contains it, too.
    """

    job_id: JobId
    status: JobStatus
    cause: str | None
    runtime_ms: float
    counters: dict[str, int] = field(default_factory=dict)
    way_on: str = ""

    def in_a_line(self) -> str:
        """Return the outcome, and how to continue the job, in one line.

        >>> cause = "OSError: no\\n  in operator 'x'"
        >>> JobOutcome(job_id=JobId("1f"), status=JobStatus.FAILED, cause=cause, runtime_ms=1.0).in_a_line()
        'job 1f is failed: OSError: no'
        """
        why, _, rest = (self.cause or self.way_on).partition("\n")
        told = [f"job {self.job_id} is {self.status.word}", *filter(None, [why, self.way_on if rest else ""])]
        return ": ".join(told)


FAILURES_MAX: Final = 100
"""The number of latest failures of a job that are kept: a job may restart forever."""
LINE_MAX: Final = 200
"""The greatest number of characters of `Failure.line`."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FailureOrigin:
    """The origin of a failure, as far as it is known: the operator's name, and the indexes of subtask and slot.

    `user` is the exception of user code, None if other code failed.
    """

    operator: str | None = None
    subtask: int | None = None
    slot: int | None = None
    user: UserFailure | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure. `cause` is the full description, for people.

    `wall_ms` is the driver's wall clock. `attempt` is the attempt that failed, 0 before the first. The job restarts
    after `restart_delay_ms`; None: the failure was final.
    """

    wall_ms: int
    attempt: Attempt
    cause: str
    origin: FailureOrigin
    restart_delay_ms: float | None

    def line(self) -> str:
        """Return the first line of the cause."""
        return self.cause.strip().partition("\n")[0][:LINE_MAX]


def origin_of(message: TaskFailed | SlotTornDown) -> FailureOrigin:
    """Return the origin of a failure that a slot reports."""
    if isinstance(message, SlotTornDown):
        user = message.unclosed
        return FailureOrigin(slot=message.slot) if user is None else _origin_of_user(user, message.slot)
    if message.subtask is None:
        return FailureOrigin(slot=message.slot)
    if isinstance(message.failure, UserFailure):
        return _origin_of_user(message.failure, message.slot)
    return FailureOrigin(subtask=message.subtask.index, slot=message.slot)


def _origin_of_user(failure: UserFailure, slot: int) -> FailureOrigin:
    return FailureOrigin(operator=failure.operator, subtask=failure.subtask, slot=slot, user=failure)


def describe_unclosed(failure: UserFailure) -> str:
    """Return, for people, why a job has failed whose user code raised in close()."""
    return (
        f"{failure.describe()}\n(All input was processed and its output is committed, so the job does not start again. "
        "What close() was to write may be missing: write it in finish(), which is called before the last checkpoint)"
    )
