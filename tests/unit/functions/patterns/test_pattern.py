"""Patterns that cannot be: each error says which step, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.common import Time
from headgate.datastream import OutputTag, StreamExecutionEnvironment
from headgate.errors import ProgramError
from headgate.pattern import CEP, AfterMatchSkipStrategy, IterativeCondition, Pattern, WithinType

A: Any = Pattern.begin("a").where(lambda event: event == 1)
G: Any = Pattern.begin(A.next("b"))
NEAR: Any = (Time.seconds(5), WithinType.PREVIOUS_AND_CURRENT)


class Never(IterativeCondition):
    def filter(self, value: Any, ctx: Any) -> bool:
        return False


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Pattern.begin(""), "the name of a step must be text, not ''"),
        (lambda: A.next("a"), "two steps of the pattern have the name 'a'"),
        (lambda: A.where(1), r"where\(\) takes a function of a record, or an IterativeCondition, not 1"),
        (lambda: A.where(Never), "was given the class Never itself: pass an instance"),
        (lambda: Pattern.begin("a").or_(Never()), "step 'a' has no condition yet"),
        (lambda: A.subtype("int"), "takes a class, not 'int'"),
        (lambda: A.until(Never()), "call one_or_more"),
        (lambda: A.times(2).until(Never()), "call one_or_more"),
        (lambda: A.times(0), "at least 1"),
        (lambda: A.times(3, 2), "the lower one first"),
        (lambda: A.times("2"), "numbers of records"),
        (lambda: A.times_or_more(True), "numbers of records"),
        (lambda: A.one_or_more().times(2), "'a' already has a number of records"),
        (lambda: A.greedy(), "call one_or_more.* or times.* on 'a'"),
        (lambda: A.consecutive(), "call one_or_more.* or times.* on 'a'"),
        (lambda: A.allow_combinations(), "call one_or_more.* or times.* on 'a'"),
        (lambda: A.followed_by_any("b").one_or_more().greedy(), r"followed_by_any\('b'\)"),
        (lambda: A.not_next("b").optional(), r"not_next\('b'\), which takes no records"),
        (lambda: A.not_followed_by("b").times(2), r"not_followed_by\('b'\), which takes no records"),
        (lambda: A.optional().not_next("b"), "'a', which is optional"),
        (lambda: A.within(Time.seconds(0)), "a positive time, not 0 ms"),
        (lambda: A.within(5), "length of time such as"),
        (lambda: A.optional().check(), "all steps of the pattern are optional"),
        (lambda: A.next("b").not_followed_by("c").where(Never()).check(), r"'c'\), and nothing says until when"),
        (lambda: A.not_next("b").check(), "does not say what it forbids"),
        (lambda: Pattern.begin("a", AfterMatchSkipStrategy.skip_to_last("x")).check(), "skip to 'x'"),
        (lambda: G.next("b"), "two steps of the pattern have the name 'b'"),
        (lambda: A.next(Pattern.begin("b").next("a")), "two steps of the pattern have the name 'a'"),
        (lambda: G.where(Never()), r"where\(\) cannot be used with the group \(a b\): call it on a step in the group"),
        (lambda: G.or_(Never()), r"or_\(\) cannot be used with the group \(a b\)"),
        (lambda: G.subtype(int), r"where\(\) cannot be used with the group \(a b\)"),
        (lambda: G.one_or_more().greedy(), r"greedy\(\) cannot be used with the group \(a b\)"),
        (lambda: G.within(*NEAR), r"within\(\) cannot be used with the group \(a b\)"),
        (lambda: G.times(2).times(3), r"'\(a b\)' already has a number of records"),
        (lambda: G.optional().not_next("c"), r"'\(a b\)', which is optional"),
        (lambda: G.optional().check(), "all steps of the pattern are optional"),
        (lambda: A.not_next(G), "the name of a step must be text, not Pattern"),
        (lambda: Pattern.begin(A.optional().next("b")), r"the first step of the group \(a b\) is optional"),
        (lambda: Pattern.begin(G.optional().next("c")), r"the first step of the group \(a b c\) is optional"),
        (lambda: Pattern.begin(A.not_followed_by("b")), r"the group \(a b\) ends with not_followed_by\('b'\)"),
        (lambda: Pattern.begin(A.within(Time.seconds(1))), r"\(a\) has a time of its own.*on the whole pattern"),
        (
            lambda: Pattern.begin(Pattern.begin("a", AfterMatchSkipStrategy.skip_to_next())),
            "a skip strategy of its own",
        ),
        (lambda: Pattern.begin(A.not_next("c").next("d")).check(), r"not_next\('c'\) does not say what it forbids"),
        (lambda: A.within(Time.seconds(5), "first"), "a WithinType as its second argument.*not 'first'"),
        (lambda: A.within(*NEAR).check(), "says nothing about 'a': no record comes before"),
        (lambda: A.not_next("b").where(Never()).within(*NEAR).next("c").check(), r"says nothing about not_next\('b'\)"),
        (
            lambda: A.next("b").within(*NEAR).within(Time.seconds(4)).check(),
            "5000 ms between two.*4000 ms from the first",
        ),
        (lambda: Pattern.begin(A.next("b").within(*NEAR)).within(Time.seconds(4)).check(), "'b' has 5000 ms"),
    ],
)
def test_a_pattern_that_cannot_be_is_refused(build: Callable[[], Any], says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        build()


def test_only_streams_and_patterns_go_together() -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(ProgramError, match="takes a stream first"):
        CEP.pattern([1], A)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match=r"such as Pattern.begin"):
        CEP.pattern(stream, "a")  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match=r"CEP.pattern\(...\).process\(\) takes a PatternProcessFunction"):
        CEP.pattern(stream, A).process(print)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match=r"select\(\) takes a function of a match, not 3"):
        CEP.pattern(stream, A).select(3)  # type: ignore[arg-type]


def test_the_shorter_of_two_times_holds() -> None:
    assert A.within(Time.seconds(5)).within(Time.seconds(3)).within_ms == 3000
    assert A.within(Time.seconds(3)).within(Time.seconds(5)).within_ms == 3000


def test_the_shorter_of_two_times_between_records_holds() -> None:
    pattern = A.next("b").within(*NEAR).within(Time.seconds(3), WithinType.PREVIOUS_AND_CURRENT).within(*NEAR)
    assert pattern.steps[1].gap_ms == 3000
    assert pattern.within_ms is None


def test_a_pattern_that_makes_sense_is_not_refused() -> None:
    A.one_or_more().within(*NEAR).check()
    A.next("b").within(*NEAR).within(Time.seconds(5)).check()
    A.not_followed_by("b").where(Never()).within(*NEAR).check()
    Pattern.begin(G, AfterMatchSkipStrategy.skip_to_first("b")).times(2).optional().next("c").check()


def test_records_are_not_late_by_processing_time() -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    late = CEP.pattern(stream, A).side_output_late_data(OutputTag("late"))
    with pytest.raises(ProgramError, match=r"leave out side_output_late_data\(\)"):
        late.in_processing_time().select(str)
    late.in_processing_time().in_event_time().select(str)
