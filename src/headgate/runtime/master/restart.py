"""Restart strategies: whether a failed job starts again, and how long it waits before."""

from __future__ import annotations

from typing import Protocol, final


class RestartStrategy(Protocol):
    """Decides about restarts. Has state: it counts the failures it is told of. Pure; owned by the supervisor."""

    def on_failure(self, now_ms: float) -> float | None:
        """Return the delay before the restart, in milliseconds, or None when the job must not start again."""
        ...

    def describe(self) -> str:
        """Return the strategy and how much of it is used up, for the message of a job that fails."""
        ...


@final
class NoRestart:
    """The first failure is the last.

    >>> NoRestart().on_failure(0.0) is None
    True
    """

    __slots__ = ()

    def on_failure(self, now_ms: float) -> float | None:
        return None

    def describe(self) -> str:
        return "no restart strategy is set, so the first failure ends the job"


@final
class FixedDelay:
    """Up to `attempts` restarts over the job's life, each after the same delay.

    >>> strategy = FixedDelay(attempts=1, delay_ms=50.0)
    >>> strategy.on_failure(0.0), strategy.on_failure(10.0)
    (50.0, None)
    """

    __slots__ = ("_attempts", "_delay_ms", "_used")

    def __init__(self, *, attempts: int, delay_ms: float) -> None:
        if attempts < 0 or delay_ms < 0:
            raise ValueError(f"restart attempts and delay are not negative: {attempts} attempts, {delay_ms} ms")
        self._attempts = attempts
        self._delay_ms = delay_ms
        self._used = 0

    def on_failure(self, now_ms: float) -> float | None:
        if self._used == self._attempts:
            return None
        self._used += 1
        return self._delay_ms

    def describe(self) -> str:
        return f"fixed-delay restart: {self._used} of {self._attempts} restarts used"
