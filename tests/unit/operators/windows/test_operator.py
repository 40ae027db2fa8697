"""Window operators: late records, state of windows, own classes, evictors, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pytest

from headgate import options
from headgate.common import Time, Types
from headgate.config import Settings
from headgate.datastream import (
    AllWindowFunction,
    DataStream,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    WindowFunction,
)
from headgate.datastream.functions import PassThroughWindowFunction
from headgate.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from headgate.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindows,
    MergingWindowAssigner,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeEvictor,
    TimestampedValue,
    TimeWindow,
    TumblingEventTimeWindows,
    Window,
    WindowAssigner,
)
from headgate.elements import Batch
from headgate.errors import ProgramError
from headgate.operators.base import UserCodeError
from headgate.testing.harness import OperatorHarness, Setup
from tests.unit.operators.windows import sums

TEN: Final = TumblingEventTimeWindows.of(Time.milliseconds(10))
LATE: Final = OutputTag("late")
NO_CONTEXT: Final[Any] = None


def by_key(record: Any) -> Any:
    return record[0]


class Numbers(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
        yield key, window.max_timestamp(), [number for _, number in inputs]


def harness(build: Callable[[Any], DataStream], backend: str = "hashmap", **rest: Any) -> OperatorHarness:
    setup = Setup(settings=Settings().with_value(options.STATE_BACKEND, backend))
    return OperatorHarness.of_stream(lambda stream: build(stream.key_by(by_key)), setup=setup, **rest)


def add(each: OperatorHarness, *records: Any) -> list[Any]:
    """Process records, whose numbers are their times."""
    return each.process_batch(Batch(list(records), [number for _, number in records])).records


def dropped(each: OperatorHarness) -> int:
    return each.metrics.counter("numLateRecordsDropped").get_count()


# --- late records


def test_late_records_are_counted_and_dropped() -> None:
    with harness(lambda keyed: keyed.window(TEN).apply(Numbers())) as windows:
        add(windows, ("a", 1))
        assert windows.watermark(12) == [("a", 9, [1])]
        add(windows, ("a", 2), ("a", 15), ("b", 9))
        assert windows.watermark(19) == [("a", 19, [15])]
        assert dropped(windows) == 2


def test_late_records_go_to_the_side_output_with_their_timestamps() -> None:
    with harness(lambda keyed: keyed.window(TEN).side_output_late_data(LATE).apply(Numbers())) as windows:
        windows.watermark(12)
        add(windows, ("a", 2), ("a", 15))
        assert windows.side(LATE) == [("a", 2)]
        assert dropped(windows) == 0


def test_a_record_without_a_window_is_only_late_if_its_time_is() -> None:
    class Gone(WindowAssigner[Any, TimeWindow]):
        def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
            return []

        def get_default_trigger(self, env: Any) -> EventTimeTrigger:
            return EventTimeTrigger.create()

        def is_event_time(self) -> bool:
            return True

    with harness(lambda keyed: keyed.window(Gone()).apply(Numbers())) as windows:
        windows.watermark(5)
        add(windows, ("a", 6), ("a", 5))
        assert dropped(windows) == 1


# --- how many are open


def count_open(each: OperatorHarness) -> float:
    (found,) = [report.values[""] for report in each.metrics.report(0.0) if report.name == "numWindowsOpen"]
    return found


@pytest.mark.parametrize(
    "build",
    [
        lambda windowed: windowed.reduce(lambda one, other: one),
        lambda windowed: windowed.apply(Numbers()),
        lambda windowed: windowed.trigger(PurgingTrigger.of(EventTimeTrigger.create())).apply(Numbers()),
    ],
    ids=["combined", "elements", "cells"],
)
def test_windows_are_open_until_they_are_over_whatever_the_number_of_their_keys(build: Any) -> None:
    with harness(lambda keyed: build(keyed.window(TEN))) as windows:
        assert count_open(windows) == 0
        add(windows, ("a", 1), ("b", 2), ("a", 15), ("b", 33))
        assert count_open(windows) == 3
        windows.watermark(12)
        assert count_open(windows) == 2
        windows.watermark(100)
        assert count_open(windows) == 0


@pytest.mark.parametrize(("size", "slide"), [(10, 5), (10, 4), (12, 5)])
def test_overlapping_windows_in_slices_are_open_until_they_are_over(size: int, slide: int) -> None:
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide))
    lateness_ms = 3
    times = [20, 21, 29, 50]

    def build(keyed: Any) -> DataStream:
        windowed = keyed.window(assigner).allowed_lateness(lateness_ms)
        return windowed.reduce(lambda one, other: one)  # type: ignore[no-any-return]

    ends = {window.end for time in times for window in assigner.assign_windows(None, time, NO_CONTEXT)}
    with harness(build) as windows:
        add(windows, *[("a", time) for time in times])
        for watermark_ms in range(0, 80, 3):
            windows.watermark(watermark_ms)
            assert count_open(windows) == sum(end - 1 + lateness_ms > watermark_ms for end in ends)


def test_windows_with_timers_are_not_counted_on_rocksdb() -> None:
    trigger = PurgingTrigger.of(EventTimeTrigger.create())
    with harness(lambda keyed: keyed.window(TEN).trigger(trigger).apply(Numbers()), backend="rocksdb") as windows:
        add(windows, ("a", 1))
        assert [report.name for report in windows.metrics.report(0.0)] == ["numLateRecordsDropped"]


# --- what functions are given


class Counting(ProcessWindowFunction[Any, Any, Any, TimeWindow]):
    """Counts how often each window was evaluated, and how many windows the key had."""

    of_window: Final = ValueStateDescriptor("of window", Types.LONG())
    of_key: Final = ReducingStateDescriptor("of key", lambda one, other: one + other, Types.LONG())

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        times = context.window_state().get_state(self.of_window)
        times.update((times.value() or 0) + 1)
        windows = context.global_state().get_reducing_state(self.of_key)
        windows.add(1)
        yield key, context.window().start, times.value(), windows.get(), context.current_watermark()

    def clear(self, context: Any) -> None:
        context.window_state().get_state(self.of_window).clear()


@pytest.mark.parametrize("backend", ["hashmap", pytest.param("rocksdb", marks=pytest.mark.slow)])
def test_a_function_has_state_of_the_window_and_of_the_key(backend: str) -> None:
    def build(keyed: Any) -> DataStream:
        stream: DataStream = keyed.window(TEN).allowed_lateness(20).process(Counting())
        return stream

    with harness(build, backend) as windows:
        add(windows, ("a", 1), ("b", 2), ("a", 11))
        assert sorted(windows.watermark(19)) == [("a", 0, 1, 1, 19), ("a", 10, 1, 2, 19), ("b", 0, 1, 1, 19)]
        assert add(windows, ("a", 3)) == [("a", 0, 2, 3, 19)]
        assert windows.watermark(60) == []
        saved = windows.snapshot()
    with harness(build, backend, restored=[saved]) as windows:
        windows.watermark(60)
        assert windows.state("of window") == windows.state("window-contents") == {}
        assert windows.state("_timers/event") == {}
        assert windows.state("of key") == {"a": 3, "b": 1}


def test_windows_that_merge_have_no_state_of_their_own() -> None:
    with harness(lambda keyed: keyed.window(EventTimeSessionWindows(5)).process(Counting())) as windows:
        add(windows, ("a", 1))
        with pytest.raises(UserCodeError) as caught:
            windows.watermark(9)
    assert caught.value.key == "a"
    assert "windows that merge do not have: use context.global_state()" in str(caught.value.__cause__)


class Sum(sums.Sum):
    opened = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        type(self).opened += 1

    def merge(self, acc_a: int, acc_b: int) -> int:
        raise AssertionError("only windows that merge have accumulators merged")


class Total(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


class Labelled(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield key, context.window().end, *elements


class Doubled(PassThroughWindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
        yield from (2 * value for value in inputs)


class AllLabelled(ProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield context.window().end, *elements


class AllNumbers(AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Iterable[Any]) -> list[Any]:
        return [(window.end, number) for _, number in inputs]


@pytest.mark.parametrize(
    ("evaluate", "results"),
    [
        (lambda windows: windows.reduce(Total()), [("a", 4)]),
        (lambda windows: windows.reduce(lambda one, other: other), [("a", 3)]),
        (lambda windows: windows.reduce(Total(), Labelled()), [("a", 10, ("a", 4))]),
        (lambda windows: windows.aggregate(Sum()), [4]),
        (lambda windows: windows.aggregate(Sum(), Doubled()), [8]),
        (lambda windows: windows.aggregate(Sum(), Labelled(), Types.LONG()), [("a", 10, 4)]),
        (lambda windows: windows.apply(Numbers()), [("a", 9, [1, 3])]),
        (lambda windows: windows.process(Labelled()), [("a", 10, ("a", 1), ("a", 3))]),
        (lambda windows: windows.sum(1), [("a", 4)]),
        (lambda windows: windows.min(1), [("a", 1)]),
        (lambda windows: windows.max(1), [("a", 3)]),
        (lambda windows: windows.min_by(1), [("a", 1)]),
        (lambda windows: windows.max_by(1), [("a", 3)]),
    ],
)
def test_what_windows_of_keys_emit(evaluate: Callable[[Any], DataStream], results: list[Any]) -> None:
    with harness(lambda keyed: evaluate(keyed.window(TEN))) as windows:
        add(windows, ("a", 1), ("a", 3))
        assert windows.watermark(9) == results


@pytest.mark.parametrize(
    ("evaluate", "results"),
    [
        (lambda windows: windows.reduce(Total()), [("a", 4)]),
        (lambda windows: windows.reduce(Total(), AllLabelled()), [(10, ("a", 4))]),
        (lambda windows: windows.aggregate(Sum(), AllLabelled()), [(10, 4)]),
        (lambda windows: windows.apply(AllNumbers()), [(10, 1), (10, 3)]),
        (lambda windows: windows.process(AllLabelled()), [(10, ("a", 1), ("b", 3))]),
        (lambda windows: windows.sum(1), [("a", 4)]),
    ],
)
def test_what_windows_of_all_records_emit(evaluate: Callable[[Any], DataStream], results: list[Any]) -> None:
    with OperatorHarness.of_stream(lambda stream: evaluate(stream.window_all(TEN))) as windows:
        add(windows, ("a", 1), ("b", 3))
        assert windows.watermark(9) == results


def test_results_have_the_last_timestamp_of_their_window() -> None:
    with harness(lambda keyed: keyed.window(TEN).allowed_lateness(9).apply(Numbers())) as windows:
        add(windows, ("a", 1))
        windows.watermark(12)
        late = windows.process_batch(Batch([("a", 2)], [2]))
        assert (late.records, late.timestamps) == ([("a", 9, [1, 2])], [9])


@pytest.mark.parametrize(
    ("slide", "expected", "left"),
    [
        (0, [[1, 2, 3], [4, 5, 6]], []),
        (1, [[1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]], [5, 6, 6]),
        (2, [[1, 2, 3], [3, 4, 5]], [5, 6]),
        (4, [[1, 2, 3]], [5, 6]),
    ],
)
def test_windows_of_a_number_of_records_keep_nothing_once_they_are_full(
    slide: int, expected: list[list[int]], left: list[int]
) -> None:
    with harness(lambda keyed: keyed.count_window(3, slide).apply(Numbers())) as windows:
        out = add(windows, *(("a", number) for number in range(1, 7)))
        assert [numbers for _, _, numbers in out] == expected
        kept = windows.state("window-contents")
    assert [number for numbers in kept.values() for _, number in numbers] == left


def test_a_count_window_goes_by_the_time_of_the_record_that_fills_it() -> None:
    with harness(lambda keyed: keyed.count_window(2).apply(Numbers())) as windows:
        assert windows.process_batch(Batch([("a", 1), ("a", 2), ("a", 3)], [1, 2, 3])).timestamps == [2]


# --- evictors


class Odd(Evictor[Any, Window]):
    def evict_before(self, elements: list[TimestampedValue[Any]], size: int, window: Window, ctx: Any) -> None:
        assert len(elements) == size
        elements[:] = [element for element in elements if element.value[1] % 2]


@pytest.mark.parametrize(
    ("evictor", "expected"),
    [
        (CountEvictor.of(2), [[1], [1, 2], [2, 5], [5, 3]]),
        (CountEvictor.of(2, do_evict_after=True), [[1], [1, 2], [1, 2, 5], [2, 5, 3]]),
        (CountEvictor.of(0), []),
        (TimeEvictor.of(Time.milliseconds(3)), [[1], [1, 2], [5], [5, 3]]),
        (DeltaEvictor.of(3, lambda old, new: new[1] - old[1]), [[1], [1, 2], [5], [5, 3]]),
        (Odd(), [[1], [1], [1, 5], [1, 5, 3]]),
    ],
)
def test_an_evictor_removes_records_for_good(evictor: Evictor[Any, Any], expected: list[list[int]]) -> None:
    def build(keyed: Any) -> DataStream:
        at_each = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(1))
        stream: DataStream = at_each.evictor(evictor).apply(Numbers())
        return stream

    with harness(build) as windows:
        out = [result for number in (1, 2, 5, 3) for result in add(windows, ("a", number))]
    assert [numbers for _, _, numbers in out] == expected


def test_a_window_whose_records_are_all_evicted_is_empty() -> None:
    class Below(Evictor[Any, Window]):
        def evict_before(self, elements: list[TimestampedValue[Any]], size: int, window: Window, ctx: Any) -> None:
            if sum(element.value[1] for element in elements) < 10:
                elements.clear()

    def build(keyed: Any) -> DataStream:
        at_each = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(1))
        stream: DataStream = at_each.evictor(Below()).apply(Numbers())
        return stream

    with harness(build) as windows:
        assert add(windows, ("a", 4), ("a", 8)) == []
        assert windows.state("window-contents") == {}
        assert [numbers for _, _, numbers in add(windows, ("a", 12))] == [[12]]


@pytest.mark.parametrize(
    ("evaluate", "expected"),
    [(lambda windows: windows.sum(1), ("a", 7)), (lambda windows: windows.aggregate(Sum()), 7)],
)
def test_what_an_evictor_leaves_is_combined(evaluate: Callable[[Any], DataStream], expected: Any) -> None:
    with harness(lambda keyed: evaluate(keyed.window(TEN).evictor(CountEvictor.of(2)))) as windows:
        add(windows, ("a", 1), ("a", 3), ("a", 4))
        assert windows.watermark(9) == [expected]


# --- classes of the program


class Shift(TimeWindow):
    """A window with a name."""

    def __init__(self, start: int, end: int, name: str) -> None:
        super().__init__(start, end)
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shift) and (self.start, self.name) == (other.start, other.name)

    def __hash__(self) -> int:
        return hash((self.start, self.name))


class Shifts(WindowAssigner[Any, Shift]):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[Shift]:
        return [Shift(0, 10, "day")] if timestamp < 10 else [Shift(10, 24, "night")]

    def get_default_trigger(self, env: Any) -> EventTimeTrigger:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


@pytest.mark.parametrize("backend", ["hashmap", pytest.param("rocksdb", marks=pytest.mark.slow)])
def test_windows_may_be_of_a_class_of_the_program(backend: str) -> None:
    class Names(WindowFunction[Any, Any, Any, Shift]):
        def apply(self, key: Any, window: Shift, inputs: Iterable[Any]) -> Iterator[Any]:
            yield key, window.name, len(list(inputs))

    def build(keyed: Any) -> DataStream:
        stream: DataStream = keyed.window(Shifts()).apply(Names())
        return stream

    with harness(build, backend) as windows:
        add(windows, ("a", 1), ("a", 2), ("b", 12))
        saved = windows.snapshot()
    with harness(build, backend, restored=[saved]) as windows:
        add(windows, ("a", 3))
        assert windows.watermark(9) == [("a", "day", 3)]
        assert windows.watermark(30) == [("b", "night", 1)]


class Hours(MergingWindowAssigner[Any, TimeWindow]):
    """Merges windows into one that ends too soon."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + 10)]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        found = list(windows)
        if len(found) > 1:
            callback.merge(found, TimeWindow(0, 1))

    def get_default_trigger(self, env: Any) -> EventTimeTrigger:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


