"""Joins and co-groups in windows, in both modes: who meets whom, with which timestamp."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from headgate.common import Configuration, Time, Types, WatermarkStrategy
from headgate.datastream import (
    CoGroupFunction,
    DataStream,
    FlatJoinFunction,
    JoinFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headgate.datastream.joined_streams import CoGroupedStreams, JoinedStreams
from headgate.datastream.window import CountEvictor, CountTrigger, EventTimeSessionWindows, TumblingEventTimeWindows
from headgate.errors import ProgramError

TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))
LEFT = [("a", 1), ("a", 4), ("b", 2), ("a", 12), ("c", 30)]
RIGHT = [("a", 3), ("a", 9), ("b", 15), ("a", 10), ("d", 31)]


def streams(mode: RuntimeExecutionMode = RuntimeExecutionMode.STREAMING) -> tuple[DataStream, DataStream]:
    conf = Configuration.from_dict({"headgate.deploy.target": "minicluster"})
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.set_parallelism(2).set_runtime_mode(mode)
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: record[1])
    left, right = (env.from_collection(records).assign_timestamps_and_watermarks(by_time) for records in (LEFT, RIGHT))
    return left, right


def joined(mode: RuntimeExecutionMode = RuntimeExecutionMode.STREAMING) -> JoinedStreams:
    left, right = streams(mode)
    return left.join(right).where(lambda record: record[0]).equal_to(lambda record: record[0])


def grouped(mode: RuntimeExecutionMode = RuntimeExecutionMode.STREAMING) -> CoGroupedStreams:
    left, right = streams(mode)
    return left.co_group(right).where(lambda record: record[0]).equal_to(lambda record: record[0])


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:
        return sorted(results, key=repr)


PAIRS = [(("a", 1), ("a", 3)), (("a", 1), ("a", 9)), (("a", 12), ("a", 10)), (("a", 4), ("a", 3)), (("a", 4), ("a", 9))]


class Pair(JoinFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.opened = True

    def join(self, first: Any, second: Any) -> Any:
        assert self.opened
        return first, second


class Twice(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Iterator[Any] | None:
        return None if second[1] == 9 else iter([(first, second)] * 2)


class Sizes(CoGroupFunction):
    def co_group(self, first: list[Any], second: list[Any]) -> Iterable[Any]:
        yield (first or second)[0][0], len(first), len(second)


@pytest.mark.parametrize("mode", RuntimeExecutionMode)
def test_pairs_of_a_key_and_window_are_joined(mode: RuntimeExecutionMode) -> None:
    assert collected(joined(mode).window(TEN).apply(Pair())) == PAIRS


def test_a_callable_joins_as_well_and_a_flat_join_makes_any_number_of_results() -> None:
    assert collected(joined().window(TEN).apply(lambda first, second: (first, second))) == PAIRS
    assert collected(joined().window(TEN).apply(Twice())) == sorted(2 * [PAIRS[0], PAIRS[2], PAIRS[3]], key=repr)


@pytest.mark.parametrize("mode", RuntimeExecutionMode)
def test_a_co_group_sees_records_without_a_partner(mode: RuntimeExecutionMode) -> None:
    expected = [("a", 1, 1), ("a", 2, 2), ("b", 0, 1), ("b", 1, 0), ("c", 1, 0), ("d", 0, 1)]
    assert collected(grouped(mode).window(TEN).apply(Sizes())) == expected


def test_results_have_the_last_time_of_their_window() -> None:
    sums = joined().window(TEN).apply(lambda first, second: 1).key_by(lambda one: one).window(TEN).sum()
    assert collected(sums) == [1, 4]


def test_windows_may_be_sessions_with_a_trigger_and_an_evictor() -> None:
    sessions = grouped().window(EventTimeSessionWindows.with_gap(Time.milliseconds(8)))
    assert ("a", 3, 3) in collected(sessions.apply(Sizes()))
    last = grouped().window(TEN).trigger(CountTrigger.of(2)).evictor(CountEvictor.of(1)).allowed_lateness(5)
    assert all(sum(sizes) == 1 for _, *sizes in collected(last.apply(Sizes())))


def test_programs_that_make_no_sense_are_refused() -> None:
    left, right = streams()
    with pytest.raises(ProgramError, match=r"call equal_to\(...\) before window"):
        left.join(right).where(lambda record: record[0]).window(TEN)
    with pytest.raises(ProgramError, match=r"call where\(...\) before window"):
        left.co_group(right).equal_to(lambda record: record[0]).window(TEN)
    with pytest.raises(ProgramError, match="must have the same type, not String and Integer"):
        left.join(right).where(str, Types.STRING()).equal_to(int, Types.INT())
    with pytest.raises(ProgramError, match="takes a CoGroupFunction"):
        grouped().window(TEN).apply(lambda first, second: [])  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="join"):
        left.join([1])  # type: ignore[arg-type]
