"""Event time of a subtask that reads one split at a time, and goes on with several that were begun."""

from __future__ import annotations

import math
from typing import Any

import pytest

from headgate.checkpoint.restore.splits import ORDINALS_STATE, ordinals_of
from headgate.common import Duration, WatermarkStrategy
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.elements import Batch, Flow, Watermark, WatermarkStatus
from headgate.errors import ProgramError
from headgate.functions.source import NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.functions.watermarks import WatermarkGenerator, WatermarkOutput
from headgate.operators.source import SourceFactory, SourceOperator
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup


class EachRecord(WatermarkGenerator):
    """Every timestamp is a watermark."""

    def on_event(self, event: int, timestamp_ms: int, output: WatermarkOutput) -> None:
        output.emit_watermark(timestamp_ms)


STRATEGY = WatermarkStrategy.for_generator(EachRecord).with_timestamp_assigner(lambda value, _: value)


def opened(
    source: Source[Any], setup: Setup, *saved: SavedOperator, strategy: WatermarkStrategy = STRATEGY
) -> OperatorHarness:
    harness = OperatorHarness(SourceFactory(source, strategy), setup=setup, restored=list(saved))
    harness.open()
    return harness


def read(harness: OperatorHarness, count: int) -> list[Flow]:
    operator = harness.operator
    assert isinstance(operator, SourceOperator)
    batch = operator.poll(count)
    assert isinstance(batch, Batch)
    return operator.mark(batch)


def watermarks(flows: list[Flow]) -> list[int]:
    return [flow.timestamp_ms for flow in flows if isinstance(flow, Watermark)]


def halves(source: NumberSequenceSource, *counts: int) -> list[SavedOperator]:
    """What two subtasks hold that have read so many numbers each."""
    saved = []
    for subtask, count in enumerate(counts):
        harness = opened(source, Setup(subtask=subtask, parallelism=2, splits=(source.splits(2)[subtask],)))
        if count:
            read(harness, count)
        saved.append(harness.snapshot())
    return saved


def test_a_begun_split_holds_event_time_back_until_it_is_opened() -> None:
    source = NumberSequenceSource(0, 19)
    one = opened(source, Setup(), *halves(source, 4, 3))
    assert watermarks(read(one, 100)) == []
    assert watermarks(read(one, 2)) == [13, 14]


def test_a_split_that_was_not_begun_holds_nothing_back() -> None:
    source = NumberSequenceSource(0, 19)
    one = opened(source, Setup(), *halves(source, 4, 0))
    assert watermarks(read(one, 2)) == [4, 5]


def test_event_time_goes_on_from_the_split_that_is_opened_last() -> None:
    """What was read before lies ahead of it: both splits begin at the same time."""
    source = NumberSequenceSource(0, 19)
    strategy = WatermarkStrategy.for_generator(EachRecord).with_timestamp_assigner(lambda value, _: value % 10)
    one = opened(source, Setup(), *halves(source, 4, 3), strategy=strategy)
    assert watermarks(read(one, 100)) == []
    assert watermarks(read(one, 2)) == [3, 4]


def test_a_snapshot_says_which_splits_were_begun_and_still_does_after_a_restore() -> None:
    source = NumberSequenceSource(0, 19)
    one = opened(source, Setup(), *halves(source, 0, 3))
    assert ordinals_of(one.snapshot().lists) == [(0, False), (1, True)]
    read(one, 1)
    again = one.snapshot()
    assert ordinals_of(again.lists) == [(0, True), (1, True)]
    assert watermarks(read(opened(source, Setup(), again), 100)) == []


class SlowToStart(SourceReader[Any]):
    """Has nothing at first."""

    def __init__(self, reader: SourceReader[Any]) -> None:
        self._reader = reader
        self._started = False

    def add_splits(self, splits: list[Any]) -> None:
        self._reader.add_splits(splits)

    def poll(self, records_max: int) -> Poll:
        started, self._started = self._started, True
        return self._reader.poll(records_max) if started else NotReady(math.inf)

    def snapshot(self) -> list[Any]:
        return self._reader.snapshot()


def test_idleness_ends_with_the_split_that_is_opened() -> None:
    source = NumberSequenceSource(0, 19)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(500))
    one = opened(source, Setup(), *halves(source, 4, 3), strategy=strategy)
    assert isinstance(one.operator, SourceOperator)
    one.operator._reader = SlowToStart(one.operator._reader)
    assert one.operator.poll(1) == NotReady(math.inf)
    told: list[Flow] = []
    for _ in range(10):
        one.clock.advance(50)
        told += one.operator.tick(one.clock.monotonic_ms())
    assert told == [WatermarkStatus(idle=True)]
    assert read(one, 1)[0] == WatermarkStatus(idle=False)


class Renaming(SourceReader[str]):
    """Gives back a split that it was not given."""

    def add_splits(self, splits: list[str]) -> None:
        pass

    def poll(self, records_max: int) -> Poll:
        return Records([])

    def snapshot(self) -> list[str]:
        return ["b"]


class Unsteady(Source[str]):
    """Splits are their own names."""

    def splits(self, parallelism: int) -> list[str]:
        return ["a"]

    def split_id(self, split: str) -> str:
        return split

    def reader(self, context: SourceContext) -> SourceReader[str]:
        return Renaming()


def test_a_snapshot_with_a_split_that_was_not_given_is_an_error_that_names_it() -> None:
    harness = opened(Unsteady(), Setup(splits=("a",)))
    with pytest.raises(ProgramError, match=r"Renaming returned split 'b', which the reader was not given.*\['a'\]"):
        harness.snapshot()


def test_a_source_that_does_not_name_its_splits_stores_no_ordinals() -> None:
    class Unnamed(Unsteady):
        def split_id(self, split: str) -> str:
            raise NotImplementedError

    assert ORDINALS_STATE not in opened(Unnamed(), Setup(splits=("a",))).snapshot().lists
