"""As-of joins and joins of the latest value: who meets whom, when, what is kept, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headgate.common import Time, WatermarkStrategy
from headgate.datastream import DataStream, KeyedStream, OutputTag, ProcessJoinFunction, RuntimeExecutionMode
from headgate.datastream.asof_join import AsOfJoined
from headgate.elements import MAX_TIMESTAMP
from headgate.errors import ProgramError
from headgate.operators.base import UserCodeError
from headgate.testing.harness import OperatorHarness
from tests.unit.datastream.environments import environment

LATE_LEFT, LATE_RIGHT, SIDE = OutputTag("late left"), OutputTag("late right"), OutputTag("side")
Join = Callable[[KeyedStream, KeyedStream], AsOfJoined]


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left, right, ctx.get_timestamp()
        yield SIDE, (ctx.get_left_timestamp(), ctx.get_right_timestamp())


class Failing(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> None:
        raise ValueError("no")


def one_key(_: Any) -> str:
    return "key"


def harness(join: Join, function: ProcessJoinFunction | None = None) -> Any:
    return OperatorHarness.of_stream(
        lambda left, right: join(left.key_by(one_key), right.key_by(one_key)).process(function or Pairs())
    )


def backward(left: KeyedStream, right: KeyedStream) -> AsOfJoined:
    return left.join_asof(right)


def latest(left: KeyedStream, right: KeyedStream) -> AsOfJoined:
    return left.join_latest(right, Time.milliseconds(5), is_deletion=lambda value: value == "deleted")


def nearest(left: KeyedStream, right: KeyedStream) -> AsOfJoined:
    return left.join_asof(right, "nearest", allow_exact_matches=False)


def near(left: KeyedStream, right: KeyedStream) -> AsOfJoined:
    return left.join_asof(right, "nearest", tolerance=Time.milliseconds(6))


@pytest.mark.parametrize(
    ("direction", "expected"), [("backward", ("l", 8, 10)), ("forward", ("l", 13, 13)), ("nearest", ("l", 8, 11))]
)
def test_the_direction_says_which_record_is_met_and_when_that_is_certain(direction: str, expected: Any) -> None:
    with harness(lambda left, right: left.join_asof(right, direction)) as join:
        for time in (13, 8, 3):
            join.process_second(time, timestamp_ms=time)
        assert join.process("l", timestamp_ms=10) == []
        assert join.watermark(expected[2] - 1) == []
        assert join.watermark(expected[2]) == [expected]
        assert join.side(SIDE) == [(10, expected[1])]


def test_a_record_that_waits_keeps_what_it_may_still_meet() -> None:
    """It keeps its own record before, though a newer one has come that it must not meet, or the tolerance is over."""
    with harness(nearest) as join:
        join.process_second(5, timestamp_ms=5)
        join.process_second(10, timestamp_ms=10)
        join.process("l", timestamp_ms=10)
        assert join.watermark(12) == []
        assert join.watermark(14) == [("l", 5, 14)]
    with harness(near) as join:
        join.process_second(5, timestamp_ms=5)
        join.process("l", timestamp_ms=10)
        assert join.watermark(12) == []
        assert join.watermark(14) == [("l", 5, 14)]
        assert join.state("right") == {}


def test_a_record_that_looks_ahead_does_not_keep_one_that_it_must_not_meet() -> None:
    with harness(lambda left, right: left.join_asof(right, "forward", allow_exact_matches=False)) as join:
        join.process("l", timestamp_ms=5)
        join.process_second(5, timestamp_ms=5)
        assert join.watermark(100) == []
        assert join.state("right") == {}


def test_the_newest_value_stays_and_older_ones_go() -> None:
    with harness(backward) as join:
        for time in (1, 2, 3, 9):
            join.process_second(time, timestamp_ms=time)
        join.watermark(5)
        assert join.state("right") == {"key": [(3, 3), (9, 9)]}
        join.watermark(1_000)
        assert join.state("right") == {"key": [(9, 9)]}
        join.process("l", timestamp_ms=5_000)
        assert join.watermark(5_000) == [("l", 9, 5_000)]
        assert join.state("left") == {}


def test_a_deletion_ends_a_value_and_leaves_nothing_behind() -> None:
    with harness(latest) as join:
        join.process_second("old", timestamp_ms=10)
        join.process_second("deleted", timestamp_ms=20)
        for time in (15, 25):
            join.process(time, timestamp_ms=time)
        assert join.watermark(19) == []
        assert join.watermark(20) == [(15, "old", 20)]
        assert join.watermark(30) == []
        assert join.state("right") == {}


def test_a_deletion_that_is_yet_to_come_ends_a_value_that_comes_after_it() -> None:
    with harness(latest) as join:
        join.process_second("deleted", timestamp_ms=20)
        join.process("first", timestamp_ms=5)
        join.watermark(15)
        join.process_second("new", timestamp_ms=12)
        for time in (14, 25):
            join.process(time, timestamp_ms=time)
        assert join.watermark(40) == [(14, "new", 19)]


def test_records_of_either_stream_may_be_late_by_the_grace() -> None:
    with harness(latest) as join:
        join.watermark(100)
        join.process("l", timestamp_ms=98)
        join.process_second("r", timestamp_ms=96)
        assert join.watermark(102) == []
        assert join.watermark(103) == [("l", "r", 103)]
        join.process_second("late", timestamp_ms=98)
        assert join.metrics.counter("numLateRecordsDropped").get_count() == 1


def test_late_records_go_to_the_side_outputs_of_their_streams() -> None:
    def sides(left: KeyedStream, right: KeyedStream) -> AsOfJoined:
        return left.join_asof(right).side_output_left_late_data(LATE_LEFT).side_output_right_late_data(LATE_RIGHT)

    with harness(sides) as join:
        join.watermark(10)
        join.process("l", timestamp_ms=10)
        join.process_second("r", timestamp_ms=9)
        assert (join.side(LATE_LEFT), join.side(LATE_RIGHT)) == (["l"], ["r"])
        assert join.metrics.counter("numLateRecordsDropped").get_count() == 0


def test_with_left_a_record_that_meets_none_is_handed_over_too() -> None:
    with harness(lambda left, right: left.join_asof(right, tolerance=Time.milliseconds(2), how="left")) as join:
        join.process_second("too old", timestamp_ms=7)
        join.process("l", timestamp_ms=10)
        assert join.watermark(10) == [("l", None, 10)]
        assert join.side(SIDE) == [(10, None)]


def test_at_the_end_of_time_every_record_has_met_its_own() -> None:
    with harness(lambda left, right: left.join_asof(right, "forward", how="left")) as join:
        join.process("l", timestamp_ms=10)
        assert join.watermark(10**9) == []
        assert join.watermark(MAX_TIMESTAMP) == [("l", None, MAX_TIMESTAMP)]


def test_an_error_names_the_key() -> None:
    with harness(backward, Failing()) as join:
        join.process_second(1, timestamp_ms=1)
        join.process(2, timestamp_ms=2)
        with pytest.raises(UserCodeError) as info:
            join.watermark(3)
        assert info.value.key == "key"


def test_records_need_timestamps() -> None:
    with harness(backward) as join, pytest.raises(UserCodeError) as info:
        join.process(1)
    assert "assign_timestamps_and_watermarks" in str(info.value.__cause__)


@pytest.mark.parametrize(
    ("join", "message"),
    [
        (lambda one, other: one.join_asof(other, "up"), "join_asof.. takes direction='backward' or .*, not 'up'"),
        (lambda one, other: one.join_asof(other, []), r"direction=.*, not \[\]"),
        (lambda one, other: one.join_asof(other, how="right"), "join_asof.. takes how='inner' or 'left', not 'right'"),
        (lambda one, other: one.join_latest(other, how="full"), "join_latest.. takes how=.*not 'full'"),
        (lambda one, other: one.join_asof(other, tolerance=5), "the tolerance of join_asof.*5"),
        (lambda one, other: one.join_asof(other, tolerance=Time.milliseconds(-1)), "tolerance of 0 ms or more, not -1"),
        (lambda one, other: one.join_latest(other, "1 s"), "the grace of join_latest.*'1 s'"),
        (lambda one, other: one.join_latest(other, is_deletion=True), "is_deletion a function .*, not True"),
        (lambda one, other: one.join_asof(None), "join_asof"),
        (lambda one, other: one.join_latest(other.map(str)), "join_latest.. takes a keyed stream: call key_by"),
        (lambda one, other: one.join_asof(other).process(lambda left, right: None), "ProcessJoinFunction"),
        (lambda one, other: one.join_asof(other).side_output_left_late_data("late"), "OutputTag"),
    ],
)
def test_a_wrong_argument_is_refused_when_the_program_is_written(join: Any, message: str) -> None:
    env = environment()
    one, other = (env.from_collection([1]).key_by(one_key) for _ in range(2))
    with pytest.raises((ProgramError, TypeError), match=message):
        join(one, other)


@pytest.mark.parametrize("mode", RuntimeExecutionMode)
def test_both_modes_find_the_same(mode: RuntimeExecutionMode) -> None:
    env = environment()
    env.set_parallelism(2).set_runtime_mode(mode)
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: record[1])

    def keyed(records: list[tuple[str, int]]) -> KeyedStream:
        stream: DataStream = env.from_collection(records).assign_timestamps_and_watermarks(by_time)
        return stream.key_by(lambda record: record[0])

    trades = keyed([("a", 4), ("b", 5), ("a", 9), ("c", 20)])
    quotes = keyed([("a", 1), ("a", 3), ("b", 6), ("a", 8), ("a", 12)])
    with trades.join_asof(quotes, how="left").process(Pairs()).execute_and_collect() as results:
        found = sorted(results, key=repr)
    assert found == [
        (("a", 4), ("a", 3), 4),
        (("a", 9), ("a", 8), 9),
        (("b", 5), None, 5),
        (("c", 20), None, 20),
    ]


def test_the_grace_time_ends_with_the_input() -> None:
    with harness(latest) as join:
        join.process_second("r", timestamp_ms=MAX_TIMESTAMP - 1)
        join.process("l", timestamp_ms=MAX_TIMESTAMP)
        assert join.watermark(MAX_TIMESTAMP) == [("l", "r", MAX_TIMESTAMP)]
