"""Which layout windows get, by assigner, trigger and function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.common.time import Time
from headgate.datastream import DataStream, ProcessWindowFunction
from headgate.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headgate.operators.windows.operator import WindowOperator
from headgate.testing.harness import OperatorHarness
from tests.unit.operators.windows.sums import MergeableSum, Sum

TUMBLING = TumblingEventTimeWindows(10, 0)
SLIDING = SlidingEventTimeWindows(10, 5, 0)
SESSIONS = EventTimeSessionWindows(10)


class Tumbling(TumblingEventTimeWindows):  # type: ignore[misc]  # programs are not checked
    """A class of the program."""


class Clearing(ProcessWindowFunction[Any, Any, Any, Any]):
    """Clears state of its own when a window is over."""

    def process(self, key: Any, context: Any, elements: Any) -> list[Any]:
        return list(elements)

    def clear(self, context: Any) -> None:
        pass


def summed(windows: Any) -> DataStream:
    stream: DataStream = windows.aggregate(Sum())
    return stream


def merged(windows: Any) -> DataStream:
    stream: DataStream = windows.aggregate(MergeableSum())
    return stream


def cleared(windows: Any) -> DataStream:
    stream: DataStream = windows.process(Clearing())
    return stream


def triggered(windows: Any) -> DataStream:
    return merged(windows.trigger(ContinuousEventTimeTrigger.of(Time.milliseconds(2))))


def evicted(windows: Any) -> DataStream:
    return merged(windows.evictor(CountEvictor.of(2)))


@pytest.mark.parametrize(
    ("assigner", "compute", "layout"),
    [
        (TUMBLING, merged, "PaneWindows"),
        (TUMBLING, cleared, "PaneWindows"),
        (TUMBLING, triggered, "CellWindows"),
        (TUMBLING, evicted, "CellWindows"),
        (Tumbling(10, 0), merged, "CellWindows"),
        (TumblingProcessingTimeWindows(10, 0), merged, "CellWindows"),
        (CountTumblingWindowAssigner(3), merged, "CellWindows"),
        (SLIDING, merged, "SliceWindows"),
        (SLIDING, summed, "PaneWindows"),
        (SLIDING, cleared, "PaneWindows"),
        (SLIDING, evicted, "CellWindows"),
        (SlidingEventTimeWindows(10, 10, 0), merged, "PaneWindows"),
        (SlidingEventTimeWindows(10, 15, 0), merged, "CellWindows"),
        (SESSIONS, merged, "SessionWindows"),
        (SESSIONS, triggered, "MergingWindows"),
        (SESSIONS, evicted, "MergingWindows"),
        (ProcessingTimeSessionWindows(10), merged, "MergingWindows"),
    ],
)
def test_windows_get_the_layout_that_costs_least(
    assigner: Any, compute: Callable[[Any], DataStream], layout: str
) -> None:
    with OperatorHarness.of_stream(
        lambda stream: compute(stream.key_by(lambda record: record[0]).window(assigner))
    ) as windows:
        assert isinstance(windows.operator, WindowOperator)
        assert type(windows.operator._windows).__name__ == layout
