"""The failures of a job: what went wrong, where, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from headgate.ids import Attempt
from headgate.operators.failure import UserFailure
from headgate.runtime.control.messages import TaskFailed

FAILURES_MAX: Final = 100
"""Failures of a job that are kept, the latest: a job may restart without end."""
LINE_MAX: Final = 200


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FailureOrigin:
    """Where a failure came from, as far as it is known: the operator's name, the subtask's index, the slot's.

    `user` is what user code has raised, None where it was not user code.
    """

    operator: str | None = None
    subtask: int | None = None
    slot: int | None = None
    user: UserFailure | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure. `cause` is the whole story, for people.

    `wall_ms` is the time of the driver's clock, `attempt` the one that failed, 0 before the first. The job starts again
    after `restart_delay_ms`; None: the failure was final.
    """

    wall_ms: int
    attempt: Attempt
    cause: str
    origin: FailureOrigin
    restart_delay_ms: float | None

    def line(self) -> str:
        """Return the cause in a line."""
        return self.cause.strip().partition("\n")[0][:LINE_MAX]


def origin_of(message: TaskFailed) -> FailureOrigin:
    """Return where a failure that a slot reports came from."""
    if message.subtask is None:
        return FailureOrigin(slot=message.slot)
    user = message.failure if isinstance(message.failure, UserFailure) else None
    operator = None if user is None else user.operator
    return FailureOrigin(operator=operator, subtask=message.subtask.index, slot=message.slot, user=user)
