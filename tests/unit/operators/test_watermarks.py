"""Timestamps and watermarks: by the strategies that there are, and by generators of one's own."""

from __future__ import annotations

import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.connectors.collection import CollectionSource
from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Batch, Flow, Watermark, WatermarkStatus
from headgate.errors import ProgramError
from headgate.functions.source import EndOfInput, NotReady
from headgate.functions.watermarks import TimestampAssigner, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from headgate.operators.base import UserCodeError
from headgate.operators.source import SourceFactory
from headgate.operators.watermarks import AssignFactory
from headgate.testing.harness import OperatorHarness, Setup
from headgate.types.instant import Duration
from tests.compiled import compiled_module
from tests.leaks import check_nothing_is_left

IDLE = WatermarkStatus(idle=True)
ACTIVE = WatermarkStatus(idle=False)
INTERVAL_MS = 200
SECOND = Duration.of_seconds(1)
MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()


class Second(TimestampAssigner):
    """Takes the second field."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]  # type: ignore[no-any-return]


def told(elements: list[Flow]) -> list[Any]:
    return [element.records if isinstance(element, Batch) else element for element in elements]


def opened(strategy: WatermarkStrategy) -> OperatorHarness:
    harness = OperatorHarness(AssignFactory(strategy))
    harness.open()
    return harness


def mark(harness: OperatorHarness, *records: Any, times: list[int] | None = None) -> list[Any]:
    return told(harness.operator.mark(Batch(list(records), times)))


def tick_after(harness: OperatorHarness, wait_ms: float) -> list[Any]:
    """Let time pass as in a slot: the operator is called whenever it wants to be."""
    until_ms = harness.clock.monotonic_ms() + wait_ms
    out: list[Flow] = []
    while (wake_ms := harness.operator.wake_ms) is not None and wake_ms <= until_ms:
        harness.clock.advance_to(wake_ms)
        out += harness.operator.tick(wake_ms)
    harness.clock.advance_to(until_ms)
    return told(out)


# --- timestamps


def test_an_assigner_gives_the_timestamps_and_sees_those_of_before() -> None:
    seen: list[int] = []

    def assign(value: int, record_timestamp: int) -> int:
        seen.append(record_timestamp)
        return value * 10

    operator = opened(WatermarkStrategy.no_watermarks().with_timestamp_assigner(assign)).operator
    batch = operator.mark(Batch([1, 2], [7, 8]))[0]
    assert isinstance(batch, Batch)
    assert (batch.records, batch.timestamps) == ([1, 2], [10, 20])
    operator.mark(Batch([3]))
    assert seen == [7, 8, MIN_TIMESTAMP]


def test_without_an_assigner_timestamps_stay() -> None:
    batch = opened(MONOTONOUS).operator.mark(Batch([1], [7]))[0]
    assert isinstance(batch, Batch)
    assert batch.timestamps == [7]


@pytest.mark.parametrize("wrong", [None, 1.5, "12", 2**63])
def test_what_is_no_timestamp_names_the_record(wrong: Any) -> None:
    harness = opened(MONOTONOUS.with_timestamp_assigner(Second()))
    with pytest.raises(UserCodeError) as caught:
        mark(harness, ("a", 1), ("b", wrong))
    assert caught.value.record == ("b", wrong)
    assert isinstance(caught.value.__cause__, ProgramError)
    assert repr(wrong) in str(caught.value.__cause__)


class Whole:
    """A whole number of another type, such as numpy has."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def test_whole_numbers_of_other_types_are_timestamps_and_watermarks_too() -> None:
    class EachRecord(WatermarkGenerator):
        def on_event(self, event: Any, timestamp_ms: int, output: WatermarkOutput) -> None:
            output.emit_watermark(event)

    for strategy, reached in ((MONOTONOUS, 6), (WatermarkStrategy.for_generator(EachRecord), 7)):
        harness = opened(strategy.with_timestamp_assigner(lambda value, _: value))
        batch, *marked = harness.operator.mark(Batch([Whole(7)]))
        assert isinstance(batch, Batch)
        assert batch.timestamps is not None
        assert type(batch.timestamps[0]) is int
        assert [*marked, *tick_after(harness, INTERVAL_MS)] == [Watermark(reached)]


def test_an_error_of_an_assigner_names_the_record() -> None:
    harness = opened(MONOTONOUS.with_timestamp_assigner(Second()))
    with pytest.raises(UserCodeError) as caught:
        mark(harness, ("a", 1), ("b",), ("c", 2))
    assert caught.value.record == ("b",)
    assert isinstance(caught.value.__cause__, IndexError)


# --- periodic watermarks


