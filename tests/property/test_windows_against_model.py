"""Windows against lists: any records, in any order, any watermarks, over snapshots and other parallelisms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.datastream import AggregateFunction, DataStream, ProcessWindowFunction
from headgate.datastream.window import (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tests.property.subtasks import LATE, Subtasks
from tests.property.window_model import BEFORE_ALL, Record, Result, SessionModel, SlidingModel, WindowModel, by_window
from tests.sample_size import sample_size

Advance = int
Step = Record | Advance | str
"""A record, a watermark, "restart" or "rescale", or a checkpoint: completed, given up, or under way for a while."""


@final
class Collect(ProcessWindowFunction[Any, Result, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Any]
    ) -> Iterator[Result]:
        window = context.window()
        yield key, window.start, window.end, tuple(number for _, number, _ in elements)


class Numbers(AggregateFunction):
    """Gathers numbers in a list, which it changes in place."""

    mergeable = True

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Record, accumulator: list[int]) -> list[int]:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return list(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


@final
class Unmergeable(Numbers):
    """Says nothing of `merge`."""

    mergeable = False


@final
class Emit(ProcessWindowFunction[Any, Result, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[list[int]]
    ) -> Iterator[Result]:
        window = context.window()
        for numbers in elements:
            yield key, window.start, window.end, tuple(numbers)


def _elements(windowed: Any) -> DataStream:
    stream: DataStream = windowed.process(Collect())
    return stream


def _aggregated(windowed: Any) -> DataStream:
    stream: DataStream = windowed.aggregate(Numbers(), Emit())
    return stream


def _not_merged(windowed: Any) -> DataStream:
    stream: DataStream = windowed.aggregate(Unmergeable(), Emit())
    return stream


def _reduced(windowed: Any) -> DataStream:
    """Records are lists of numbers here, too, so that they can be added."""
    stream: DataStream = windowed.reduce(lambda one, other: (one[0], (*_numbers(one), *_numbers(other)), 0), Reduced())
    return stream


def _numbers(record: Any) -> tuple[int, ...]:
    return record[1] if isinstance(record[1], tuple) else (record[1],)


@final
class Reduced(ProcessWindowFunction[Any, Result, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Any]
    ) -> Iterator[Result]:
        window = context.window()
        for record in elements:
            yield key, window.start, window.end, _numbers(record)


TIMES: Final = st.integers(-12, 30)
STEPS: Final = st.lists(
    st.one_of(
        st.lists(st.tuples(st.sampled_from("abc"), TIMES), min_size=1, max_size=6),
        st.lists(st.tuples(st.sampled_from("abc"), TIMES), min_size=1, max_size=6),
        st.integers(-15, 40),
        st.sampled_from(["restart", "rescale", "savepoint", "complete", "abort", "begin", "complete"]),
    ),
    max_size=16,
)


@st.composite
def sliding(draw: st.DrawFn) -> tuple[Any, WindowModel]:
    slide = draw(st.integers(1, 8))
    size = draw(st.one_of(st.just(slide), st.integers(1, 12)))
    return _sliding(draw, size, slide)


def _sliding(draw: st.DrawFn, size: int, slide: int) -> tuple[Any, WindowModel]:
    offset, lateness = draw(st.integers(1 - slide, slide - 1)), draw(st.sampled_from([0, 0, 3, 10]))
    model = SlidingModel(lateness, size=size, slide=slide, offset=offset)
    return SlidingEventTimeWindows(size, slide, offset), model


@st.composite
def sessions(draw: st.DrawFn) -> tuple[Any, WindowModel]:
    gap, lateness = draw(st.integers(1, 8)), draw(st.sampled_from([0, 0, 3, 10]))
    if draw(st.booleans()):
        return EventTimeSessionWindows(gap), SessionModel(lateness, gap_of=lambda record: gap)
    of_number = OwnGap(gap)
    return EventTimeSessionWindows.with_dynamic_gap(of_number), SessionModel(lateness, gap_of=of_number.extract)


@final
class OwnGap(SessionWindowTimeGapExtractor):
    """A gap that depends on the number of the record."""

    def __init__(self, most: int) -> None:
        self.most = most

    def extract(self, element: Record) -> int:
        return 1 + element[1] % self.most


@st.composite
def tumbling(draw: st.DrawFn) -> tuple[Any, WindowModel]:
    size = draw(st.integers(6, 12))
    lateness = draw(st.sampled_from([0, 3, 10]))
    return TumblingEventTimeWindows(size, 0), SlidingModel(lateness, size=size, slide=size)


@final
@dataclass(frozen=True)
class Storage:
    """Where state lies, and how snapshots are written. The cache is that of RocksDB, None for its usual size."""

    backend: str
    incremental: bool
    changelog: bool = False
    cache_bytes: int | None = None


STORAGES: Final = st.one_of(
    st.builds(Storage, st.just("hashmap"), st.booleans(), st.booleans()),
    st.builds(Storage, st.just("rocksdb"), st.booleans(), st.booleans(), st.sampled_from([1, 3_000, 6_000, None])),
)


@pytest.mark.slow
@pytest.mark.parametrize("evaluate", [_elements, _aggregated, _reduced])
@settings(max_examples=sample_size(300, at_most=25), deadline=None)
@given(
    windows=tumbling(),
    steps=st.lists(
        st.one_of(
            st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 24)), min_size=1, max_size=4),
            st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 24)), min_size=1, max_size=4),
            st.sampled_from(["restart", "rescale", "savepoint", "complete", "abort", "begin", "complete"]),
            st.sampled_from(["restart", "complete", "begin", "complete"]),
            st.integers(0, 40),
        ),
        min_size=6,
        max_size=20,
    ),
    storage=STORAGES,
)
def test_panes_hold_what_lists_would(
    evaluate: Callable[[Any], DataStream], windows: tuple[Any, WindowModel], steps: list[Any], storage: Storage
) -> None:
    compare(Windowed(windows, evaluate, storage), steps)


@st.composite
def overlapping(draw: st.DrawFn) -> tuple[Any, WindowModel]:
    slide = draw(st.integers(1, 4))
    return _sliding(draw, draw(st.integers(slide + 1, 12)), slide)


@pytest.mark.slow
@pytest.mark.parametrize("evaluate", [_elements, _aggregated, _not_merged, _reduced])
@settings(max_examples=sample_size(300, at_most=25), deadline=None)
@given(
    windows=overlapping(),
    steps=st.lists(
        st.one_of(
            st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 40)), min_size=1, max_size=6),
            st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 40)), min_size=1, max_size=6),
            st.sampled_from(["restart", "rescale", "savepoint", "complete", "abort", "begin", "complete"]),
            st.integers(0, 50),
            st.integers(0, 50),
        ),
        min_size=6,
        max_size=24,
    ),
    storage=STORAGES,
)
def test_slices_hold_what_lists_would(
    evaluate: Callable[[Any], DataStream], windows: tuple[Any, WindowModel], steps: list[Any], storage: Storage
) -> None:
    compare(Windowed(windows, evaluate, storage), steps)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("evaluate", [_elements, _aggregated, _reduced])
@settings(max_examples=sample_size(150, at_most=15), deadline=None)
@given(
    windows=sessions(),
    steps=st.lists(
        st.one_of(
            st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 60)), min_size=1, max_size=6),
            st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 60)), min_size=1, max_size=6),
            st.sampled_from(["restart", "rescale", "savepoint", "complete", "abort", "begin", "complete"]),
            st.integers(0, 75),
            st.integers(0, 75),
        ),
        min_size=6,
        max_size=24,
    ),
    incremental=st.booleans(),
)
def test_sessions_hold_what_lists_would(
    backend: str,
    evaluate: Callable[[Any], DataStream],
    windows: tuple[Any, WindowModel],
    steps: list[Any],
    incremental: bool,
) -> None:
    compare(Windowed(windows, evaluate, Storage(backend, incremental)), steps)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("evaluate", [_elements, _aggregated, _reduced])
@settings(max_examples=sample_size(60), deadline=None)
@given(windows=st.one_of(sliding(), sliding(), sessions()), steps=STEPS, incremental=st.booleans())
def test_windows_hold_what_lists_would(
    backend: str,
    evaluate: Callable[[Any], DataStream],
    windows: tuple[Any, WindowModel],
    steps: list[Any],
    incremental: bool,
) -> None:
    compare(Windowed(windows, evaluate, Storage(backend, incremental)), steps)


@final
@dataclass(frozen=True)
class Windowed:
    """Windows to compare with their model."""

    windows: tuple[Any, WindowModel]
    evaluate: Callable[[Any], DataStream]
    storage: Storage


def compare(windowed: Windowed, steps: list[Any]) -> None:
    """Run the steps on both, and look at what each step emits."""
    assigner, model = windowed.windows

    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda record: record[0]).window(assigner)
        return windowed.evaluate(windows.allowed_lateness(model.lateness).side_output_late_data(LATE))

    storage = windowed.storage
    operator = Subtasks(build, storage.backend, storage.incremental, storage.changelog, storage.cache_bytes)
    operator.start([], model.watermark)
    in_order = windowed.evaluate is _elements and isinstance(model, SlidingModel)
    number = 0
    try:
        for step in [*steps, 2**63 - 1]:
            if step in ("restart", "rescale", "savepoint"):
                operator.restart(model.watermark, more=int(step != "restart"), canonical=step == "savepoint")
            elif isinstance(step, str):
                operator.checkpoint(step)
            if isinstance(step, str):
                continue
            if isinstance(step, int):
                found, expected = operator.advance(max(step, model.watermark)), model.advance(step)
            else:
                records = [(key, number + index, time) for index, (key, time) in enumerate(step)]
                number += len(records)
                found, expected = operator.add(records), [result for each in records for result in model.add(each)]
            assert by_window(found, in_order=in_order) == by_window(expected, in_order=in_order)
    finally:
        operator.stop()
    assert sorted(operator.late) == sorted(model.late)


BY_THE_CLOCK: Final = [
    TumblingProcessingTimeWindows(10, 0),
    SlidingProcessingTimeWindows(12, 4, 0),
    ProcessingTimeSessionWindows(7),
]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@settings(max_examples=sample_size(40), deadline=None)
@given(
    assigner=st.sampled_from(BY_THE_CLOCK),
    steps=st.lists(st.one_of(st.integers(1, 5).map(lambda count: "a" * count), st.integers(1, 15), st.just("restart"))),
)
def test_windows_of_the_clock_evaluate_each_record_once_for_each_window(
    backend: str, assigner: Any, steps: list[Any]
) -> None:
    def build(stream: DataStream) -> DataStream:
        return stream.key_by(lambda record: record[0]).window(assigner).process(Collect())

    operator = Subtasks(build, backend, incremental=True)
    operator.start([], BEFORE_ALL)
    added, now_ms, out = 0, 0, []
    try:
        for step in [*steps, 100]:
            if step == "restart":
                operator.restart(BEFORE_ALL, more=1)
                out += operator.pass_time(now_ms)  # clocks of new harnesses begin at 0
            elif isinstance(step, int):
                now_ms += step
                out += operator.pass_time(step)
            else:
                operator.add([("a", added + number, now_ms) for number in range(len(step))])
                added += len(step)
    finally:
        operator.stop()
    windows_of_each = 3 if isinstance(assigner, SlidingProcessingTimeWindows) else 1
    emitted = sorted(number for _, _, _, numbers in out for number in numbers)
    assert emitted == sorted(list(range(added)) * windows_of_each)
    assert len({(start, end) for _, start, end, _ in out}) == len(out)
