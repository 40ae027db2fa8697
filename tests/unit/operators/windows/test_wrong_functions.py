"""Functions of a program that return what they should not: the error names them, and nothing is lost."""

from __future__ import annotations

from typing import Any, Final

import pytest

from headgate.datastream import AggregateFunction, Trigger, TriggerResult
from headgate.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    TumblingEventTimeWindows,
)
from headgate.operators.base import UserCodeError
from headgate.testing.harness import OperatorHarness

SESSIONS: Final = EventTimeSessionWindows(10)


class Stub(AggregateFunction):
    """Its `merge` is a stub, as in many programs."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> Any:
        pass


class Odd(Trigger[Any, Any]):
    """Returns `given` for each record, and at the end of the window."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> Any:
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE if timestamp else self.given

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> Any:
        return self.given

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> Any:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        pass

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        pass


@pytest.mark.parametrize("trigger", [EventTimeTrigger.create(), CountTrigger.of(9)])
def test_a_merge_that_returns_nothing_is_named_when_it_joins_sessions(trigger: Any) -> None:
    def build(stream: Any) -> Any:
        return stream.key_by(lambda record: 0).window(SESSIONS).trigger(trigger).aggregate(Stub())

    with OperatorHarness.of_stream(build) as harness:
        for timestamp_ms in (0, 15):
            harness.process("record", timestamp_ms=timestamp_ms)
        with pytest.raises(UserCodeError) as caught:
            harness.process("record", timestamp_ms=8)
        assert "merge() of Stub returned None" in str(caught.value.__cause__)


@pytest.mark.parametrize("timestamp_ms", [0, 1])
@pytest.mark.parametrize("given", [None, "FIRE", True])
@pytest.mark.parametrize(("wrap", "name"), [(lambda odd: odd, "Odd"), (PurgingTrigger.of, "PurgingTrigger")])
def test_a_trigger_that_returns_no_trigger_result_is_named(wrap: Any, name: str, given: Any, timestamp_ms: int) -> None:
    def build(stream: Any) -> Any:
        return stream.key_by(lambda record: 0).window(TumblingEventTimeWindows(10, 0)).trigger(wrap(Odd(given))).sum(0)

    def run() -> None:
        with OperatorHarness.of_stream(build) as harness:
            harness.process(1, timestamp_ms=timestamp_ms)
            harness.watermark(9)

    with pytest.raises(UserCodeError) as caught:
        run()
    assert f"{name} returned {given!r}: on_element()" in str(caught.value.__cause__)
