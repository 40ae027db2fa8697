"""What is told of matches whose time is over, and what must not come."""

from __future__ import annotations

import pytest

from headgate.common import Time
from headgate.pattern import AfterMatchSkipStrategy, Pattern
from tests.unit.operators.patterns.letters import begin, looking_for, run, step, timed

MS = Time.milliseconds


def test_what_must_not_come_next_is_forbidden_of_the_very_next_record_only() -> None:
    pattern = step(step(begin("a").not_next("n"), "n").followed_by("b"), "b")
    assert run(pattern, "anb") == []
    assert run(pattern, "axnb") == ["a=a b=b"]
    assert run(pattern, "axxnnb") == ["a=a b=b"]


def test_what_must_not_come_next_is_forbidden_behind_each_record_that_goes_on() -> None:
    """Behind the first of two, the very next record is the second."""
    pattern = step(step(begin("a").one_or_more().not_next("n"), "n").followed_by("b"), "b")
    assert run(pattern, "aanb") == ["a=a b=b"]
    assert run(pattern, "anab") == ["a=aa b=b", "a=a b=b"]


def test_several_things_may_be_forbidden_at_one_place() -> None:
    pattern = step(step(begin("a").not_followed_by("n"), "n").not_followed_by("m"), "m").followed_by("b")
    pattern = step(pattern, "b")
    assert run(pattern, "anb") == []
    assert run(pattern, "amb") == []
    assert run(pattern, "axb") == ["a=a b=b"]


def test_a_greedy_step_takes_what_it_can_also_before_what_must_not_come() -> None:
    pattern = step(begin("ab").one_or_more().greedy().not_followed_by("n"), "n").followed_by("bc")
    assert run(step(pattern, "bc"), "abc") == ["ab=ab bc=c", "ab=b bc=c"]


def test_a_match_that_ends_with_what_must_not_come_next_is_found_with_the_next_record() -> None:
    pattern = step(begin("a").not_next("n"), "n").within(MS(10))
    assert timed(pattern, "a0 x4") == [("a=a", 4)]
    assert timed(pattern, "a0 n4") == []
    assert timed(pattern, "a0") == [("a=a", 10)]


def test_a_loop_that_has_been_found_is_not_told_when_its_time_is_over() -> None:
    assert timed(begin("a").one_or_more().within(MS(10)), "a0 x1") == [("a=a", 0)]
    loop = step(begin("a").one_or_more().not_next("n"), "n").within(MS(10))
    assert timed(loop, "a0 x1") == [("a=a", 1)]
    assert timed(loop, "a0 x1 y2") == [("a=a", 1)]
    assert timed(loop, "a0 n1") == [("timed out", "a=a", 10)]


def test_a_loop_that_needs_more_records_is_told_when_its_time_is_over() -> None:
    assert timed(begin("a").times_or_more(3).within(MS(10)), "a0 a1") == [
        ("timed out", "a=aa", 10),
        ("timed out", "a=a", 11),
    ]


@pytest.mark.parametrize("time_ms", [1000, 10])
def test_what_a_skip_strategy_rules_out_is_not_told_to_be_over_later(time_ms: int) -> None:
    """Also if the watermark passes both times at once."""
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    pattern = step(begin("a", skip).times(2).not_followed_by("n"), "n").within(MS(10))
    with looking_for(pattern) as operator:
        for time in (0, 1):
            operator.process(("k", "a"), timestamp_ms=time)
        assert operator.watermark(time_ms) == [("a=aa", 10)]
        assert operator.watermark(1000) == []
        assert operator.state("matching") == {}


def test_a_match_is_ruled_out_by_one_that_began_before() -> None:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    assert run(step(step(begin("ab", skip).next("bc"), "bc").optional().next("cd"), "cd"), "abcd") == ["ab=a bc=b cd=c"]


def test_a_complete_match_waits_until_those_that_began_before_are_over() -> None:
    skip = AfterMatchSkipStrategy.skip_to_next()
    pattern: Pattern = step(step(begin("ab", skip).followed_by("c"), "c").optional().next("d"), "d").within(MS(10))
    with looking_for(pattern) as operator:
        for letter, time in [("a", 0), ("b", 1), ("d", 2)]:
            operator.process(("k", letter), timestamp_ms=time)
        assert operator.watermark(9) == []
        assert operator.watermark(10) == [("timed out", "ab=a", 10), ("ab=b d=d", 2)]
