"""What closed windows leave behind on the hash map: nothing, however many there were."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any, Final

import pytest

from headgate.common import Time
from headgate.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from headgate.testing.harness import OperatorHarness

TEN: Final = Time.milliseconds(10)
ASSIGNERS: Final = {
    "tumbling": TumblingEventTimeWindows.of(TEN),
    "sliding": SlidingEventTimeWindows.of(Time.milliseconds(40), TEN),
    "session": EventTimeSessionWindows.with_gap(Time.milliseconds(5)),
}
BYTES_MAX: Final = 200_000
"""Less than 20 bytes for each of 10,000 windows: a window that stays takes hundreds."""


def through_windows(harness: Any, first: int, last: int) -> None:
    for window in range(first, last):
        harness.process((window % 7, 1), timestamp_ms=window * 10)
        harness.watermark(window * 10 - 1)
        if window % 500 == 0:
            harness.snapshot()
            harness.complete()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ASSIGNERS)
def test_memory_is_flat_over_ten_thousand_windows(kind: str) -> None:
    assigner: WindowAssigner[Any, Any] = ASSIGNERS[kind]
    harness = OperatorHarness.of_stream(
        lambda stream: (
            stream.key_by(lambda record: record[0])
            .window(assigner)
            .reduce(lambda one, other: (one[0], one[1] + other[1]))
        ),
    )
    with harness:
        through_windows(harness, 0, 1_000)
        gc.collect()
        tracemalloc.start()
        try:
            through_windows(harness, 1_000, 11_000)
            gc.collect()
            grown, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert grown < BYTES_MAX
