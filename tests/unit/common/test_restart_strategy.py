"""Restart strategies become options."""

import datetime as dt

import pytest

from headgate.common.configuration import Configuration
from headgate.common.restart_strategy import RestartStrategies
from headgate.errors import ConfigError


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


def test_failure_rate_sets_rate_interval_and_delay() -> None:
    strategy = RestartStrategies.failure_rate_restart(3, dt.timedelta(minutes=5), 10_000)
    configuration = Configuration()
    configuration.apply(strategy)
    assert configuration.to_dict() == {
        "restart-strategy.type": "failure-rate",
        "restart-strategy.failure-rate.max-failures-per-interval": "3",
        "restart-strategy.failure-rate.failure-rate-interval": "300000",
        "restart-strategy.failure-rate.delay": "10000",
    }
    assert strategy.get_max_failure_rate() == 3
    assert strategy.get_failure_interval() == dt.timedelta(minutes=5)
    assert strategy.get_delay_between_attempts_interval() == dt.timedelta(seconds=10)


def test_falling_back_takes_the_choice_of_the_program_back() -> None:
    configuration = Configuration()
    configuration.apply(RestartStrategies.no_restart())
    configuration.apply(RestartStrategies.fall_back_restart())
    assert not configuration.contains_key("restart-strategy.type")
