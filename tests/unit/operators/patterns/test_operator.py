"""Patterns in the operator: by event time, with late records, times that run out, and snapshots."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.common import Time
from headgate.datastream import DataStream
from headgate.errors import RestoreError
from headgate.operators.base import UserCodeError
from headgate.pattern import CEP, AfterMatchSkipStrategy, Match, Pattern, PatternProcessFunction
from headgate.testing.harness import OperatorHarness
from tests.unit.operators.patterns.letters import AB, LATE, begin, looking_for, run, step


def test_records_are_matched_in_the_order_of_their_times_for_each_key() -> None:
    with looking_for(AB) as operator:
        for key, letter, time in [("k", "b", 20), ("l", "a", 5), ("k", "a", 10), ("l", "b", 30)]:
            assert operator.process((key, letter), timestamp_ms=time) == []
        assert operator.watermark(19) == []
        assert operator.watermark(25) == [("a=a b=b", 20)]
        assert operator.watermark(30) == [("a=a b=b", 30)]
        assert operator.state("matching") == {}


def test_all_results_of_a_match_have_its_time() -> None:
    class Twice(PatternProcessFunction):
        def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> list[Any]:
            return ["one", "two"]

    def build(stream: DataStream) -> DataStream:
        return CEP.pattern(stream.key_by(lambda event: event[0]), AB).process(Twice())

    with OperatorHarness.of_stream(build) as operator:
        for letter, time in [("a", 5), ("b", 7), ("a", 8), ("b", 9)]:
            operator.process(("k", letter), timestamp_ms=time)
        found = operator.operator.advance(10, 100)
        assert found is not None
        assert found.records == ["one", "two", "one", "two"]
        assert found.timestamps == [7, 7, 9, 9]


def test_records_of_one_time_keep_the_order_in_which_they_came() -> None:
    with looking_for(AB) as operator:
        for letter, time in [("b", 5), ("a", 5), ("b", 6)]:
            operator.process(("k", letter), timestamp_ms=time)
        assert operator.watermark(6) == [("a=a b=b", 6)]


def test_a_record_is_taken_when_the_watermark_comes_to_its_time() -> None:
    with looking_for(AB) as operator:
        for letter, time in [("x", 9), ("b", 7), ("a", 5)]:
            operator.process(("k", letter), timestamp_ms=time)
        assert operator.watermark(6) == []
        assert operator.watermark(7) == [("a=a b=b", 7)]
        assert operator.state("early") == {"k": [(9, ("k", "x"))]}


def test_records_behind_the_watermark_go_to_the_side_output() -> None:
    with looking_for(AB) as operator:
        operator.watermark(10)
        operator.process(("k", "a"), timestamp_ms=10)
        operator.process(("k", "b"), timestamp_ms=11)
        assert operator.watermark(11) == []
        assert operator.side(LATE) == [("k", "a")]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_match_under_way_is_told_when_its_time_is_over(backend: str) -> None:
    with looking_for(AB.within(Time.milliseconds(10)), backend) as operator:
        operator.process(("k", "a"), timestamp_ms=100)
        assert operator.watermark(109) == []
        saved = operator.snapshot()
    with looking_for(AB.within(Time.milliseconds(10)), backend, saved) as operator:
        operator.watermark(109)
        assert operator.watermark(110) == [("timed out", "a=a", 110)]
        assert operator.state("matching") == {}


def test_what_did_not_come_in_time_is_a_match() -> None:
    unpaid = AB.not_followed_by("c").where(lambda event: event[1] == "c").within(Time.milliseconds(10))
    with looking_for(unpaid) as operator:
        for letter, time in [("a", 0), ("b", 1), ("a", 20), ("b", 21), ("c", 22)]:
            operator.process(("k", letter), timestamp_ms=time)
        assert operator.watermark(40) == [("a=a b=b", 10)]


def test_a_snapshot_of_another_pattern_is_refused() -> None:
    with looking_for(AB) as operator:
        operator.process(("k", "a"), timestamp_ms=1)
        operator.watermark(1)
        saved = operator.snapshot()
    with pytest.raises(RestoreError, match=r"another pattern.*another uid"), looking_for(AB.optional(), restored=saved):
        pass


def test_any_following_record_gives_a_match() -> None:
    assert run(step(begin("a").followed_by_any("bc"), "bc"), "axbc") == ["a=a bc=b", "a=a bc=c"]


def loop(how: str) -> Pattern:
    """Return a pattern of Flink's manual: a, any number of b, then c."""
    looping = step(begin("a").followed_by_any("b"), "b").one_or_more()
    return step((getattr(looping, how)() if how else looping).followed_by("c"), "c")


