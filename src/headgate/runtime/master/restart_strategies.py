"""Restart strategies: whether a failed job restarts, and after which delay. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, final

from headgate.runtime.master.supervisor_vocabulary import Verdict


class RestartStrategy(Protocol):
    """Decides about restarts, by the failures that it has counted. Pure; owned by the supervisor."""

    def on_failure(self, now_ms: float) -> float | None:
        """Count a failure. Return the delay before the restart in milliseconds, None: the job must not restart."""
        ...

    def describe(self) -> str:
        """Return a description of the strategy and its count, for the message of a job that fails."""
        ...


@final
class Restarts:
    """Counts the restarts of one job, and asks its strategy. Owned by the supervisor."""

    def __init__(self, strategy: RestartStrategy) -> None:
        self._strategy = strategy
        self.count = 0
        """The number of restarts after failures."""
        self.due_ms = 0.0
        """When the next attempt may start, on the monotonic clock."""
        self.newest_verdict: Verdict | None = None
        """The consequence of the newest failure, None before the first failure; a new object for each failure."""

    def grant(self, cause: str, now_ms: float, *, goes_back: bool, retriable: bool) -> bool:
        """Return whether the job restarts after a failure.

        `goes_back`: the job returns to its placement before a rescale, so the strategy is not asked. Not `retriable`: a
        restart cannot help.
        """
        delay_ms = 0.0 if goes_back else self._strategy.on_failure(now_ms) if retriable else None
        self.newest_verdict = Verdict(cause=cause, restart_delay_ms=delay_ms)
        if delay_ms is None:
            return False
        self.count += 1
        self.due_ms = now_ms + delay_ms
        return True

    def explain(self, cause: str, *, retriable: bool) -> str:
        """Return why the job fails for good: the cause, and what the strategy allowed."""
        return f"{cause}\n({self._strategy.describe()})" if retriable else cause


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
            raise ValueError(f"restart attempts and delay must not be negative: {attempts} attempts, {delay_ms} ms")
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


@final
class FailureRate:
    """Restarts after the same delay, unless more than `failures_max` failures come within `interval_ms`.

    >>> strategy = FailureRate(failures_max=1, interval_ms=100.0, delay_ms=5.0)
    >>> strategy.on_failure(0.0), strategy.on_failure(101.0), strategy.on_failure(102.0)
    (5.0, 5.0, None)
    """

    __slots__ = ("_delay_ms", "_failures_max", "_failures_ms", "_interval_ms")

    def __init__(self, *, failures_max: int, interval_ms: float, delay_ms: float) -> None:
        if failures_max < 1 or interval_ms <= 0 or delay_ms < 0:
            raise ValueError(f"not a rate of failures: {failures_max} within {interval_ms} ms, delay {delay_ms} ms")
        self._failures_max = failures_max
        self._interval_ms = interval_ms
        self._delay_ms = delay_ms
        self._failures_ms: deque[float] = deque(maxlen=failures_max + 1)

    def on_failure(self, now_ms: float) -> float | None:
        self._failures_ms.append(now_ms)
        is_exceeded = len(self._failures_ms) > self._failures_max and now_ms - self._failures_ms[0] <= self._interval_ms
        return None if is_exceeded else self._delay_ms

    def describe(self) -> str:
        newest_ms = self._failures_ms[-1] if self._failures_ms else 0.0
        recent = sum(newest_ms - failure_ms <= self._interval_ms for failure_ms in self._failures_ms)
        return f"failure-rate restart: {recent} failures within {self._interval_ms:g} ms, {self._failures_max} allowed"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The growth of the delay in `ExponentialDelay`.

    The delay begins with `initial_ms`. Each failure multiplies it by `multiplier`, up to `max_ms`. It is reset when the
    job has run for `reset_threshold_ms`. It varies at random by up to `jitter_factor` of itself. `attempts_max` limits
    the restarts between two resets; None: any number.
    """

    initial_ms: float = 1000.0
    max_ms: float = 60_000.0
    multiplier: float = 1.5
    reset_threshold_ms: float = 3_600_000.0
    jitter_factor: float = 0.1
    attempts_max: int | None = None

    def __post_init__(self) -> None:
        grows = 0 < self.initial_ms <= self.max_ms and self.multiplier > 1
        if not grows or not 0 <= self.jitter_factor <= 1 or self.reset_threshold_ms <= 0:
            raise ValueError(f"a delay that cannot grow, or varies by more than itself: {self}")


@final
class ExponentialDelay:
    """Restarts after a delay that grows while failures follow each other closely.

    `random` returns numbers from 0 to 1, 1 excluded. They choose the delay between its bounds.

    >>> strategy = ExponentialDelay(Backoff(), random=lambda: 0.5)
    >>> [strategy.on_failure(now_ms) for now_ms in (0.0, 2_000.0, 5_000.0)]
    [1000.0, 1500.0, 2250.0]
    """

    __slots__ = ("_attempts", "_backoff", "_base_ms", "_last_failure_ms", "_random")

    def __init__(self, backoff: Backoff, random: Callable[[], float]) -> None:
        self._backoff = backoff
        self._random = random
        self._base_ms = backoff.initial_ms
        self._attempts = 0
        self._last_failure_ms: float | None = None

    def on_failure(self, now_ms: float) -> float | None:
        backoff, last_ms = self._backoff, self._last_failure_ms
        self._last_failure_ms = now_ms
        if last_ms is None or now_ms - last_ms >= backoff.reset_threshold_ms + self._base_ms:
            self._base_ms, self._attempts = backoff.initial_ms, 0
        else:
            self._base_ms = min(backoff.max_ms, self._base_ms * backoff.multiplier)
        if backoff.attempts_max is not None and self._attempts >= backoff.attempts_max:
            return None
        self._attempts += 1
        jitter_ms = self._base_ms * backoff.jitter_factor * (2 * self._random() - 1)
        return min(backoff.max_ms, self._base_ms + jitter_ms)

    def describe(self) -> str:
        most = "any number" if self._backoff.attempts_max is None else f"{self._backoff.attempts_max}"
        return f"exponential-delay restart: {self._attempts} restarts since the job last ran well, {most} allowed"
