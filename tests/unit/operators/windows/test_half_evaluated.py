"""Windows that are evaluated for some keys while others are left: what comes in between."""

from __future__ import annotations

from typing import Any, Final

from headgate import options
from headgate.config import Settings
from headgate.datastream import DataStream
from headgate.datastream.window import TumblingEventTimeWindows
from headgate.operators.windows.operator import WindowOperator
from headgate.testing.harness import OperatorHarness, Setup

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
