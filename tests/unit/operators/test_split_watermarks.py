"""Event time split by split: the subtask's is the least of those of its splits that are neither ended nor idle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.common import Duration, WatermarkStrategy
from headgate.elements import MIN_TIMESTAMP, Batch, Flow, Watermark, WatermarkStatus
from headgate.errors import ProgramError
from headgate.functions.source import Poll, Records, Source, SourceContext, SourceReader
from headgate.functions.watermarks import WatermarkGenerator, WatermarkOutput
from headgate.operators.source import SourceFactory, SourceOperator
from headgate.testing.harness import OperatorHarness, Setup

NAMES = "abc"


class Told(SourceReader[str]):
    """Hands over what the test says."""

    def __init__(self) -> None:
        self.next: Poll = Records([])

    def add_splits(self, splits: list[str]) -> None:
        pass

    def poll(self, records_max: int) -> Poll:
        return self.next

    def snapshot(self) -> list[str]:
        return []


class Interleaved(Source[str]):
    """Splits are their own names."""

    bounded = False
    watermarks_per_split = True

    def splits(self, parallelism: int) -> list[str]:
        return []

    def split_id(self, split: str) -> str:
        return split

    def reader(self, context: SourceContext) -> SourceReader[str]:
        return Told()


class AsTold(WatermarkGenerator):
    """Each record is the watermark behind it; None stands for a pause."""

    def on_event(self, event: int | None, timestamp_ms: int, output: WatermarkOutput) -> None:
        if event is None:
            output.mark_idle()
        else:
            output.mark_active()
            output.emit_watermark(event)


def opened(strategy: WatermarkStrategy, *splits: str) -> OperatorHarness:
    harness = OperatorHarness(SourceFactory(Interleaved(), strategy), setup=Setup(splits=splits))
    harness.open()
    return harness


def mark(harness: OperatorHarness, split: str | None, *records: int | None, ended: bool = False) -> list[Flow]:
    operator = harness.operator
    assert isinstance(operator, SourceOperator)
    operator._reader.next = Records(list(records), [0] * len(records), split, ended)  # type: ignore[attr-defined]
    batch = operator.poll(100)
    assert isinstance(batch, Batch)
    return operator.mark(batch)


def tick(harness: OperatorHarness) -> list[Flow]:
    return harness.operator.tick(harness.clock.monotonic_ms())


def progress(flows: list[Flow]) -> list[int | bool]:
    """Watermarks as numbers, the beginning and the end of idleness as booleans."""
    return [
        flow.timestamp_ms if isinstance(flow, Watermark) else flow.idle
        for flow in flows
        if isinstance(flow, (Watermark, WatermarkStatus))
    ]


STRATEGY = WatermarkStrategy.for_generator(AsTold)


def test_a_split_holds_event_time_back_before_its_first_record_comes() -> None:
    harness = opened(STRATEGY, "a", "b")
    assert progress(mark(harness, "a", 5)) == []
    assert progress(mark(harness, "b", 3)) == [3]
    assert progress(mark(harness, "b", 9)) == [5]


def test_an_ended_split_holds_nothing_back() -> None:
    harness = opened(STRATEGY, "a", "b")
    mark(harness, "a", 5)
    assert progress(mark(harness, "b", 3, ended=True)) == [3, 5]


def test_a_subtask_whose_splits_have_all_ended_is_idle_until_it_gets_another() -> None:
    harness = opened(STRATEGY, "a")
    assert progress(mark(harness, "a", 5, ended=True)) == [5, True]
    harness.operator.add_splits([(1, "b")])
    assert progress(tick(harness)) == [False]
    assert progress(mark(harness, "b", 4)) == []
    assert progress(mark(harness, "b", 6)) == [6]


def test_a_subtask_without_splits_is_idle_at_once() -> None:
    harness = opened(STRATEGY)
    assert harness.operator.wake_ms == harness.clock.monotonic_ms()
    assert progress(tick(harness)) == [True]


def test_a_paused_split_holds_nothing_back_until_it_goes_on() -> None:
    harness = opened(STRATEGY, "a", "b")
    mark(harness, "b", 8)
    assert progress(mark(harness, "a", None)) == [8]
    assert progress(mark(harness, "a", 2)) == []
    assert progress(mark(harness, "b", 10)) == []
    assert progress(mark(harness, "a", 9)) == [9]


@pytest.mark.parametrize(("first", "last"), [("a", "b"), ("b", "a")])
def test_when_all_splits_are_idle_event_time_is_at_the_greatest_whichever_went_idle_first(
    first: str, last: str
) -> None:
    harness = opened(STRATEGY, "a", "b")
    mark(harness, "a", 5)
    seen = progress(mark(harness, "b", 4))
    seen += progress(mark(harness, first, None)) + progress(mark(harness, last, None))
    assert seen == [4, 5, True]


def test_a_split_that_ended_does_not_raise_event_time_when_the_others_are_idle() -> None:
    harness = opened(STRATEGY, "a", "b", "c")
    mark(harness, "a", 9, ended=True)
    mark(harness, "b", 3)
    assert progress(mark(harness, "c", 5)) == [3]
    assert progress(mark(harness, "c", None)) == []
    assert progress(mark(harness, "b", None)) == [5, True]


def test_a_split_that_is_silent_for_the_idle_timeout_holds_nothing_back() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(500))
    harness = opened(strategy, "a", "b")
    operator = harness.operator
    assert isinstance(operator, SourceOperator)
    seen: list[int | bool] = []
    for now_ms in range(0, 2_000, 100):
        operator._reader.next = Records(["x"], [now_ms], "a")  # type: ignore[attr-defined]
        batch = operator.poll(1)
        assert isinstance(batch, Batch)
        seen += progress(operator.mark(batch))
        harness.clock.advance(100)
        seen += progress(tick(harness))
    assert max(each for each in seen if each not in (True, False)) == 1_899


@pytest.mark.parametrize("split", [None, "c"])
def test_records_of_a_split_that_the_reader_was_not_given_are_an_error_that_names_it(split: str | None) -> None:
    harness = opened(STRATEGY, "a", "b")
    with pytest.raises(
        ProgramError, match=rf"records of split {split!r}, which the reader was not given.*\['a', 'b'\]"
    ):
        mark(harness, split, 1)


@dataclass
class Model:
    """What the rule says, computed again from all that has happened."""

    splits: dict[str, int] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    watermark: int = MIN_TIMESTAMP
    idle: bool = False

    def settle(self) -> list[int | bool]:
        """Return what has to be told after one change."""
        active = [time_ms for name, time_ms in self.splits.items() if name not in self.paused]
        told: list[int | bool] = []
        if self.idle and active:
            told.append(False)
        reached = min(active) if active else max(self.splits.values(), default=MIN_TIMESTAMP)
        if reached > self.watermark:
            self.watermark = reached
            told.append(self.watermark)
        if not active and not self.idle:
            told.append(True)
        self.idle = not active
        return told

    def record(self, name: str, value: int | None) -> list[int | bool]:
        if value is None:
            self.paused.add(name)
            return self.settle()
        self.paused.discard(name)
        told = self.settle()
        self.splits[name] = max(self.splits[name], value)
        return told + self.settle()


ACTION = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(NAMES)),
    st.tuples(st.just("tick")),
    st.tuples(
        st.just("read"),
        st.sampled_from(NAMES),
        st.lists(st.none() | st.integers(0, 20), max_size=4),
        st.booleans(),
    ),
)


@given(st.lists(ACTION, max_size=25))
def test_watermarks_are_those_of_a_model_that_looks_at_all_splits_each_time(actions: list[Any]) -> None:
    harness = opened(STRATEGY)
    model = Model()
    for action in actions:
        match action:
            case ("add", name) if name not in model.splits:
                harness.operator.add_splits([(NAMES.index(name), name)])
                assert progress(tick(harness)) == _added(model, name)
            case ("tick",):
                assert progress(tick(harness)) == model.settle()
            case ("read", name, values, ended) if name in model.splits:
                flows = mark(harness, name, *values, ended=ended)
                assert [record for flow in flows if isinstance(flow, Batch) for record in flow.records] == values
                expected = [told for value in values for told in model.record(name, value)]
                if ended:
                    del model.splits[name]
                    model.paused.discard(name)
                    expected += model.settle()
                assert progress(flows) == expected


def _added(model: Model, name: str) -> list[int | bool]:
    model.splits[name] = MIN_TIMESTAMP
    return model.settle()