def test_event_time_follows_the_greatest_timestamp_every_interval() -> None:
    harness = opened(MONOTONOUS)
    assert mark(harness, "a", "b", times=[5, 3]) == [["a", "b"]]
    assert tick_after(harness, INTERVAL_MS - 1) == []
    assert tick_after(harness, 1) == [Watermark(4)]
    assert tick_after(harness, 10 * INTERVAL_MS) == []
    mark(harness, "c", times=[4])
    mark(harness, "d", times=[9])
    assert tick_after(harness, INTERVAL_MS) == [Watermark(8)]


def test_the_bound_keeps_event_time_back() -> None:
    harness = opened(WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(100)))
    mark(harness, "a", times=[1000])
    assert tick_after(harness, INTERVAL_MS) == [Watermark(899)]


def test_no_watermarks_are_made_without_timestamps_or_by_the_strategy_that_makes_none() -> None:
    for strategy in (MONOTONOUS, WatermarkStrategy.no_watermarks().with_timestamp_assigner(Second())):
        harness = opened(strategy)
        mark(harness, ("a", 5))
        assert tick_after(harness, 1000) == []


def test_after_the_end_the_operator_does_nothing_by_itself() -> None:
    harness = opened(MONOTONOUS.with_idleness(Duration.of_seconds(1)))
    mark(harness, "a", times=[5])
    assert harness.operator.advance(MAX_TIMESTAMP, 100) is None
    assert harness.operator.wake_ms is None


# --- idleness


def test_a_stream_without_records_is_idle_after_the_timeout_and_active_at_the_next_record() -> None:
    harness = opened(MONOTONOUS.with_idleness(Duration.of_millis(1000)))
    mark(harness, "a", times=[5])
    assert tick_after(harness, 999) == [Watermark(4)]
    assert tick_after(harness, 1) == [IDLE]
    assert tick_after(harness, 5000) == []
    assert mark(harness, "b", times=[9]) == [ACTIVE, ["b"]]
    assert tick_after(harness, 999) == [Watermark(8)]
    assert tick_after(harness, 1) == [IDLE]


def test_a_stream_that_never_had_a_record_is_idle_too_also_without_watermarks() -> None:
    for strategy in (MONOTONOUS, WatermarkStrategy.no_watermarks()):
        assert tick_after(opened(strategy.with_idleness(Duration.of_millis(300))), 300) == [IDLE]


def test_records_keep_a_stream_active() -> None:
    harness = opened(WatermarkStrategy.no_watermarks().with_idleness(Duration.of_millis(1000)))
    for _ in range(5):
        assert tick_after(harness, 900) == []
        mark(harness, "a")


def test_time_in_which_the_subtask_was_held_up_is_not_idleness() -> None:
    harness = opened(MONOTONOUS.with_idleness(Duration.of_millis(1000)))
    mark(harness, "a", times=[5])
    harness.clock.advance(10_000)
    assert told(harness.operator.tick(harness.clock.monotonic_ms())) == [Watermark(4)]
    assert tick_after(harness, 999) == []
    assert tick_after(harness, 1) == [IDLE]


# --- generators of one's own


