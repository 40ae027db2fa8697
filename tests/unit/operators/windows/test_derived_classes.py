"""Programs' own classes that are made of the default trigger, or of an assigner of event time."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.datastream import DataStream
from headgate.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from headgate.testing.harness import OperatorHarness


class AtEachRecord(EventTimeTrigger):  # type: ignore[misc]  # programs do that
    """A program's own, made of the default one."""

    def on_element(self, element: Any, timestamp: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        super().on_element(element, timestamp, window, ctx)
        return TriggerResult.FIRE


class WholeHundreds:
    """What makes an assigner of its own of one that is there."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        return [TimeWindow(0, 100)]


class Tumbling(WholeHundreds, TumblingEventTimeWindows):  # type: ignore[misc]  # programs do that
    pass


class Sliding(WholeHundreds, SlidingEventTimeWindows):  # type: ignore[misc]  # programs do that
    pass


class Sessions(WholeHundreds, EventTimeSessionWindows):  # type: ignore[misc]  # programs do that
    pass


def summed(assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any] | None = None) -> OperatorHarness:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda record: record[0]).window(assigner)
        return (windows if trigger is None else windows.trigger(trigger)).sum(1)

    return OperatorHarness.of_stream(build)


@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows(10, 0), SlidingEventTimeWindows(10, 8, 0), EventTimeSessionWindows(5)]
)
def test_a_trigger_made_of_the_default_one_decides(assigner: WindowAssigner[Any, Any]) -> None:
    with summed(assigner, AtEachRecord()) as windows:
        assert windows.process(("a", 3), timestamp_ms=3) == [("a", 3)]


@pytest.mark.parametrize("assigner", [Tumbling(10, 0), Sliding(10, 5, 0), Sessions(5)])
def test_an_assigner_made_of_another_decides(assigner: WindowAssigner[Any, Any]) -> None:
    with summed(assigner) as windows:
        windows.process(("a", 3), timestamp_ms=3)
        assert windows.watermark(98) == []
        assert windows.watermark(99) == [("a", 3)]
