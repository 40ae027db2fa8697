"""Patterns in whole jobs: both modes find the same, with keys and without."""

from __future__ import annotations

from typing import Any, Final

import pytest

from headgate.common import Configuration, Time, WatermarkStrategy
from headgate.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from headgate.errors import JobFailedError
from headgate.pattern import CEP, Match, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler, WithinType

MODES: Final = [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH]
EVENTS: Final = [("k", "a", 1), ("l", "a", 2), ("k", "b", 5), ("l", "x", 6), ("l", "b", 50), ("k", "a", 60)]
A_THEN_B: Final = (
    Pattern.begin("a").where(lambda event: event[1] == "a").followed_by("b").where(lambda event: event[1] == "b")
)
AB: Final = A_THEN_B.within(Time.milliseconds(20))


class Both(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> list[Any]:
        return [("found", *(event[2] for events in match.values() for event in events), ctx.timestamp())]

    def process_timed_out_match(self, match: Match, ctx: PatternProcessFunction.Context) -> list[Any]:
        return [("timed out", *(event[2] for events in match.values() for event in events), ctx.timestamp())]


def events(mode: RuntimeExecutionMode) -> DataStream:
    conf = Configuration.from_dict({"headgate.deploy.target": "minicluster"})
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.set_parallelism(2).set_runtime_mode(mode)
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event[2])
    return env.from_collection(EVENTS).assign_timestamps_and_watermarks(by_time)


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:
        return sorted(results)


@pytest.mark.parametrize("mode", MODES)
def test_both_modes_find_the_same(mode: RuntimeExecutionMode) -> None:
    found = CEP.pattern(events(mode).key_by(lambda event: event[0]), AB).process(Both())
    assert collected(found) == [("found", 1, 5, 5), ("timed out", 2, 22), ("timed out", 60, 80)]


@pytest.mark.parametrize("mode", MODES)
def test_a_stream_without_keys_is_searched_as_a_whole(mode: RuntimeExecutionMode) -> None:
    found = CEP.pattern(events(mode), AB)
    assert collected(found.select(lambda match: match["a"] + match["b"])) == [
        [EVENTS[0], EVENTS[2]],
        [EVENTS[1], EVENTS[2]],
    ]


@pytest.mark.parametrize("mode", MODES)
def test_flat_select_emits_all_that_is_yielded(mode: RuntimeExecutionMode) -> None:
    found = CEP.pattern(events(mode), AB)
    assert collected(found.flat_select(lambda match: match["a"])) == [EVENTS[0], EVENTS[1]]


@pytest.mark.parametrize("mode", MODES)
def test_both_modes_find_groups_and_times_between_records(mode: RuntimeExecutionMode) -> None:
    pair = Pattern.begin("a").where(lambda event: event[1] == "a").followed_by("b").where(lambda event: event[1] == "b")
    pairs = Pattern.begin(pair.within(Time.milliseconds(45), WithinType.PREVIOUS_AND_CURRENT)).times(1, 2)
    found = CEP.pattern(events(mode).key_by(lambda event: event[0]), pairs)
    assert collected(found.select(lambda match: match["a"] + match["b"])) == [[EVENTS[0], EVENTS[2]]]


@pytest.mark.parametrize("mode", MODES)
def test_by_processing_time_records_need_no_timestamps(mode: RuntimeExecutionMode) -> None:
    """The time is long enough for any machine; in batch mode it is over at the end of the key."""
    conf = Configuration.from_dict({"headgate.deploy.target": "minicluster"})
    env = StreamExecutionEnvironment.get_execution_environment(conf).set_runtime_mode(mode)
    keyed = env.from_collection(EVENTS).key_by(lambda event: event[0])
    found = CEP.pattern(keyed, A_THEN_B.within(Time.days(1))).in_processing_time().process(Kinds())
    timed_out = [] if mode is RuntimeExecutionMode.STREAMING else [("timed out", 60)]
    assert collected(found) == [("found", 1, 5), ("found", 2, 50), *timed_out]


class Kinds(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> list[Any]:
        return [("found", *(event[2] for events in match.values() for event in events))]

    def process_timed_out_match(self, match: Match, ctx: PatternProcessFunction.Context) -> list[Any]:
        return [("timed out", *(event[2] for events in match.values() for event in events))]


def test_records_without_timestamps_need_processing_time() -> None:
    conf = Configuration.from_dict({"headgate.deploy.target": "minicluster"})
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    with pytest.raises(
        JobFailedError, match=r"assign_timestamps_and_watermarks\(\) on the stream, or in_processing_time"
    ):
        collected(CEP.pattern(env.from_collection(EVENTS), AB).select(str))
