"""Patterns that cannot be: each error says which step, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.common import Time
from headgate.datastream import StreamExecutionEnvironment
from headgate.errors import ProgramError
from headgate.pattern import CEP, AfterMatchSkipStrategy, IterativeCondition, Pattern

A: Any = Pattern.begin("a").where(lambda event: event == 1)


class Never(IterativeCondition):
    def filter(self, value: Any, ctx: Any) -> bool:
        return False


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Pattern.begin(""), "has a name, a text, not ''"),
        (lambda: A.next("a"), "two steps of the pattern have the name 'a'"),
        (lambda: A.where(1), r"where\(\) takes a function of a record, or an IterativeCondition, not 1"),
        (lambda: A.where(Never), "was given the class Never itself: pass an instance"),
        (lambda: Pattern.begin("a").or_(Never()), "step 'a' has no condition yet"),
        (lambda: A.subtype("int"), "takes a class, not 'int'"),
        (lambda: A.until(Never()), "call one_or_more"),
        (lambda: A.times(2).until(Never()), "call one_or_more"),
        (lambda: A.times(0), "at least 1"),
        (lambda: A.times(3, 2), "the lower number first"),
        (lambda: A.times("2"), "how many records"),
        (lambda: A.times_or_more(True), "how many records"),
        (lambda: A.one_or_more().times(2), "'a' has been told already"),
        (lambda: A.greedy(), "call one_or_more.* or times.* of 'a'"),
        (lambda: A.consecutive(), "call one_or_more.* or times.* of 'a'"),
        (lambda: A.allow_combinations(), "call one_or_more.* or times.* of 'a'"),
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
