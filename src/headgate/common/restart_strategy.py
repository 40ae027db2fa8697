"""Restart strategies: what happens after a failure."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from typing import Any, final

from headgate import unsupported
from headgate.config import Option
from headgate.options import RESTART_ATTEMPTS, RESTART_DELAY, RESTART_STRATEGY

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


class RestartStrategyConfiguration(ABC):
    """A chosen restart strategy."""

    @abstractmethod
    def get_description(self) -> str:
        """Return the strategy in words."""

    @abstractmethod
    def settings(self) -> dict[Option[Any], object]:
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
        """The first failure ends the job."""

        def get_description(self) -> str:
            return "No restart"

        def settings(self) -> dict[Option[Any], object]:
            return {RESTART_STRATEGY: "none"}

    @final
    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The job is restarted some times, a fixed time after each failure."""

        def __init__(self, restart_attempts: int, delay_between_attempts_interval: dt.timedelta | int) -> None:
            if isinstance(delay_between_attempts_interval, dt.timedelta):
                delay_between_attempts_interval = delay_between_attempts_interval // dt.timedelta(milliseconds=1)
            self._attempts = restart_attempts
            self._delay_ms = delay_between_attempts_interval

        def get_restart_attempts(self) -> int:
            """Return how often the job is restarted."""
            return self._attempts

        def get_delay_between_attempts_interval(self) -> dt.timedelta:
            """Return the time between a failure and the restart."""
            return dt.timedelta(milliseconds=self._delay_ms)

        def get_description(self) -> str:
            return f"Restart with fixed delay ({self._delay_ms} ms), {self._attempts} attempts"

        def settings(self) -> dict[Option[Any], object]:
            return {RESTART_STRATEGY: "fixed-delay", RESTART_ATTEMPTS: self._attempts, RESTART_DELAY: self._delay_ms}

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        """The first failure ends the job."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: dt.timedelta | int
    ) -> FixedDelayRestartStrategyConfiguration:
        """Restart the job up to `restart_attempts` times, `delay_between_attempts` milliseconds after each failure."""
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(restart_attempts, delay_between_attempts)


unsupported.guard(__name__, globals())
