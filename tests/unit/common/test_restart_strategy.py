"""Restart strategies become options."""

import datetime as dt

import pytest

from headgate.common.configuration import Configuration
from headgate.common.restart_strategy import RestartStrategies
from headgate.errors import ConfigError, UnsupportedError


def test_fixed_delay_sets_attempts_and_delay() -> None:
    strategy = RestartStrategies.fixed_delay_restart(3, 500)
    configuration = Configuration()
    configuration.apply(strategy)
    assert configuration.to_dict() == {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "500",
    }
    assert strategy.get_delay_between_attempts_interval() == dt.timedelta(milliseconds=500)
    assert strategy == RestartStrategies.fixed_delay_restart(3, dt.timedelta(milliseconds=500))
    assert strategy != RestartStrategies.no_restart()


def test_a_negative_number_of_attempts_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"attempts is -1 .*at least 0"):
        Configuration().apply(RestartStrategies.fixed_delay_restart(-1, 0))


def test_other_strategies_are_refused_by_name() -> None:
    for name in ("failure_rate_restart", "fall_back_restart"):
        with pytest.raises(UnsupportedError, match=r"use RestartStrategies.fixed_delay_restart"):
            getattr(RestartStrategies, name)
