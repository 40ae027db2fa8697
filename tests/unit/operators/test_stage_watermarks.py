"""Event time over the stages of a source: it goes on from one to the next, and who waits for the others is idle."""

from __future__ import annotations

from typing import ClassVar

from headgate.common import WatermarkStrategy
from headgate.elements import Batch, Flow
from headgate.functions.source import END_OF_INPUT, NO_MORE_STAGES, Poll, Records, Source, SourceContext, SourceReader
from headgate.operators.source import SourceFactory, SourceOperator
from headgate.testing.harness import OperatorHarness, Setup
from tests.unit.operators.test_split_watermarks import STRATEGY, Interleaved, Told, progress, tick


class OneAfterTheOther(Interleaved):
    """Reads one split at a time."""

    watermarks_per_split = False
    one_split_at_a_time = True


class Staged(Source[str]):
    """Splits "1x" are read one after the other, then "2x" side by side."""

    in_stages = True
    stages: ClassVar[dict[str, Source[str]]] = {"1": OneAfterTheOther(), "2": Interleaved()}

    def splits(self, parallelism: int) -> list[str]:
        return []

    def split_id(self, split: str) -> str:
        return split

    def stage_of(self, split_id: str) -> Source[str]:
        return self.stages[split_id[0]]

    def reader(self, context: SourceContext) -> SourceReader[str]:
        return Told()


def opened(*splits: str, strategy: WatermarkStrategy = STRATEGY) -> OperatorHarness:
    harness = OperatorHarness(SourceFactory(Staged(), strategy), setup=Setup(splits=splits))
    harness.open()
    return harness


def source(harness: OperatorHarness) -> SourceOperator:
    assert isinstance(harness.operator, SourceOperator)
    return harness.operator


def poll(harness: OperatorHarness, answer: Poll) -> object:
    source(harness)._reader.next = answer  # type: ignore[attr-defined]
    return source(harness).poll(100)


def mark(harness: OperatorHarness, split: str, *records: int | None, ended: bool = False) -> list[Flow]:
    batch = poll(harness, Records(list(records), [0] * len(records), split, ended))
    assert isinstance(batch, Batch)
    return source(harness).mark(batch)


def end_of_stage(harness: OperatorHarness) -> list[int | bool]:
    poll(harness, END_OF_INPUT)
    return progress(tick(harness))


def next_stage(harness: OperatorHarness, *splits: str, last: bool = False) -> list[int | bool]:
    if splits:
        source(harness).add_splits(list(enumerate(splits)))
    if last:
        source(harness).add_splits(NO_MORE_STAGES)
    assert source(harness).wake_ms is not None
    return progress(tick(harness))


def test_event_time_goes_on_in_the_next_stage_and_never_back() -> None:
    harness = opened("1a")
    assert progress(mark(harness, "1a", 5, 9)) == [5, 9]
    end_of_stage(harness)
    next_stage(harness, "2a", "2b")
    assert progress(mark(harness, "2a", 20)) == [], "2b holds it back"
    assert progress(mark(harness, "2b", 3, 12)) == [12], "3 lies behind 9"


def test_a_subtask_is_never_idle_before_the_last_stage() -> None:
    harness = opened("1a")
    mark(harness, "1a", 5)
    assert end_of_stage(harness) == []
    assert next_stage(harness, "2a") == []
    assert progress(mark(harness, "2a", 6, None)) == [6]
    assert progress(mark(harness, "2a", 7, ended=True)) == [7]
    assert end_of_stage(harness) == []


def test_a_subtask_that_gets_nothing_in_the_last_stage_is_idle() -> None:
    harness = opened("1a")
    mark(harness, "1a", 5)
    end_of_stage(harness)
    assert next_stage(harness, last=True) == [True]
    assert next_stage(harness, "2a") == [False]
    assert progress(mark(harness, "2a", 6)) == [6]


def test_a_subtask_without_splits_is_idle_once_it_knows_that_this_is_the_last_stage() -> None:
    harness = opened()
    assert end_of_stage(harness) == []
    assert next_stage(harness, last=True) == [True]


def test_in_the_last_stage_a_subtask_is_idle_when_its_splits_are() -> None:
    harness = opened("2a")
    assert next_stage(harness, last=True) == []
    assert progress(mark(harness, "2a", 1, None)) == [1, True]
    assert progress(mark(harness, "2a", 2)) == [False, 2]
    assert progress(mark(harness, "2a", 3, ended=True)) == [3, True]
    assert end_of_stage(harness) == []
    assert next_stage(harness, "2b") == [False]


def test_in_the_last_stage_a_subtask_that_reads_one_split_at_a_time_is_not_idle_when_it_has_read_them() -> None:
    harness = opened("1a")
    assert next_stage(harness, last=True) == []
    assert progress(mark(harness, "1a", 4)) == [4]
    assert end_of_stage(harness) == []
