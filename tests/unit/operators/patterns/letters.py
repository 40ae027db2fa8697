"""Patterns of letters, and an operator that looks for them in texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, final

from headgate import options
from headgate.common import Time
from headgate.config import Settings
from headgate.datastream import DataStream, OutputTag
from headgate.pattern import (
    CEP,
    AfterMatchSkipStrategy,
    Match,
    Pattern,
    PatternProcessFunction,
    PatternStream,
    TimedOutPartialMatchHandler,
    WithinType,
)
from headgate.testing.harness import OperatorHarness, Setup

LATE: Final = OutputTag("late")
AB: Final = Pattern.begin("a").where(lambda event: event[1] == "a").next("b").where(lambda event: event[1] == "b")


@final
class Found(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterator[Any]:
        yield _texts(match), ctx.timestamp()

    def process_timed_out_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterator[Any]:
        yield "timed out", _texts(match), ctx.timestamp()


def _texts(match: Match) -> str:
    return " ".join(name + "=" + "".join(event[1] for event in events) for name, events in match.items())


def looking_for(pattern: Pattern, backend: str = "hashmap", restored: Any = None) -> OperatorHarness:
    """Return an operator that looks for a pattern by event time."""
    return _looking(lambda keyed: CEP.pattern(keyed, pattern).side_output_late_data(LATE), backend, restored)


def looking_by_the_clock(pattern: Pattern, backend: str = "hashmap", restored: Any = None) -> OperatorHarness:
    """Return an operator that looks for a pattern by processing time."""
    return _looking(lambda keyed: CEP.pattern(keyed, pattern).in_processing_time(), backend, restored)


def _looking(look: Callable[[DataStream], PatternStream], backend: str, restored: Any) -> OperatorHarness:
    def build(stream: DataStream) -> DataStream:
        return look(stream.key_by(lambda event: event[0])).process(Found())

    setup = Setup(settings=Settings().with_value(options.STATE_BACKEND, backend))
    return OperatorHarness.of_stream(build, setup=setup, restored=[restored] if restored else [])


def run(pattern: Pattern, events: str) -> list[str]:
    """Return the matches in a text, whose letters are the records."""
    with looking_for(pattern) as operator:
        for time, letter in enumerate(events):
            assert operator.process(("k", letter), timestamp_ms=time) == []
        return [each[0] for each in operator.watermark(1000)]


def timed(pattern: Pattern, events: str) -> list[Any]:
    """Return the matches in letters, each behind its time, with what they come to: `"a1 b15"`."""
    with looking_for(pattern) as operator:
        for event in events.split():
            operator.process(("k", event[0]), timestamp_ms=int(event[1:]))
        return operator.watermark(1000)


def step(pattern: Pattern, letters: str) -> Pattern:
    return pattern.where(lambda event: event[1] in letters)


def begin(letters: str, skip: AfterMatchSkipStrategy | None = None) -> Pattern:
    return step(Pattern.begin(letters, skip), letters)


def near(time_ms: int) -> tuple[Time, WithinType]:
    """Return what `within` takes for a time between two records."""
    return Time.milliseconds(time_ms), WithinType.PREVIOUS_AND_CURRENT
