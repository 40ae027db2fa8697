"""Windows in which checkpoints were under way."""

from __future__ import annotations

import pytest

from bench.outputs import Mark
from bench.windows import Window, full_windows, gap_within, outside, rate_within

MARKS = [Mark(float(second), 100 * second, 0.5 if second == 4 else 0.01, 0.0) for second in range(11)]


def checkpoint(ended_s: float, took_s: float, size_bytes: int = 100) -> dict[str, float]:
    return {"ended_s": ended_s, "duration_ms": took_s * 1_000.0, "size_bytes": size_bytes, "sync_ms_max": took_s}


def test_checkpoints_of_a_state_that_still_grew_do_not_count() -> None:
    found = full_windows([checkpoint(2.0, 1.0, 10), checkpoint(5.0, 1.0), checkpoint(8.0, 2.0)], 0.0, 10.0)
    assert found == {Window(4.0, 5.0): 1.0, Window(6.0, 8.0): 2.0}


def test_checkpoints_that_reach_out_of_the_measured_time_do_not_count() -> None:
    assert full_windows([checkpoint(2.0, 1.0), checkpoint(9.5, 1.0)], 1.5, 9.0) == {}


def test_time_outside_is_what_no_window_covers() -> None:
    windows = [Window(6.0, 8.0), Window(4.0, 5.0)]
    assert outside(windows, 3.0, 10.0) == [Window(3.0, 4.0), Window(5.0, 6.0), Window(8.0, 10.0)]
    assert outside([Window(0.0, 10.0)], 3.0, 10.0) == []


def test_rate_is_taken_over_all_windows_together() -> None:
    assert rate_within(MARKS, [Window(1.0, 2.0), Window(3.5, 5.5)]) == pytest.approx(100.0)


def test_no_time_has_no_rate() -> None:
    with pytest.raises(ValueError, match="too short"):
        rate_within(MARKS, [])


def test_gap_is_the_longest_within_the_windows() -> None:
    assert gap_within(MARKS, [Window(3.5, 4.5)]) == 0.5
    assert gap_within(MARKS, [Window(5.5, 8.5)]) == 0.01