def test_windows_that_become_one_that_is_over_are_refused() -> None:
    with harness(lambda keyed: keyed.window(Hours()).apply(Numbers())) as windows:
        windows.watermark(5)
        add(windows, ("a", 6))
        with pytest.raises(UserCodeError) as caught:
            add(windows, ("a", 7))
    assert caught.value.record == ("a", 7)
    assert "merge_windows() of Hours made TimeWindow(start=0, end=1), which ends before the watermark" in str(
        caught.value.__cause__
    )


# --- errors


def _any(value: Any) -> Any:
    return value


def test_records_without_timestamps_have_no_windows_of_event_time() -> None:
    windows = harness(lambda keyed: keyed.window(TEN).apply(Numbers()))
    with windows, pytest.raises(UserCodeError) as caught:
        windows.process(("a", 1))
    assert "call assign_timestamps_and_watermarks(" in str(caught.value.__cause__)


class Failing(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        return 1 / 0 if key == "b" else 5


@pytest.mark.parametrize(("key", "message"), [("b", "division by zero"), ("a", "process\\(\\) returned 5")])
def test_a_function_that_fails_is_named_with_the_key(key: str, message: str) -> None:
    with harness(lambda keyed: keyed.window(TEN).process(Failing())) as windows:
        add(windows, (key, 1))
        with pytest.raises(UserCodeError, match="the timer of a window") as caught:
            windows.watermark(9)
    assert caught.value.key == key
    with pytest.raises(Exception, match=message):
        raise caught.value.__cause__ or AssertionError


class Forgetful(Sum):
    def add(self, value: Any, accumulator: int) -> Any:
        super().add(value, accumulator)


@pytest.mark.parametrize("lateness", [0, 5])
@pytest.mark.parametrize("count", [1, 2])
def test_an_aggregate_function_that_returns_no_accumulator_is_named(count: int, lateness: int) -> None:
    windows = harness(lambda keyed: keyed.window(TEN).allowed_lateness(lateness).aggregate(Forgetful()))
    with windows, pytest.raises(UserCodeError) as caught:  # noqa: PT012  # either will do
        add(windows, *[("a", 1)] * count)
        windows.watermark(9)
    assert "add() of Forgetful returned None; return the accumulator" in str(caught.value.__cause__)


def test_a_combination_that_is_none_is_none_at_all() -> None:
    with harness(lambda keyed: keyed.window(TEN).reduce(lambda one, other: None)) as windows:
        add(windows, ("a", 1), ("a", 2), ("a", 3), ("b", 4), ("b", 5))
        assert windows.watermark(9) == [("a", 3)]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda keyed: keyed.window(5), r"takes a WindowAssigner, such as .*, not 5"),
        (lambda keyed: keyed.window(TEN).trigger("end"), r"takes a Trigger, such as .*, not 'end'"),
        (lambda keyed: keyed.window(TEN).evictor(len), r"takes an Evictor, such as"),
        (lambda keyed: keyed.window(TEN).allowed_lateness(-1), r"at least 0, not -1"),
        (
            lambda keyed: keyed.window(TEN).side_output_late_data("late"),
            r"side_output_late_data\(\) takes an OutputTag",
        ),
        (lambda keyed: keyed.window(TEN).apply(Labelled()), r"takes a WindowFunction, but Labelled is a Process"),
        (lambda keyed: keyed.window(TEN).process(Numbers), r"given the class Numbers itself"),
        (lambda keyed: keyed.window(TEN).process(lambda key, context, elements: []), r"takes a ProcessWindowFunction"),
        (lambda keyed: keyed.window(TEN).reduce(Sum()), r"takes a ReduceFunction, but Sum is an AggregateFunction"),
        (lambda keyed: keyed.window(TEN).aggregate(Total()), r"takes an AggregateFunction, but Total"),
        (lambda keyed: keyed.window(TEN).reduce(Total(), AllLabelled()), r"must be a WindowFunction or a Process"),
        (lambda keyed: keyed.window_all(TEN).apply(Numbers()), r"takes an AllWindowFunction, but Numbers"),
        (lambda keyed: TumblingEventTimeWindows.of(_any(10)), r"a length of time such as Time.minutes\(5\), not 10"),
        (lambda keyed: TumblingEventTimeWindows(10, 10), r"an offset of whole ms that is shorter than 10 ms"),
        (lambda keyed: TumblingEventTimeWindows(0, 0), r"more than 0 ms"),
        (lambda keyed: EventTimeSessionWindows(0), r"a gap of more than 0 ms"),
        (lambda keyed: keyed.count_window(0), r"at least 1"),
    ],
)
def test_what_is_no_window_is_refused_when_the_program_is_built(build: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        harness(build)


# --- snapshots


@pytest.mark.parametrize("evaluate", [lambda windows: windows.sum(1), lambda windows: windows.apply(Numbers())])
def test_an_increment_tells_that_windows_were_evaluated(evaluate: Callable[[Any], DataStream]) -> None:
    def build(stream: Any) -> DataStream:
        return evaluate(stream.key_by(by_key).window(TEN).allowed_lateness(20))

    setup = Setup(settings=Settings().with_value(options.CHECKPOINT_INCREMENTAL, True))
    with OperatorHarness.of_stream(build, setup=setup) as windows:
        add(windows, *((f"k{number}", number % 10) for number in range(40)))
        windows.snapshot()
        windows.complete()
        assert len(windows.watermark(9)) == 40
        saved = windows.snapshot()
    with OperatorHarness.of_stream(build, setup=setup, restored=[saved]) as windows:
        assert windows.watermark(9) == []
        assert len(add(windows, ("k3", 5))) == 1
        assert windows.watermark(99) == []
        assert windows.state("window-contents") == {}
