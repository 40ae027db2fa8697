"""Restart strategies: what happens after a failure."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from typing import final

from headgate import unsupported
from headgate.config import Option
from headgate.options import (
    FAILURE_RATE_DELAY,
    FAILURE_RATE_INTERVAL,
    FAILURE_RATE_MAX,
    RESTART_ATTEMPTS,
    RESTART_DELAY,
    RESTART_STRATEGY,
)

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


class RestartStrategyConfiguration(ABC):
    """A chosen restart strategy."""

    @abstractmethod
    def get_description(self) -> str:
        """Return a description of the strategy."""

    @abstractmethod
    def settings(self) -> dict[Option[object], object]:
        """Return the options that choose this strategy."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RestartStrategyConfiguration) and self.settings() == other.settings()

    def __hash__(self) -> int:
        return hash(self.get_description())

    def __repr__(self) -> str:
        return self.get_description()


class RestartStrategies:
    """Makes restart strategies.

    >>> RestartStrategies.fixed_delay_restart(3, 1000)
    Restart with fixed delay (1000 ms), 3 attempts
    """

    @final
    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The job fails at the first failure."""

        def get_description(self) -> str:
            return "No restart"

        def settings(self) -> dict[Option[object], object]:
            return {RESTART_STRATEGY: "none"}

    @final
    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The job is restarted a limited number of times, a fixed time after each failure."""

        def __init__(self, restart_attempts: int, delay_between_attempts_interval: dt.timedelta | int) -> None:
            self._attempts = restart_attempts
            self._delay_ms = _milliseconds(delay_between_attempts_interval)

        def get_restart_attempts(self) -> int:
            """Return how often the job is restarted."""
            return self._attempts

        def get_delay_between_attempts_interval(self) -> dt.timedelta:
            """Return the time between a failure and the restart."""
            return dt.timedelta(milliseconds=self._delay_ms)

        def get_description(self) -> str:
            return f"Restart with fixed delay ({self._delay_ms} ms), {self._attempts} attempts"

        def settings(self) -> dict[Option[object], object]:
            return {RESTART_STRATEGY: "fixed-delay", RESTART_ATTEMPTS: self._attempts, RESTART_DELAY: self._delay_ms}

    @final
    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The job is restarted unless it fails too often within an interval."""

        def __init__(
            self,
            max_failure_rate: int,
            failure_interval: dt.timedelta | int,
            delay_between_attempts_interval: dt.timedelta | int,
        ) -> None:
            self._failures_max = max_failure_rate
            self._interval_ms = _milliseconds(failure_interval)
            self._delay_ms = _milliseconds(delay_between_attempts_interval)

        def get_max_failure_rate(self) -> int:
            """Return how many failures within the interval are tolerated."""
            return self._failures_max

        def get_failure_interval(self) -> dt.timedelta:
            """Return the interval."""
            return dt.timedelta(milliseconds=self._interval_ms)

        def get_delay_between_attempts_interval(self) -> dt.timedelta:
            """Return the time between a failure and the restart."""
            return dt.timedelta(milliseconds=self._delay_ms)

        def get_description(self) -> str:
            return (
                f"Restart with fixed delay ({self._delay_ms} ms), unless there are more than {self._failures_max} "
                f"failures within {self._interval_ms} ms"
            )

        def settings(self) -> dict[Option[object], object]:
            return {
                RESTART_STRATEGY: "failure-rate",
                FAILURE_RATE_MAX: self._failures_max,
                FAILURE_RATE_INTERVAL: self._interval_ms,
                FAILURE_RATE_DELAY: self._delay_ms,
            }

    @final
    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The command line, the Spark conf or the default chooses the strategy."""

        def get_description(self) -> str:
            return "Restart as configured outside the program"

        def settings(self) -> dict[Option[object], object]:
            return {RESTART_STRATEGY: None}

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        """The job fails at the first failure."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: dt.timedelta | int
    ) -> FixedDelayRestartStrategyConfiguration:
        """Restart the job up to `restart_attempts` times, `delay_between_attempts` milliseconds after each failure."""
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(restart_attempts, delay_between_attempts)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: dt.timedelta | int, delay_interval: dt.timedelta | int
    ) -> FailureRateRestartStrategyConfiguration:
        """Restart the job after each failure, unless there are more than `failure_rate` within `failure_interval`.

        Intervals are in milliseconds.
        """
        return RestartStrategies.FailureRateRestartStrategyConfiguration(failure_rate, failure_interval, delay_interval)

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        """Let the command line, the Spark conf or the default choose the strategy."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()


def _milliseconds(length: dt.timedelta | int) -> int:
    return length // dt.timedelta(milliseconds=1) if isinstance(length, dt.timedelta) else length


unsupported.guard(__name__, globals())