@pytest.mark.parametrize(
    ("how", "taken"),
    [
        ("consecutive", ["b", "b", "b"]),
        ("", ["b", "b", "b", "bb", "bb", "bbb"]),
        ("allow_combinations", ["b", "b", "b", "bb", "bb", "bb", "bbb"]),
    ],
)
def test_loops_take_what_flinks_manual_says(how: str, taken: list[str]) -> None:
    """The input of its page on CEP: a, b1, d1, b2, d2, b3, c."""
    assert sorted(run(loop(how), "abdbdbc")) == sorted(f"a=a b={each} c=c" for each in taken)


@pytest.mark.parametrize(
    ("skip", "found"),
    [
        (AfterMatchSkipStrategy.no_skip(), ["b=bbb c=c", "b=bb c=c", "b=b c=c"]),
        (AfterMatchSkipStrategy.skip_to_next(), ["b=bbb c=c", "b=bb c=c", "b=b c=c"]),
        (AfterMatchSkipStrategy.skip_past_last_event(), ["b=bbb c=c"]),
        (AfterMatchSkipStrategy.skip_to_first("c"), ["b=bbb c=c"]),
        (AfterMatchSkipStrategy.skip_to_last("b"), ["b=bbb c=c", "b=b c=c"]),
    ],
)
def test_a_skip_strategy_rules_out_what_flinks_manual_says(skip: AfterMatchSkipStrategy, found: list[str]) -> None:
    """Its pattern is b+ c, and its input b1 b2 b3 c."""
    assert run(step(begin("b", skip).one_or_more().greedy().next("c"), "c"), "bbbc") == found


def test_a_match_that_began_first_comes_first() -> None:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    pattern = step(step(begin("ab", skip).followed_by("b"), "b").followed_by("c"), "c")
    assert run(pattern, "abbcc") == ["ab=a b=b c=c"]


@pytest.mark.parametrize(
    ("skip", "found"),
    [
        (AfterMatchSkipStrategy.skip_to_first("b"), ["ab=a b=bb", "ab=b b=bb"]),
        (AfterMatchSkipStrategy.skip_to_last("b"), ["ab=a b=bb"]),
    ],
)
def test_the_first_and_the_last_record_of_a_step_are_two(skip: AfterMatchSkipStrategy, found: list[str]) -> None:
    assert run(step(begin("ab", skip).next("b"), "b").times(2).consecutive(), "abbb") == found


def test_a_step_to_skip_to_that_took_nothing_rules_out_nothing() -> None:
    skip = AfterMatchSkipStrategy.skip_to_first("b")
    pattern = step(step(begin("a", skip).followed_by("b"), "b").optional().followed_by("c"), "c")
    assert run(pattern, "acbc") == ["a=a c=c", "a=a b=b c=c"]


def test_a_step_to_skip_to_that_took_nothing_fails_the_job_if_told_to() -> None:
    skip = AfterMatchSkipStrategy.skip_to_first("b").throw_exception_on_miss()
    pattern = step(step(begin("a", skip).next("b"), "b").optional().next("c"), "c")
    with pytest.raises(UserCodeError) as error:
        run(pattern, "ac")
    assert "no record of 'b'" in str(error.value.__cause__)


def test_a_loop_ends_with_a_condition() -> None:
    steps = begin("a").one_or_more().consecutive().until(lambda event: event[1] == "u").next("z")
    assert run(step(steps.subtype(tuple), "u"), "aaua") == ["a=aa z=u", "a=a z=u"]


def test_one_of_two_conditions_is_enough() -> None:
    assert run(step(begin("a").or_(lambda event: event[1] == "b").next("c"), "c"), "acbcdc") == ["a=a c=c", "a=b c=c"]


def test_a_long_match_can_be_saved() -> None:
    """It is a chain of many records, which must not be pickled by recursion."""
    pattern = step(step(begin("a").next("b"), "b").one_or_more().consecutive().greedy().next("c"), "c")
    with looking_for(pattern) as operator:
        operator.process(("k", "a"), timestamp_ms=0)
        for time in range(1, 1500):
            operator.process(("k", "b"), timestamp_ms=time)
        operator.watermark(5000)
        saved = operator.snapshot()
    with looking_for(pattern, restored=saved) as operator:
        operator.process(("k", "c"), timestamp_ms=6000)
        assert operator.watermark(6000) == [("a=a b=" + "b" * 1499 + " c=c", 6000)]


def test_a_condition_on_the_record_alone_is_tested_once_for_all_matches_under_way() -> None:
    tested: list[str] = []

    def is_b(event: tuple[str, str]) -> bool:
        tested.append(event[1])
        return event[1] == "b"

    assert run(begin("a").followed_by("b").where(is_b), "aaab") == ["a=a b=b"] * 3
    assert tested == ["a", "a", "b"]
