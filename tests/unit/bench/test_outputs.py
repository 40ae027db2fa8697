"""What the sinks of the benchmark leave, and how it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.outputs import Mark, Tally, percentile, read_tallies, steady_state


def tally(subtask: int, rate: float, begin_s: int, end_s: int) -> Tally:
    marks = [Mark(float(now), int(rate * (now - begin_s)), 0.0, float(now)) for now in range(begin_s, end_s + 1)]
    return Tally(subtask, 1, 7, marks)


def test_rate_is_the_sum_of_subtasks_over_the_time_they_share() -> None:
    steady = steady_state([tally(0, 100.0, 0, 10), tally(1, 50.0, 2, 14)], 1.0)
    assert steady.rate == pytest.approx(150.0)
    assert steady.cpu_ns == pytest.approx(2e9 / 150.0)


def test_warm_up_does_not_count() -> None:
    slow_start = Tally(
        0, 1, 7, [Mark(time_s, count, 0.0, time_s) for time_s, count in [(0.0, 0), (5.0, 5), (6.0, 105), (7.0, 205)]]
    )
    assert steady_state([slow_start], 5.0).rate == pytest.approx(100.0)


def test_job_that_ends_within_the_warm_up_has_no_rate() -> None:
    with pytest.raises(ValueError, match="no steady state"):
        steady_state([tally(0, 100.0, 0, 3)], 5.0)


def test_half_written_line_is_not_a_mark(tmp_path: Path) -> None:
    (tmp_path / "0-1-77.marks").write_text("1.5 10 0.1 1.0\n2.5 20 0.1 2.0\n3.")
    (tmp_path / "1-1-78.marks").write_text("")
    (found,) = read_tallies(tmp_path)
    assert (found.subtask, found.attempt, found.process, [mark.count for mark in found.marks]) == (0, 1, 77, [10, 20])


def test_percentile_of_few_values_is_one_of_them() -> None:
    assert percentile([1.0, 2.0, 3.0], 99) == 3.0
    assert percentile([1.0, 2.0, 3.0], 50) == 2.0
