"""Windows that are evaluated for some keys while others are left: what comes in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from headgate import options
from headgate.config import Settings
from headgate.datastream import AggregateFunction, DataStream, OutputTag
from headgate.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from headgate.operators.windows.operator import WindowOperator
from headgate.testing.harness import OperatorHarness, Setup

LATE: Final = OutputTag("late")
SMALL: Final = Settings().with_value(options.STATE_BACKEND, "rocksdb").with_value(options.ROCKSDB_CACHE_SIZE, 40_000)


def counted(stream: DataStream) -> DataStream:
    windows = stream.key_by(lambda record: record[0]).window(TumblingEventTimeWindows(10, 0))
    return windows.reduce(lambda one, other: (one[0], one[1] + other[1]))


def panes_of(each: OperatorHarness) -> Any:
    assert isinstance(each.operator, WindowOperator)
    return each.operator._windows._panes  # type: ignore[attr-defined]


def test_room_that_is_made_meanwhile_takes_nothing_from_the_window() -> None:
    with OperatorHarness.of_stream(counted, setup=Setup(settings=SMALL)) as windows:
        windows.process(("early", 1), timestamp_ms=5)
        windows.watermark(9)
        begun = windows.barrier()
        count = 0
        while not panes_of(windows).excess():
            windows.process((f"key {count}", 1), timestamp_ms=15)
            count += 1
        first = windows.operator.advance(19, 10)
        assert first is not None
        assert not panes_of(windows).is_spilled
        windows.finish(begun)
        left = windows.watermark(19, 10)
    assert sorted(first.records + left) == sorted((f"key {number}", 1) for number in range(count))


class Total(AggregateFunction):
    """Adds up, and does not say that accumulators may be merged."""

    def create_accumulator(self) -> tuple[str, int]:
        return "", 0

    def add(self, value: tuple[str, int], accumulator: tuple[str, int]) -> tuple[str, int]:
        return value[0], accumulator[1] + value[1]

    def get_result(self, accumulator: tuple[str, int]) -> tuple[str, int]:
        return accumulator

    def merge(self, acc_a: tuple[str, int], acc_b: tuple[str, int]) -> tuple[str, int]:
        raise NotImplementedError


def reduced(windows: Any) -> DataStream:
    stream: DataStream = windows.reduce(lambda one, other: (one[0], one[1] + other[1]))
    return stream


def aggregated(windows: Any) -> DataStream:
    stream: DataStream = windows.aggregate(Total())
    return stream


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("lateness_ms", [0, 20])
@pytest.mark.parametrize("compute", [reduced, aggregated])
@pytest.mark.parametrize("assigner", [TumblingEventTimeWindows(10, 0), SlidingEventTimeWindows(12, 10, -2)])
def test_a_record_is_late_for_the_keys_whose_window_was_evaluated_before_a_restore(
    assigner: Any, compute: Callable[[Any], DataStream], lateness_ms: int, backend: str
) -> None:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda record: record[0]).window(assigner).allowed_lateness(lateness_ms)
        return compute(windows.side_output_late_data(LATE))

    setup = Setup(settings=Settings().with_value(options.STATE_BACKEND, backend))
    with OperatorHarness.of_stream(build, setup=setup) as windows:
        windows.process(*((key, 1) for key in "abcd"), timestamp_ms=5)
        first = windows.operator.advance(9, 2)
        assert first is not None
        done, left = (first.records[0][0], next(key for key in "abcd" if (key, 1) not in first.records))
        saved = windows.snapshot()
    with OperatorHarness.of_stream(build, setup=setup, restored=[saved]) as windows:
        again = windows.process((done, 10), (left, 10), timestamp_ms=6)
        assert again == ([(done, 11)] if lateness_ms else [])
        assert windows.side(LATE) == ([] if lateness_ms else [(done, 10)])
        rest = windows.watermark(9)
    assert sorted(first.records + rest) == sorted((key, 11 if key == left else 1) for key in "abcd")
