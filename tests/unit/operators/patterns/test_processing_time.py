"""Patterns by processing time: records in the order in which they come, and times of the clock."""

from __future__ import annotations

import pytest

from headgate.common import Time
from headgate.elements import Batch
from headgate.errors import RestoreError
from headgate.operators.keyed import KeyedOperator
from tests.unit.operators.patterns.letters import AB, looking_by_the_clock, looking_for, near, step

TIMED = AB.within(Time.milliseconds(10))


def test_a_match_is_found_with_its_last_record_whatever_timestamps_say() -> None:
    with looking_by_the_clock(AB) as operator:
        operator.advance_time(70)
        assert operator.process(("k", "a"), timestamp_ms=9) == []
        assert operator.process(("l", "b")) == []
        operator.advance_time(5)
        assert operator.process(("k", "b"), timestamp_ms=3) == [("a=a b=b", 75)]
        assert operator.state("matching") == {}


def test_results_have_no_timestamps() -> None:
    with looking_by_the_clock(TIMED) as operator:
        out = operator.process_batch(Batch([("k", "a"), ("k", "b")], [1, 2]))
        assert out.records == [("a=a b=b", 0)]
        assert out.timestamps is None
        operator.process(("k", "a"), timestamp_ms=3)
        operator.clock.advance(10)
        (over,) = operator.operator.tick(operator.clock.monotonic_ms())
        assert isinstance(over, Batch)
        assert over.records == [("timed out", "a=a", 10)]
        assert over.timestamps is None


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_match_under_way_is_told_when_the_clock_says_that_its_time_is_over(backend: str) -> None:
    with looking_by_the_clock(TIMED, backend) as operator:
        operator.advance_time(100)
        operator.process(("k", "a"))
        assert operator.advance_time(9) == []
        saved = operator.snapshot()
    with looking_by_the_clock(TIMED, backend, saved) as operator:
        assert operator.advance_time(109) == []
        assert operator.advance_time(1) == [("timed out", "a=a", 110)]
        assert operator.state("matching") == {}


def test_a_record_that_comes_when_the_time_is_over_is_too_late() -> None:
    """Also when it comes before the timer is called."""
    with looking_by_the_clock(TIMED) as operator:
        operator.process(("k", "a"))
        operator.clock.advance(10)
        assert operator.process(("k", "b")) == [("timed out", "a=a", 10)]
        assert operator.advance_time(100) == []


def test_a_clock_that_has_stepped_back_makes_times_longer_and_nothing_else() -> None:
    with looking_by_the_clock(TIMED) as operator:
        operator.advance_time(100)
        operator.process(("k", "a"))
        saved = operator.snapshot()
    with looking_by_the_clock(TIMED, restored=saved) as operator:  # whose clock begins at 0
        assert operator.process(("k", "a")) == []
        assert operator.process(("k", "b")) == [("a=a b=b", 0)]
        assert operator.advance_time(200) == []


def test_times_between_two_records_are_those_of_the_clock() -> None:
    pattern = step(AB.not_followed_by("c"), "c").within(*near(10))
    with looking_by_the_clock(pattern) as operator:
        operator.process(("k", "a"))
        assert operator.advance_time(50) == []
        assert operator.process(("k", "b")) == []
        assert operator.advance_time(9) == []
        assert operator.advance_time(1) == [("a=a b=b", 60)]


def test_at_the_end_of_a_batch_job_all_times_are_over() -> None:
    with looking_by_the_clock(TIMED) as operator:
        operator.process(("k", "a"))
        assert isinstance(operator.operator, KeyedOperator)
        found = [each for batch in operator.operator.end_keys(100) for each in batch.records]
        assert found == [("timed out", "a=a", 10)]


def test_a_snapshot_of_the_other_time_is_refused() -> None:
    with looking_for(AB) as operator:
        operator.process(("k", "a"), timestamp_ms=1)
        saved = operator.snapshot()
    with (
        pytest.raises(RestoreError, match=r"cannot become those of .* in processing time"),
        looking_by_the_clock(AB, restored=saved),
    ):
        pass
