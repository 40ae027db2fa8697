"""Where the time of a subtask goes, and what passes it by in a second."""

from __future__ import annotations

import pytest

from headgate.runtime.control.subtask_metrics import TimeShares, Traffic
from headgate.runtime.slot.metrics import SubtaskMeter

NOTHING = Traffic()


def test_a_subtask_without_work_is_idle() -> None:
    meter = SubtaskMeter(1000.0)
    assert meter.shares(1500.0) == TimeShares(idle_ms=500.0)


def test_time_at_work_is_busy_and_the_rest_idle() -> None:
    meter = SubtaskMeter(0.0)
    meter.worked(10.0, 40.0)
    meter.worked(50.0, 60.0)
    assert meter.shares(100.0) == TimeShares(busy_ms=40.0, idle_ms=60.0)


def test_from_the_first_refusal_to_the_next_work_a_subtask_is_back_pressured() -> None:
    meter = SubtaskMeter(0.0)
    meter.worked(0.0, 10.0)
    meter.held_back(10.0)
    meter.held_back(30.0)
    meter.worked(50.0, 60.0)
    assert meter.shares(100.0) == TimeShares(busy_ms=20.0, back_pressured_ms=40.0, idle_ms=40.0)


def test_it_also_ends_when_the_work_is_gone() -> None:
    meter = SubtaskMeter(0.0)
    meter.held_back(10.0)
    meter.released(20.0)
    meter.released(30.0)
    assert meter.shares(100.0) == TimeShares(back_pressured_ms=10.0, idle_ms=90.0)


def test_back_pressure_that_lasts_counts_up_to_now() -> None:
    meter = SubtaskMeter(0.0)
    meter.held_back(10.0)
    assert meter.shares(60.0).back_pressured_ms == 50.0
    assert meter.shares(100.0).back_pressured_ms == 90.0


def test_rates_are_of_the_time_since_the_last_report() -> None:
    meter = SubtaskMeter(0.0)
    meter.worked(0.0, 100.0)
    first = meter.rates(Traffic(records_in=10, records_out=20, bytes_in=30, bytes_out=40), 2000.0)
    assert (first.records_in, first.records_out, first.bytes_in, first.bytes_out) == (5.0, 10.0, 15.0, 20.0)
    assert first.time == TimeShares(busy_ms=50.0, idle_ms=950.0)
    meter.held_back(2000.0)
    second = meter.rates(Traffic(records_in=20), 3000.0)
    assert second.records_in == 10.0
    assert second.time == TimeShares(back_pressured_ms=1000.0)


def test_shares_of_a_second_add_up_to_a_second() -> None:
    meter = SubtaskMeter(0.0)
    meter.worked(3.0, 100.0)
    meter.held_back(100.0)
    meter.worked(707.0, 900.0)
    time = meter.rates(NOTHING, 1234.0).time
    assert time.busy_ms + time.back_pressured_ms + time.idle_ms == pytest.approx(1000.0)


def test_a_report_too_soon_repeats_the_rates() -> None:
    meter = SubtaskMeter(0.0)
    first = meter.rates(Traffic(records_in=100), 1000.0)
    assert meter.rates(Traffic(records_in=1000), 1001.0) == first
    assert meter.rates(Traffic(records_in=1100), 2000.0).records_in == 1000.0


def test_a_report_at_the_very_beginning_has_no_rates() -> None:
    assert SubtaskMeter(5.0).rates(NOTHING, 5.0).records_in == 0.0