class AtMarkers(WatermarkGenerator):
    """A watermark behind each record that is a negative number, and one every period."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, int]] = []

    def on_event(self, event: Any, timestamp_ms: int, output: WatermarkOutput) -> None:
        self.events.append((event, timestamp_ms))
        if event == "idle":
            output.mark_idle()
        elif event < 0:
            output.emit_watermark(-event)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(len(self.events))


OWN = WatermarkStrategy.for_generator(AtMarkers)


def test_a_watermark_of_ones_own_comes_directly_behind_its_record() -> None:
    assert mark(opened(OWN), 1, -10, 2, 3, -20, 4) == [[1, -10], Watermark(10), [2, 3, -20], Watermark(20), [4]]
    assert mark(opened(OWN), -10) == [[-10], Watermark(10)]
    assert mark(opened(OWN), 1, 2) == [[1, 2]]


def test_cut_batches_keep_their_timestamps() -> None:
    out = opened(OWN).operator.mark(Batch([-1, 2], [70, 80]))
    assert [element.timestamps for element in out if isinstance(element, Batch)] == [[70], [80]]


def test_a_watermark_that_does_not_rise_is_ignored_and_cuts_nothing() -> None:
    assert mark(opened(OWN), -10, -5, -10, 1, -11) == [[-10], Watermark(10), [-5, -10, 1, -11], Watermark(11)]


def test_a_generator_may_emit_periodically_and_say_that_it_is_idle() -> None:
    harness = opened(OWN)
    assert mark(harness, 1, 2, "idle", 3) == [[1, 2, "idle"], IDLE, [3]]
    assert tick_after(harness, INTERVAL_MS) == [ACTIVE, Watermark(4)]


def test_a_generator_cannot_end_event_time() -> None:
    assert mark(opened(OWN), -MAX_TIMESTAMP)[1] == Watermark(MAX_TIMESTAMP - 1)


def test_an_error_of_a_generator_names_the_record() -> None:
    with pytest.raises(UserCodeError) as caught:
        mark(opened(OWN), 1, "two", 3)
    assert caught.value.record == "two"


class Broken(WatermarkGenerator):
    """Emits what is no watermark."""

    def on_event(self, event: Any, timestamp_ms: int, output: WatermarkOutput) -> None:
        output.emit_watermark(1.5)  # type: ignore[arg-type]

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        raise RuntimeError("no")


def test_what_is_no_watermark_is_refused_and_what_a_period_raises_is_reported() -> None:
    harness = opened(WatermarkStrategy.for_generator(Broken))
    with pytest.raises(UserCodeError) as caught:
        mark(harness, "a")
    assert "1.5" in "".join(traceback.format_exception(caught.value))
    with pytest.raises(UserCodeError, match="on_periodic_emit"):
        tick_after(harness, INTERVAL_MS)


def test_a_supplier_that_makes_no_generator_is_refused() -> None:
    with pytest.raises(UserCodeError) as caught:
        opened(WatermarkStrategy.for_generator(lambda: None))  # type: ignore[arg-type, return-value]
    assert "WatermarkGenerator" in "".join(traceback.format_exception(caught.value))


# --- in a source


def test_a_source_with_a_strategy_marks_what_it_polled() -> None:
    source = CollectionSource([("a", 5), ("b", 9)])
    factory = SourceFactory(source, MONOTONOUS.with_timestamp_assigner(Second()))
    with OperatorHarness(factory, setup=Setup(splits=tuple(source.splits(1)))) as harness:
        reader: Any = harness.operator
        polled = reader.poll(10)
        assert not isinstance(polled, (NotReady, EndOfInput))
        (batch,) = reader.mark(polled)
        assert batch.timestamps == [5, 9]
        assert tick_after(harness, INTERVAL_MS) == [Watermark(8)]


# --- what is refused


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: WatermarkStrategy.for_bounded_out_of_orderness(5), "takes a Duration"),  # type: ignore[arg-type]
        (lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1)), "negative"),
        (lambda: MONOTONOUS.with_idleness(Duration.of_millis(0)), "above zero"),
        (lambda: MONOTONOUS.with_timestamp_assigner(Second), "an instance"),  # type: ignore[arg-type]
        (lambda: WatermarkStrategy.for_generator(AtMarkers()), "such as its class"),  # type: ignore[arg-type]
        (lambda: MONOTONOUS.with_watermark_alignment("", SECOND), "the name of a group, a text that is not empty"),
        (lambda: MONOTONOUS.with_watermark_alignment(None, SECOND), "the name of a group"),  # type: ignore[arg-type]
        (lambda: MONOTONOUS.with_watermark_alignment("g", 5), "takes a Duration"),  # type: ignore[arg-type]
        (lambda: MONOTONOUS.with_watermark_alignment("g", Duration.of_millis(-1)), "drift .* must not be negative"),
        (lambda: MONOTONOUS.with_watermark_alignment("g", SECOND, Duration.of_millis(0)), "interval .* above zero"),
    ],
)
def test_a_strategy_is_checked_when_it_is_made(make: Any, says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        make()


# --- compiled

NUMBERS = st.integers(-3, 3) | st.integers() | st.sampled_from([2**63, 2**63 - 1, -(2**63), True, 1.5, float("nan")])


@given(st.lists(NUMBERS, min_size=1, max_size=8), st.sampled_from([list, tuple, iter]))
def test_the_greatest_timestamp_is_found_as_in_python(numbers: list[Any], kind: Any) -> None:
    assert compiled_module().greatest(kind(numbers)) is max(numbers)


@pytest.mark.parametrize("wrong", [[], 5, [1, "a"], ["a", 1]])
def test_no_numbers_have_no_greatest_one(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as in_python:
        max(wrong)
    with pytest.raises(in_python.type):
        compiled_module().greatest(wrong)


def test_looking_for_the_greatest_leaves_no_reference_behind() -> None:
    greatest, number = compiled_module().greatest, 10**6

    def work() -> None:
        greatest([1, number, 2**70, number])
        greatest(iter([number, 1]))
        with pytest.raises(TypeError):
            greatest([number, "a"])

    check_nothing_is_left(work, 50, [number])
