"""Triggers: when windows are evaluated, and what they hold then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pytest

from headgate.common import Time, Types
from headgate.datastream import ProcessWindowFunction, Trigger, TriggerResult
from headgate.datastream.state import ValueStateDescriptor
from headgate.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Window,
    WindowAssigner,
)
from headgate.elements import Batch
from headgate.errors import ProgramError
from headgate.testing.harness import OperatorHarness

TEN: Final = TumblingEventTimeWindows(10, 0)
TEN_BY_CLOCK: Final = TumblingProcessingTimeWindows(10, 0)
GLOBAL: Final = GlobalWindows.create()


class Together(ProcessWindowFunction[Any, Any, Any, Any]):
    """Emits all records of a window as one text."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[str]:
        yield " ".join(map(str, elements))


def windowed(assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any] | None, **settings: Any) -> OperatorHarness:
    """Return a harness of windows over one key."""

    def build(stream: Any) -> Any:
        windows = stream.key_by(lambda record: 0).window(assigner)
        windows = windows if trigger is None else windows.trigger(trigger)
        for name, value in settings.items():
            windows = getattr(windows, name)(value)
        return windows.process(Together())

    return OperatorHarness.of_stream(build)


def played(harness: OperatorHarness, *steps: Any) -> list[Any]:
    """Return what each step emits: a record with its time, `wm` and a watermark, or `clock` and how far it goes on."""
    out = []
    with harness:
        for first, second in steps:
            if first == "wm":
                out.append(harness.watermark(second))
            elif first == "clock":
                out.append(harness.advance_time(second))
            else:
                out.append(harness.process_batch(Batch([first], [second])).records)
    return out


EACH: Final = [
    ("the end, by default", TEN, None, [("a", 1), ("b", 9), ("wm", 8), ("wm", 9)], [[], [], [], ["a b"]]),
    (
        "a count, which keeps what it has",
        TEN,
        CountTrigger.of(2),
        [("a", 1), ("b", 2), ("c", 3), ("d", 4)],
        [[], ["a b"], [], ["a b c d"]],
    ),
    (
        "a count, which purges",
        GLOBAL,
        PurgingTrigger.of(CountTrigger.of(2)),
        [("a", 1), ("b", 2), ("c", 3), ("d", 4)],
        [[], ["a b"], [], ["c d"]],
    ),
    ("never", GLOBAL, None, [("a", 1), ("wm", 2**63 - 1)], [[], []]),
    ("never, if said", TEN, NeverTrigger(), [("a", 1), ("wm", 100)], [[], []]),
    (
        "each 4 ms of event time",
        TEN,
        ContinuousEventTimeTrigger.of(Time.milliseconds(4)),
        [("a", 1), ("wm", 3), ("wm", 4), ("b", 6), ("wm", 8), ("wm", 9), ("wm", 30)],
        [[], [], ["a"], [], ["a b"], ["a b"], []],
    ),
    (
        "each 4 ms of event time, purging",
        TEN,
        PurgingTrigger.of(ContinuousEventTimeTrigger.of(Time.milliseconds(4))),
        [("a", 1), ("wm", 4), ("b", 6), ("wm", 8), ("wm", 9)],
        [[], ["a"], [], ["b"], []],
    ),
    (
        "each 4 ms of the clock",
        TEN_BY_CLOCK,
        ContinuousProcessingTimeTrigger.of(Time.milliseconds(4)),
        [("a", 1), ("clock", 5), ("b", 2), ("clock", 4), ("clock", 1), ("clock", 50)],
        [[], ["a"], [], ["a b"], ["a b"], []],
    ),
    (
        "a difference",
        GLOBAL,
        DeltaTrigger.of(5, lambda old, new: abs(new - old), Types.INT()),
        [(1, 1), (4, 2), (7, 3), (12, 4), (13, 5)],
        [[], [], ["1 4 7"], [], ["1 4 7 12 13"]],
    ),
    (
        "the end by the clock",
        TEN_BY_CLOCK,
        None,
        [("a", 1), ("clock", 9), ("b", 1), ("clock", 1), ("clock", 5), ("c", 1), ("clock", 20)],
        [[], [], [], ["a b"], [], [], ["c"]],
    ),
    (
        "the end of sliding windows by the clock",
        SlidingProcessingTimeWindows(10, 5, 0),
        ProcessingTimeTrigger.create(),
        [("a", 1), ("clock", 5), ("clock", 5), ("clock", 5)],
        [[], ["a"], ["a"], []],
    ),
    (
        "the end of a session by the clock",
        ProcessingTimeSessionWindows(5),
        None,
        [("a", 1), ("clock", 3), ("b", 1), ("clock", 4), ("clock", 1), ("c", 1), ("clock", 5)],
        [[], [], [], [], ["a b"], [], ["c"]],
    ),
    (
        "a count of a session that merges",
        EventTimeSessionWindows(5),
        CountTrigger.of(3),
        [("a", 1), ("b", 9), ("c", 5), ("d", 30)],
        [[], [], ["a b c"], []],
    ),
    (
        "each 4 ms of a session that merges",
        EventTimeSessionWindows(5),
        ContinuousEventTimeTrigger.of(Time.milliseconds(4)),
        [("a", 1), ("b", 9), ("wm", 4), ("c", 5), ("wm", 8), ("wm", 13), ("wm", 99)],
        [[], [], ["a"], [], ["a b c"], ["a b c", "a b c"], []],
    ),
]


