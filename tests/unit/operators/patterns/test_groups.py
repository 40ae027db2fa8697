"""Groups of patterns, and times between two records."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.common import Time
from headgate.errors import RestoreError
from headgate.pattern import AfterMatchSkipStrategy, Pattern
from tests.unit.operators.patterns.letters import begin, looking_for, near, run, step, timed


def group(first: str, second: str) -> Pattern:
    """Return the pattern of one letter, and later the next of another."""
    return step(begin(first).followed_by(second), second)


@pytest.mark.parametrize(
    ("contiguity", "found"),
    [
        ("next", []),
        ("followed_by", ["a=a b=b c=c d=d"]),
        ("followed_by_any", ["a=a b=b c=c d=d", "a=a b=b c=c d=d"]),
    ],
)
def test_a_group_follows_another_as_its_first_step_does(contiguity: str, found: list[str]) -> None:
    pattern = Pattern.begin(group("a", "b"))
    assert run(getattr(pattern, contiguity)(group("c", "d")), "axbxccd") == found


def test_the_steps_behind_the_first_of_a_group_follow_as_they_say() -> None:
    assert run(Pattern.begin(group("a", "b")).next(group("c", "d")), "axbcxd") == ["a=a b=b c=c d=d"]


def test_a_group_may_be_gone_through_several_times() -> None:
    pattern = step(begin("c").followed_by(group("a", "b")).times(2).followed_by("d"), "d")
    assert run(pattern, "cabxabd") == ["c=c a=aa b=bb d=d"]
    assert run(pattern, "cabd") == []


def test_a_group_in_a_loop_may_end_each_time() -> None:
    pattern = step(Pattern.begin(group("a", "b")).one_or_more().followed_by("d"), "d")
    assert sorted(run(pattern, "ababd")) == ["a=a b=b d=d", "a=a b=b d=d", "a=aa b=bb d=d"]


@pytest.mark.parametrize(
    ("inner", "found"),
    [
        ("consecutive", []),
        ("", ["s=s a=aa b=bb d=d"]),
        ("allow_combinations", ["s=s a=aa b=bb d=d", "s=s a=aa b=bb d=d"]),
    ],
)
def test_what_may_lie_between_two_times_of_a_group(inner: str, found: list[str]) -> None:
    pattern = begin("s").next(group("a", "b")).times(2)
    pattern = getattr(pattern, inner)() if inner else pattern
    assert run(step(pattern.next("d"), "d"), "sabxaabd") == found


def test_a_group_may_be_left_out_as_a_whole() -> None:
    pattern = step(begin("s").next(group("a", "b")).optional().next("d"), "d")
    assert run(pattern, "sabd") == ["s=s a=a b=b d=d"]
    assert run(pattern, "sd") == ["s=s d=d"]
    assert run(pattern, "sad") == []


def test_a_loop_of_groups_ends_with_a_condition_on_any_of_their_records() -> None:
    pattern = Pattern.begin(group("a", "b")).one_or_more().until(lambda event: event[1] == "u")
    pattern = step(pattern.followed_by("d"), "d")
    assert run(pattern, "abaubd") == ["a=a b=b d=d"]
    assert run(pattern, "aubd") == []


def test_groups_may_be_in_groups() -> None:
    inner = step(Pattern.begin(group("a", "b")).times(2).consecutive().next("c"), "c")
    assert run(step(Pattern.begin(inner).times(2).consecutive().next("d"), "d"), "ababcababcd") == [
        "a=aaaa b=bbbb c=cc d=d"
    ]


def test_what_must_not_come_may_be_in_a_group() -> None:
    """It holds each time that the group is gone through."""
    inner = step(step(begin("a").not_followed_by("n"), "n").followed_by("b"), "b")
    pattern = step(Pattern.begin(inner).times(2).followed_by("d"), "d")
    assert run(pattern, "abnabd") == ["a=aa b=bb d=d"]
    assert run(pattern, "abanbd") == []


def test_a_step_of_a_group_that_is_greedy_leaves_the_next_time_what_it_cannot_take() -> None:
    inner = step(begin("a").one_or_more().greedy().next("b"), "b")
    assert run(Pattern.begin(inner).times(2).consecutive(), "aabab") == ["a=aaa b=bb", "a=aa b=bb"]


def test_a_greedy_step_at_the_end_of_a_group_leaves_the_next_time_nothing_that_it_can_take() -> None:
    inner = step(begin("a").next("ab"), "ab").one_or_more()
    assert run(Pattern.begin(inner.greedy()).times(2).consecutive(), "abab") == []
    assert run(Pattern.begin(inner).times(2).consecutive(), "abab") == ["a=aa ab=bb"]


def test_what_must_not_come_holds_until_the_group_is_gone_through_once_more() -> None:
    """Also if the step behind it is left out."""
    inner = step(step(begin("a").not_followed_by("n"), "n").followed_by("b"), "b").optional()
    pattern = step(Pattern.begin(inner).times(2).followed_by("d"), "d")
    assert run(pattern, "axad") == ["a=aa d=d"]
    assert run(pattern, "anad") == []
    assert run(pattern, "aand") == []


def test_a_skip_strategy_may_name_a_step_of_a_group() -> None:
    skip = AfterMatchSkipStrategy.skip_to_last("b")
    pattern = step(Pattern.begin(group("a", "b"), skip).times(2).followed_by("d"), "d")
    assert run(pattern, "aababd") == ["a=aa b=bb d=d"]


def test_a_snapshot_of_a_group_of_other_steps_is_refused() -> None:
    pair = group("a", "b")
    with looking_for(Pattern.begin(pair).times(2)) as operator:
        operator.process(("k", "a"), timestamp_ms=1)
        operator.watermark(1)
        saved = operator.snapshot()
    with (
        pytest.raises(RestoreError, match="another pattern"),
        looking_for(Pattern.begin(pair.times(2)).times(2), restored=saved),
    ):
        pass
    with looking_for(Pattern.begin(pair).times(2).consecutive(), restored=saved) as operator:
        for time, letter in enumerate("bab", 2):
            operator.process(("k", letter), timestamp_ms=time)
        assert operator.watermark(9) == [("a=aa b=bb", 4)]


# --- times between two records


AB: Any = step(begin("a").followed_by("b"), "b")


def test_a_time_between_two_records_is_that_of_the_step() -> None:
    pattern = step(AB.within(*near(5)).followed_by("c"), "c")
    assert timed(pattern, "a0 b4 c90") == [("a=a b=b c=c", 90)]
    assert timed(pattern, "a0 b5 c6") == [("timed out", "a=a", 5)]


def test_a_time_between_two_records_holds_for_each_record_of_a_loop() -> None:
    pattern = step(step(begin("s").followed_by("a"), "a").one_or_more().within(*near(5)).followed_by("c"), "c")
    assert timed(pattern, "s0 a4 a8 a13 c90") == [("s=s a=a c=c", 90), ("s=s a=aa c=c", 90)]


def test_a_match_that_may_go_on_another_way_is_not_over_with_one_step() -> None:
    pattern = step(AB.within(*near(5)).optional().followed_by("c"), "c")
    assert timed(pattern, "a0 b7 c90") == [("a=a c=c", 90)]
    pattern = pattern.within(Time.milliseconds(60))
    assert timed(pattern, "a0 b7 c90") == [("timed out", "a=a", 60)]


def test_what_does_not_come_for_a_time_behind_the_last_record_is_a_match() -> None:
    pattern = step(AB.not_followed_by("n"), "n").within(*near(10))
    assert timed(pattern, "a0 b50 n60") == [("a=a b=b", 60)]
    assert timed(pattern, "a0 b50 n59") == []


def test_the_time_of_the_last_of_several_things_that_must_not_come_holds() -> None:
    pattern = step(step(AB.not_followed_by("n"), "n").not_followed_by("m"), "m").within(*near(10))
    assert timed(pattern, "a0 b50") == [("a=a b=b", 60)]


def test_a_loop_that_was_a_match_and_goes_on_is_not_told_when_its_time_is_over() -> None:
    pattern = step(begin("a").one_or_more().not_followed_by("n"), "n").within(*near(10)).within(Time.milliseconds(30))
    assert timed(pattern, "a0") == [("a=a", 10)]
    assert timed(pattern, "a0 x11 n20") == [("a=a", 10)]
    assert timed(pattern, "a0 a15") == [("a=a", 10), ("a=aa", 25), ("a=a", 25)]
    assert timed(pattern, "a0 n5") == [("timed out", "a=a", 30)]


def test_the_shorter_of_both_times_ends_what_must_not_come() -> None:
    pattern = step(begin("a").one_or_more().not_followed_by("n"), "n").within(*near(10)).within(Time.milliseconds(12))
    assert timed(pattern, "a0 a5") == [("a=a", 10), ("a=aa", 12), ("a=a", 15)]
