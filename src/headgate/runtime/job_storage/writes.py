"""Writes that decide what a job does next: done on an I/O thread, and looked at again until their outcome is known."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from headgate.checkpoint.workflow import InDoubt, Refused
from headgate.clock import Clock
from headgate.runtime.io import Io
from headgate.runtime.job_storage.lease import Outcome

_log = logging.getLogger(__name__)

SETTLE_RETRY_MS: Final = 200.0
"""Pause before a write in doubt is looked at again."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write. `again` looks whether it is there; both raise InDoubt, which `in_doubt` names, if it cannot tell.

    It is called `pause_ms` later, given how often it was before; after `tries_max` times the write counts as refused,
    None: never.
    """

    what: str
    first: Callable[[], Outcome]
    again: Callable[[], Outcome]
    tries_max: int | None = None
    in_doubt: str = "it is not known whether it is stored"
    pause_ms: Callable[[int], float] = lambda _: SETTLE_RETRY_MS


@final
class Writes:
    """The writes of one job that are in doubt. Owned by the job master's loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._retries: list[tuple[float, Callable[[], None]]] = []

    def submit(self, owner: Io, write: Write, known: Callable[[Outcome], None]) -> None:
        """Have the owner write it; call `known` with the outcome, on the loop."""
        tries = 0

        def done(result: Outcome | BaseException) -> None:
            nonlocal tries
            if not isinstance(result, BaseException):
                known(result)
            elif not isinstance(result, InDoubt | OSError):
                known(Refused(str(result)))
            elif tries == write.tries_max:
                known(Refused(f"{write.in_doubt}: {result}"))
            else:
                _log.warning("%s: %s; trying again: %s", write.what, write.in_doubt, result)
                due_ms = self._clock.monotonic_ms() + write.pause_ms(tries)
                tries += 1
                self._retries.append((due_ms, lambda: owner.submit(write.again, done)))

        owner.submit(write.first, done)

    def wake_ms(self) -> float | None:
        """Return when to step next, None for no need."""
        return min((due_ms for due_ms, _ in self._retries), default=None)

    def step(self, now_ms: float) -> None:
        """Look again at what is due."""
        due = [again for due_ms, again in self._retries if now_ms >= due_ms]
        self._retries = [retry for retry in self._retries if now_ms < retry[0]]
        for again in due:
            again()
