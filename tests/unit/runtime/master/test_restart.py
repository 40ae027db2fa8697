"""Restart strategies."""

from __future__ import annotations

import pytest

from headgate.runtime.master.restart import FixedDelay, NoRestart


def test_without_a_strategy_the_first_failure_is_the_last() -> None:
    assert NoRestart().on_failure(0.0) is None


def test_fixed_delay_grants_as_many_restarts_as_configured_and_no_more() -> None:
    strategy = FixedDelay(attempts=2, delay_ms=10.0)
    assert [strategy.on_failure(float(now)) for now in (0, 5, 1_000_000)] == [10.0, 10.0, None]


def test_a_job_that_fails_for_good_can_tell_how_many_restarts_it_had() -> None:
    strategy = FixedDelay(attempts=2, delay_ms=10.0)
    strategy.on_failure(0.0)
    assert "1 of 2" in strategy.describe()


@pytest.mark.parametrize(("attempts", "delay_ms"), [(-1, 0.0), (1, -0.5)])
def test_negative_settings_are_refused(attempts: int, delay_ms: float) -> None:
    with pytest.raises(ValueError, match="not negative"):
        FixedDelay(attempts=attempts, delay_ms=delay_ms)
