"""Summaries of figures."""

from __future__ import annotations

import pytest

from headgate.runtime.monitoring.statistics import WINDOW, Summary


def test_a_summary_of_nothing_has_no_values() -> None:
    summary = Summary()
    assert (summary.least, summary.most, summary.average, summary.quantile(0.5)) == (None, None, None, None)


def test_a_single_value_is_every_percentile() -> None:
    summary = Summary([7.0])
    assert {summary.quantile(part) for part in (0.0, 0.5, 0.999, 1.0)} == {7.0}


def test_percentiles_lie_between_the_values() -> None:
    summary = Summary(float(value) for value in (30, 10, 40, 20))
    assert (summary.least, summary.most, summary.average) == (10.0, 40.0, 25.0)
    assert summary.quantile(0.5) == 25.0
    assert summary.quantile(0.9) == 40.0
    assert summary.quantile(0.3) == pytest.approx(15.0)


def test_percentiles_forget_old_values_and_the_others_do_not() -> None:
    summary = Summary([1e9])
    for _ in range(WINDOW):
        summary.add(1.0)
    assert summary.quantile(0.999) == 1.0
    assert summary.most == 1e9
