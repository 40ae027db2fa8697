"""When a job that runs in fewer slots than it wants takes up more."""

from __future__ import annotations

import pytest

from headgate.runtime.master.rescales import COUNT_EVERY_MS, Growth, GrowthSettings


@pytest.fixture
def growth() -> Growth:
    growth = Growth(GrowthSettings(cooldown_ms=5_000.0, stabilization_ms=3_000.0, increase_min=2))
    growth.started(slots=2, wanted=8, now_ms=1_000.0)
    return growth


def test_slots_are_counted_after_the_cooldown_and_then_regularly(growth: Growth) -> None:
    assert growth.wake_ms == 6_000.0
    assert not growth.counting(5_999.0)
    assert growth.counting(6_000.0)
    assert not growth.counting(6_000.0)
    assert growth.wake_ms == 6_000.0 + COUNT_EVERY_MS


def test_a_job_that_has_all_it_wants_counts_none() -> None:
    growth = Growth(GrowthSettings(cooldown_ms=0.0, stabilization_ms=0.0, increase_min=1))
    growth.started(slots=2, wanted=2, now_ms=0.0)
    assert growth.wake_ms is None
    assert not growth.counting(10_000.0)


def test_all_that_it_wants_is_taken_at_once(growth: Growth) -> None:
    assert growth.counted(8, 6_000.0)


def test_enough_more_are_taken_when_they_have_been_there_for_a_while(growth: Growth) -> None:
    assert not growth.counted(4, 6_000.0)
    assert not growth.counted(5, 8_999.0)
    assert growth.counted(4, 9_000.0)


def test_too_few_more_are_not_taken_and_what_goes_away_is_waited_for_anew(growth: Growth) -> None:
    assert not growth.counted(4, 6_000.0)
    assert not growth.counted(3, 8_000.0)
    assert not growth.counted(4, 9_500.0)
    assert growth.counted(4, 12_500.0)


def test_a_growth_that_failed_is_tried_again_after_longer_and_longer(growth: Growth) -> None:
    growth.failed(10_000.0)
    assert growth.wake_ms == 20_000.0
    growth.started(slots=2, wanted=8, now_ms=30_000.0)
    assert growth.wake_ms == 40_000.0
    for _ in range(100):
        growth.failed(0.0)
    assert growth.wake_ms == 320_000.0
    growth.started(slots=4, wanted=8, now_ms=0.0)
    assert growth.wake_ms == 5_000.0


def test_an_attempt_that_is_over_takes_nothing(growth: Growth) -> None:
    growth.ended()
    assert growth.wake_ms is None
    assert not growth.counted(8, 9_000.0)