@pytest.mark.parametrize(
    ("assigner", "trigger", "steps", "expected"), [case[1:] for case in EACH], ids=[case[0] for case in EACH]
)
def test_a_window_is_evaluated_when_its_trigger_says(
    assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any] | None, steps: list[Any], expected: list[Any]
) -> None:
    emitted = played(windowed(assigner, trigger), *steps)
    assert [list(map(_in_order, texts)) for texts in emitted] == expected


def _in_order(text: str) -> str:
    """Return the letters in order: which of two merged windows comes first is not said."""
    return " ".join(sorted(text.split())) if text[0].isalpha() else text


def test_each_late_record_has_the_window_evaluated_again_until_the_lateness_is_over() -> None:
    steps = [("a", 1), ("wm", 9), ("b", 2), ("wm", 13), ("c", 3), ("wm", 14), ("d", 4)]
    emitted = played(windowed(TEN, None, allowed_lateness=5), *steps)
    assert emitted == [[], ["a"], ["a b"], [], ["a b c"], [], []]


class Marked(Trigger[str, Window]):
    """Fires at a record in capitals, and says what it is called for; remembers the first record of each window."""

    calls: list[Any]

    def __init__(self) -> None:
        self.calls = []
        self.first = ValueStateDescriptor("first", Types.STRING())

    def on_element(self, element: str, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.register_event_time_timer(timestamp + 1)
        first = ctx.get_partitioned_state(self.first)
        if first.value() is None:
            first.update(element)
        self.calls.append((element, first.value(), ctx.get_current_watermark() > 0, ctx.get_current_processing_time()))
        return TriggerResult.FIRE_AND_PURGE if element.isupper() else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        self.calls.append(time)
        ctx.delete_event_time_timer(8)
        return TriggerResult.PURGE if time == 7 else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        raise AssertionError("windows that do not merge")

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        self.calls.append("clear")
        ctx.get_partitioned_state(self.first).clear()


def test_a_trigger_of_the_program_has_state_and_timers_of_each_window() -> None:
    trigger = Marked()
    steps = [("a", 1), ("wm", 4), ("B", 3), ("c", 6), ("d", 7), ("wm", 9), ("e", 11), ("wm", 30)]
    assert played(windowed(TEN, trigger), *steps) == [[], [], ["a B"], [], [], [], [], []]
    assert trigger.calls == [
        ("a", "a", False, 0),
        2,
        ("B", "a", True, 0),
        ("c", "a", True, 0),
        ("d", "a", True, 0),
        4,
        7,
        9,
        "clear",
        ("e", "e", True, 0),
        12,
        19,
        "clear",
    ]


def test_a_trigger_that_cannot_merge_is_refused_for_sessions() -> None:
    with pytest.raises(ProgramError, match=r"Marked cannot be used with windows that merge"):
        windowed(EventTimeSessionWindows(5), Marked())


@pytest.mark.parametrize(
    "make",
    [
        lambda: CountTrigger.of(0),
        lambda: ContinuousEventTimeTrigger.of(Time.milliseconds(0)),
        lambda: ContinuousProcessingTimeTrigger.of(5),  # type: ignore[arg-type]
    ],
)
def test_a_trigger_without_meaning_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ProgramError, match=r"at least 1|more than 0|a length of time"):
        make()
