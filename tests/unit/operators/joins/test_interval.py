"""Interval joins: which pairs there are, when, with which times, and what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from headgate import options
from headgate.common import Time
from headgate.config import Settings
from headgate.datastream import DataStream, OutputTag, ProcessJoinFunction, StreamExecutionEnvironment
from headgate.datastream.interval_join import IntervalJoined
from headgate.elements import MAX_TIMESTAMP
from headgate.errors import ProgramError
from headgate.operators.base import UserCodeError
from headgate.testing.harness import OperatorHarness
from headgate.testing.saved_operator import Setup

LATE_LEFT, LATE_RIGHT, SIDE = OutputTag("late left"), OutputTag("late right"), OutputTag("side")
Change = Callable[[IntervalJoined], IntervalJoined]


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left, right, ctx.get_timestamp()
        yield SIDE, (ctx.get_left_timestamp(), ctx.get_right_timestamp())


def as_it_is(joined: IntervalJoined) -> IntervalJoined:
    return joined


def on(backend: str) -> Setup:
    return Setup(settings=Settings().with_value(options.STATE_BACKEND, backend))


def joined(
    lower: int, upper: int, change: Change = as_it_is, how: str = "inner", function: Any = None, **harness: Any
) -> Any:
    def build(left: DataStream, right: DataStream) -> DataStream:
        join = left.key_by(lambda _: "key").interval_join(right.key_by(lambda _: "key"), how)
        return change(join.between(Time.milliseconds(lower), Time.milliseconds(upper))).process(function or Pairs())

    return OperatorHarness.of_stream(build, **harness)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (as_it_is, [3, 4, 5, 6, 7]),
        (lambda join: join.lower_bound_exclusive(), [4, 5, 6, 7]),
        (lambda join: join.upper_bound_exclusive(), [3, 4, 5, 6]),
        (lambda join: join.upper_bound_exclusive().lower_bound_exclusive(), [4, 5, 6]),
        (lambda join: join.upper_bound_exclusive().upper_bound_exclusive(), [3, 4, 5, 6]),
    ],
)
def test_bounds_are_included_unless_they_are_excluded(change: Change, expected: list[int]) -> None:
    with joined(-2, 2, change) as harness:
        for time in range(1, 10):
            harness.process_second(time, timestamp_ms=time)
        assert [right for _, right, _ in harness.process("left", timestamp_ms=5)] == expected


@pytest.mark.parametrize("left_first", [True, False])
def test_either_record_may_come_first_and_the_later_time_is_that_of_the_pair(left_first: bool) -> None:
    with joined(-5, 5) as harness:
        if left_first:
            assert harness.process("l", timestamp_ms=7) == []
            assert harness.process_second("r", timestamp_ms=4) == [("l", "r", 7)]
        else:
            assert harness.process_second("r", timestamp_ms=4) == []
            assert harness.process("l", timestamp_ms=7) == [("l", "r", 7)]
        assert harness.side(SIDE) == [(7, 4)]


def test_intervals_may_lie_before_or_behind() -> None:
    with joined(-5, -3) as before, joined(3, 5) as behind:
        for harness in (before, behind):
            harness.process("l", timestamp_ms=10)
        times = range(20)
        assert [time for time in times if before.process_second(time, timestamp_ms=time)] == [5, 6, 7]
        assert [time for time in times if behind.process_second(time, timestamp_ms=time)] == [13, 14, 15]


def test_late_records_are_counted_or_go_to_the_side_output_of_their_stream() -> None:
    with joined(-5, 5) as harness:
        harness.process("l", timestamp_ms=10)
        harness.watermark(10)
        assert harness.process_second("too late", timestamp_ms=9) == []
        assert harness.process_second("in time", timestamp_ms=10) == [("l", "in time", 10)]
        assert harness.metrics.counter("numLateRecordsDropped").get_count() == 1
    tagged: Change = lambda join: join.side_output_left_late_data(LATE_LEFT).side_output_right_late_data(LATE_RIGHT)  # noqa: E731
    with joined(-5, 5, tagged) as harness:
        harness.watermark(10)
        harness.process("left", timestamp_ms=9)
        harness.process_second("right", timestamp_ms=8)
        assert (harness.side(LATE_LEFT), harness.side(LATE_RIGHT)) == (["left"], ["right"])


def test_a_record_that_event_time_has_left_behind_matches_none_whether_or_not_it_is_still_kept() -> None:
    with joined(-5, 5) as harness:
        harness.process("l", timestamp_ms=5)
        harness.watermark(9)
        assert harness.process_second("r", timestamp_ms=10) == [("l", "r", 10)]
        harness.watermark(10)
        assert harness.process_second("r", timestamp_ms=10) == []


@pytest.mark.parametrize("before", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("after", ["hashmap", "rocksdb"])
def test_records_out_of_order_match_after_a_restore_into_any_backend(before: str, after: str) -> None:
    with joined(-2, 2, setup=on(before)) as harness:
        for time in (7, 3, 9, 5, 1):
            harness.process_second(time, timestamp_ms=time)
        saved = harness.savepoint()
    with joined(-2, 2, setup=on(after), restored=[saved]) as harness:
        harness.process_second(4, timestamp_ms=4)
        assert sorted(right for _, right, _ in harness.process("left", timestamp_ms=5)) == [3, 4, 5, 7]


@pytest.mark.slow
def test_records_are_kept_no_longer_than_twice_the_interval() -> None:
    with joined(-5, 5) as harness:
        for time in range(1_000):
            harness.process(time, timestamp_ms=time)
            harness.process_second(time, timestamp_ms=time)
            harness.watermark(time)
            assert all(len(kept) <= 21 for name in ("left", "right") for kept in harness.state(name).values())
        harness.watermark(2_000)
        assert (harness.state("left"), harness.state("right")) == ({}, {})


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", []),
        ("left", [("alone", None, 25)]),
        ("right", [(None, "alone", 43)]),
        ("full", [("alone", None, 25), (None, "alone", 43)]),
    ],
)
def test_unmatched_records_of_outer_sides_are_handed_over_at_the_end_of_their_reach(
    how: str, expected: list[Any]
) -> None:
    with joined(-3, 5, how=how) as harness:
        harness.process("l", timestamp_ms=10)
        assert harness.process_second("r", timestamp_ms=11) == [("l", "r", 11)]
        harness.process("alone", timestamp_ms=20)
        harness.process_second("alone", timestamp_ms=40)
        assert harness.watermark(24) == []
        assert harness.watermark(100) == expected


def test_a_record_without_a_timestamp_is_an_error_that_tells_what_to_do() -> None:
    with joined(-3, 5) as harness, pytest.raises(UserCodeError) as caught:
        harness.process("l")
    assert "assign_timestamps_and_watermarks() on both streams" in str(caught.value.__cause__)


def test_an_error_of_the_function_names_the_record() -> None:
    class Failing(ProcessJoinFunction):
        def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
            raise ValueError("no")

    with joined(-3, 5, function=Failing()) as harness:
        harness.process("l", timestamp_ms=1)
        with pytest.raises(UserCodeError) as caught:
            harness.process_second("r", timestamp_ms=1)
    assert (caught.value.record, caught.value.key) == ("r", "key")


def test_programs_that_make_no_sense_are_refused() -> None:
    env: Final = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1])
    keyed = stream.key_by(lambda value: value)
    with pytest.raises(ProgramError, match="call key_by"):
        keyed.interval_join(stream)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="'inner' or 'left' or 'right' or 'full', not 'outer'"):
        keyed.interval_join(keyed, "outer")
    with pytest.raises(ProgramError, match="from 2 to 1 ms is empty"):
        keyed.interval_join(keyed).between(Time.milliseconds(2), Time.milliseconds(1))
    join = keyed.interval_join(keyed).between(Time.milliseconds(1), Time.milliseconds(1))
    with pytest.raises(ProgramError, match="between 1 and 1 ms is empty"):
        join.lower_bound_exclusive().process(Pairs())
    with pytest.raises(ProgramError, match="ProcessJoinFunction"):
        join.process(lambda left, right: (left, right))  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["inner", "full"])
def test_intervals_end_with_the_input_at_the_latest(how: str) -> None:
    with joined(-1_000, 10, how=how) as harness:
        assert harness.process("l", timestamp_ms=MAX_TIMESTAMP) == []
        assert harness.process_second("r", timestamp_ms=MAX_TIMESTAMP - 2_000) == []
        assert harness.process_second("near", timestamp_ms=MAX_TIMESTAMP - 5) == [("l", "near", MAX_TIMESTAMP)]
        unmatched = [(None, "r", MAX_TIMESTAMP - 1_000)] if how == "full" else []
        assert harness.watermark(MAX_TIMESTAMP - 1) == unmatched
        assert harness.watermark(MAX_TIMESTAMP) == []
        assert harness.state("left") == harness.state("right") == {}


def test_a_record_without_a_match_is_known_to_have_none_by_the_end_of_the_input() -> None:
    with joined(0, 10, how="left") as harness:
        harness.process("l", timestamp_ms=MAX_TIMESTAMP - 1)
        assert harness.watermark(MAX_TIMESTAMP) == [("l", None, MAX_TIMESTAMP)]
