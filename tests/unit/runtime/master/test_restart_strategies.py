"""Restart strategies."""

from __future__ import annotations

import pytest

from headgate.runtime.master.restart_strategies import Backoff, ExponentialDelay, FailureRate, FixedDelay, NoRestart


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
    with pytest.raises(ValueError, match="must not be negative"):
        FixedDelay(attempts=attempts, delay_ms=delay_ms)


def test_a_failure_rate_bears_as_many_failures_as_allowed_within_the_interval() -> None:
    strategy = FailureRate(failures_max=2, interval_ms=100.0, delay_ms=7.0)
    assert [strategy.on_failure(now_ms) for now_ms in (0.0, 50.0, 101.0, 151.0)] == [7.0] * 4
    assert strategy.on_failure(201.0) is None
    assert "3 failures within 100 ms, 2 allowed" in strategy.describe()


def test_a_failure_at_the_very_end_of_the_interval_still_counts() -> None:
    strategy = FailureRate(failures_max=1, interval_ms=100.0, delay_ms=0.0)
    assert [strategy.on_failure(now_ms) for now_ms in (0.0, 100.0)] == [0.0, None]


@pytest.mark.parametrize(("failures_max", "interval_ms", "delay_ms"), [(0, 1.0, 0.0), (1, 0.0, 0.0), (1, 1.0, -1.0)])
def test_impossible_rates_are_refused(failures_max: int, interval_ms: float, delay_ms: float) -> None:
    with pytest.raises(ValueError, match="not a rate"):
        FailureRate(failures_max=failures_max, interval_ms=interval_ms, delay_ms=delay_ms)


def middle() -> float:
    return 0.5


def test_by_default_the_delay_grows_from_a_second_to_a_minute_by_half() -> None:
    strategy = ExponentialDelay(Backoff(), middle)
    delays = [strategy.on_failure(now * 60_000.0) for now in range(12)]
    assert delays[:3] == [1000.0, 1500.0, 2250.0]
    assert delays[-2:] == [pytest.approx(57_665.04), 60_000.0]


def test_after_the_threshold_and_the_last_delay_have_passed_the_delay_is_the_first_again() -> None:
    backoff = Backoff(initial_ms=10.0, max_ms=1000.0, multiplier=2.0, reset_threshold_ms=100.0)
    strategy = ExponentialDelay(backoff, middle)
    assert [strategy.on_failure(now_ms) for now_ms in (0.0, 50.0)] == [10.0, 20.0]
    assert strategy.on_failure(50.0 + 119.0) == 40.0, "the job had run for 99 ms only"
    assert strategy.on_failure(169.0 + 140.0) == 10.0


@pytest.mark.parametrize(("number", "delay_ms"), [(0.0, 900.0), (0.25, 950.0), (1.0, 1100.0)])
def test_jitter_keeps_the_delay_within_its_factor(number: float, delay_ms: float) -> None:
    assert ExponentialDelay(Backoff(), lambda: number).on_failure(0.0) == pytest.approx(delay_ms)


def test_jitter_never_exceeds_the_longest_delay_nor_changes_how_it_grows() -> None:
    strategy = ExponentialDelay(Backoff(initial_ms=100.0, max_ms=220.0, multiplier=2.0, jitter_factor=1.0), lambda: 0.9)
    assert [strategy.on_failure(now_ms) for now_ms in (0.0, 1.0, 2.0)] == [pytest.approx(180.0), 220.0, 220.0]


def test_a_limit_of_attempts_counts_from_the_last_reset() -> None:
    backoff = Backoff(initial_ms=1.0, reset_threshold_ms=100.0, attempts_max=2)
    strategy = ExponentialDelay(backoff, middle)
    assert [strategy.on_failure(now_ms) for now_ms in (0.0, 10.0, 500.0, 510.0)] == [1.0, 1.5, 1.0, 1.5]
    assert strategy.on_failure(520.0) is None
    assert "2 restarts since the job last ran well, 2 allowed" in strategy.describe()


@pytest.mark.parametrize(
    "wrong",
    [
        {"initial_ms": 0.0},
        {"initial_ms": 2.0, "max_ms": 1.0},
        {"multiplier": 1.0},
        {"jitter_factor": 1.1},
        {"jitter_factor": -0.1},
        {"reset_threshold_ms": 0.0},
    ],
)
def test_impossible_delays_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="cannot grow"):
        Backoff(**wrong)  # type: ignore[arg-type]
