"""A source that is aligned: what it reports, when it waits, and which of its splits do."""

from __future__ import annotations

import math
from typing import Any, Final

import pytest

from headgate import options
from headgate.common import Duration, WatermarkStrategy
from headgate.config import Settings
from headgate.connectors.collection import CollectionSource
from headgate.connectors.hybrid import HybridSource, StageSplit
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Barrier, Batch, Flow, WatermarkStatus
from headgate.errors import ProgramError
from headgate.functions.source import END_OF_INPUT, NO_MORE_STAGES, NotReady, Poll, Records, Source, SourceContext
from headgate.functions.source import SourceReader as Reader
from headgate.functions.watermarks import WatermarkGenerator, WatermarkOutput
from headgate.ids import CheckpointId
from headgate.operators.source import SourceFactory, SourceOperator
from headgate.testing.harness import OperatorHarness, Setup

NOTHING: Final = NotReady(math.inf)


class EachRecord(WatermarkGenerator):
    """Every record is the watermark behind it; None stands for idleness."""

    def on_event(self, event: int | None, timestamp_ms: int, output: WatermarkOutput) -> None:
        if event is None:
            output.mark_idle()
        else:
            output.mark_active()
            output.emit_watermark(event)


STRATEGY = WatermarkStrategy.for_generator(EachRecord).with_watermark_alignment("group", Duration.of_millis(10))


class Lines(Reader[Any]):
    """Reads splits in turn, one record at a time: a split is its name and the records that are left."""

    def __init__(self, *, can_pause: bool) -> None:
        self._can_pause = can_pause
        self._paused: frozenset[str] = frozenset()
        self.left: dict[str, list[int | None]] = {}

    @property
    def pauses_splits(self) -> bool:
        return self._can_pause

    def add_splits(self, splits: list[Any]) -> None:
        self.left.update((name, list(records)) for name, records in splits)

    def pause_splits(self, paused: frozenset[str]) -> None:
        self._paused = paused

    def poll(self, records_max: int) -> Poll:
        for name in self.left:
            if name not in self._paused and self.left[name]:
                records = self.left.pop(name)
                self.left[name] = records[1:]
                return Records(records[:1], None, name)
        return NOTHING

    def snapshot(self) -> list[Any]:
        return list(self.left.items())


class LinesSource(Source[Any]):
    bounded = False
    watermarks_per_split = True

    def __init__(self, *, can_pause: bool = True) -> None:
        self._can_pause = can_pause

    def splits(self, parallelism: int) -> list[Any]:
        return []

    def split_id(self, split: Any) -> str:
        return str(split[0])

    def reader(self, context: SourceContext) -> Lines:
        return Lines(can_pause=self._can_pause)


def opened(
    source: Source[Any], *splits: Any, strategy: WatermarkStrategy = STRATEGY, unaligned_splits: bool = False
) -> OperatorHarness:
    setup = Setup(splits=splits, settings=Settings().with_value(options.UNALIGNED_SPLITS, unaligned_splits))
    harness = OperatorHarness(SourceFactory(source, strategy), setup=setup)
    harness.open()
    return harness


def numbers(last: int = 99) -> OperatorHarness:
    source = NumberSequenceSource(0, last)
    return opened(source, *source.splits(1))


def read(harness: OperatorHarness, records_max: int = 1) -> list[Any]:
    """Poll until there is nothing, or so many records are there."""
    operator = harness.operator
    assert isinstance(operator, SourceOperator)
    records: list[Any] = []
    while len(records) < records_max:
        polled = operator.poll(records_max - len(records))
        if not isinstance(polled, Batch):
            break
        records += [record for flow in operator.mark(polled) if isinstance(flow, Batch) for record in flow.records]
    return records


def tick_after(harness: OperatorHarness, ms: int) -> list[Flow]:
    harness.clock.advance(ms)
    return harness.operator.tick(harness.clock.monotonic_ms())


# --- a whole subtask


def test_a_subtask_beyond_the_allowed_watermark_reads_nothing_until_it_is_allowed_to() -> None:
    harness = numbers()
    assert read(harness, 8) == list(range(8))
    harness.operator.allow_watermark(7)
    assert read(harness, 1) == [8]
    assert read(harness) == []
    harness.operator.allow_watermark(8)
    assert harness.operator.woken
    assert read(harness, 1) == [9]
    harness.operator.allow_watermark(MAX_TIMESTAMP)
    assert len(read(harness, 100)) == 90


def test_before_the_first_announcement_nothing_waits() -> None:
    assert len(read(numbers(), 100)) == 100


def test_a_subtask_that_waits_keeps_its_position_and_takes_part_in_checkpoints() -> None:
    source = NumberSequenceSource(0, 99)
    harness = numbers()
    read(harness, 5)
    harness.operator.allow_watermark(0)
    assert read(harness) == []
    saved = harness.snapshot()
    assert harness.operator.snapshot(Barrier(CheckpointId(7), 0)).lists.keys() == saved.lists.keys()
    restored = OperatorHarness(SourceFactory(source, STRATEGY), restored=[saved])
    restored.open()
    assert read(restored, 3) == [5, 6, 7]


def test_it_reports_its_watermark_at_the_interval_the_least_one_before_the_first() -> None:
    harness = numbers()
    assert harness.operator.wake_ms == 200.0  # periodic watermarks come first
    tick_after(harness, 999)
    assert harness.services.watermarks == []
    tick_after(harness, 1)
    read(harness, 6)
    tick_after(harness, 999)
    tick_after(harness, 1)
    assert harness.services.watermarks == [MIN_TIMESTAMP, 5]


def test_it_reports_while_it_waits() -> None:
    harness = numbers()
    read(harness, 6)
    harness.operator.allow_watermark(0)
    tick_after(harness, 1_000)
    assert (read(harness), harness.services.watermarks) == ([], [5])


def test_an_idle_subtask_reports_that_others_need_not_wait() -> None:
    harness = opened(LinesSource(), ("a", [5, None, 7]))
    read(harness, 2)
    tick_after(harness, 1_000)
    read(harness, 1)
    tick_after(harness, 1_000)
    assert harness.services.watermarks == [None, 7]


def test_a_strategy_that_makes_no_watermarks_takes_no_part() -> None:
    source = CollectionSource([1, 2])
    aligned = WatermarkStrategy.no_watermarks().with_watermark_alignment("group", Duration.of_millis(10))
    harness = opened(source, *source.splits(1), strategy=aligned)
    tick_after(harness, 5_000)
    assert harness.services.watermarks == []


def test_the_drift_is_how_far_the_subtask_is_ahead_of_the_last_of_the_group() -> None:
    harness = numbers()
    read(harness, 8)
    assert harness.operator.alignment_drift_ms is None
    harness.operator.allow_watermark(13)  # the last one is at 3
    assert harness.operator.alignment_drift_ms == 4
    harness.operator.allow_watermark(MAX_TIMESTAMP)
    assert harness.operator.alignment_drift_ms is None


def test_who_awaits_the_next_stage_does_not_hold_those_that_are_still_reading() -> None:
    stages = HybridSource.builder(NumberSequenceSource(0, 4)).add_source(NumberSequenceSource(5, 9)).build()
    harness = opened(stages, *stages.splits(1))
    assert read(harness, 5) == [0, 1, 2, 3, 4]
    tick_after(harness, 1_000)
    assert read(harness) == []
    tick_after(harness, 1_000)
    harness.operator.add_splits([(1, split) for split in stages.next_stage(frozenset(["0/0-4"]), 1)])
    harness.operator.add_splits(NO_MORE_STAGES)
    tick_after(harness, 1_000)
    assert harness.services.watermarks == [4, None, 4]


# --- single splits


def test_only_the_splits_that_are_ahead_are_paused() -> None:
    harness = opened(LinesSource(), ("a", [5, 50, 51, 52]), ("b", [6, 7, 8, 9]))
    assert read(harness, 3) == [5, 6, 50]
    harness.operator.allow_watermark(15)
    assert read(harness, 9) == [7, 8, 9]
    harness.operator.allow_watermark(51)
    assert read(harness, 9) == [51, 52]


def test_a_split_whose_watermark_passes_what_is_allowed_is_paused_at_once() -> None:
    harness = opened(LinesSource(), ("a", [1, 50, 51]), ("b", [2, 3, 4, 5]))
    harness.operator.allow_watermark(20)
    assert read(harness, 9) == [1, 2, 50, 3, 4, 5]


def test_the_only_split_waits_with_its_subtask() -> None:
    harness = opened(LinesSource(can_pause=False), ("a", [1, 50, 51]))
    harness.operator.allow_watermark(20)
    assert read(harness, 9) == [1, 50]
    harness.operator.allow_watermark(50)
    assert read(harness, 9) == [51]


def test_a_split_that_comes_while_others_are_paused_is_read() -> None:
    harness = opened(LinesSource(), ("a", [50, 51]), ("b", [60, 61]))
    read(harness, 2)
    harness.operator.allow_watermark(20)
    assert read(harness) == []
    harness.operator.add_splits([(2, ("c", [7]))])
    assert read(harness) == []  # the subtask is at 50 still, and waits as a whole


def test_a_reader_that_cannot_pause_splits_fails_unless_the_setting_allows_it() -> None:
    splits = ("a", [5, 50, 51]), ("b", [6, 7])
    harness = opened(LinesSource(can_pause=False), *splits)
    harness.operator.allow_watermark(20)
    with pytest.raises(ProgramError, match=r"Lines .* \['a'\].*allow-unaligned-source-splits to true"):
        read(harness, 9)
    harness = opened(LinesSource(can_pause=False), *splits, unaligned_splits=True)
    harness.operator.allow_watermark(20)
    assert read(harness, 9) == [5, 6, 50, 7, 51]


class Deaf(Lines):
    """Says that it pauses splits, and does not."""

    def pause_splits(self, paused: frozenset[str]) -> None:
        pass


def test_records_of_a_paused_split_are_an_error_that_names_reader_and_split() -> None:
    harness = opened(LinesSource(), ("a", [1, 50, 51]), ("b", [2, 3]))
    assert isinstance(harness.operator, SourceOperator)
    deaf = Deaf(can_pause=True)
    deaf.add_splits([("a", [1, 50, 51]), ("b", [2, 3])])
    harness.operator._reader = deaf
    harness.operator.allow_watermark(20)
    with pytest.raises(ProgramError, match=r"poll\(\) of Deaf returned records of split 'a', which is paused"):
        read(harness, 9)


def test_the_reader_of_a_hybrid_source_pauses_the_splits_of_the_stage_that_can() -> None:
    stages = HybridSource.builder(NumberSequenceSource(1, 1)).add_source(LinesSource()).build()
    harness = opened(stages, *stages.splits(1))
    assert read(harness, 5) == [1]
    harness.operator.add_splits([(1, StageSplit(1, ("a", [5, 50, 51]))), (2, StageSplit(1, ("b", [6, 7, 8])))])
    harness.operator.allow_watermark(20)
    assert read(harness, 9) == [5, 6, 50, 7, 8]


# --- idleness while paused


IDLE_SOON = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(500))
ALIGNED = IDLE_SOON.with_timestamp_assigner(lambda value, _: value).with_watermark_alignment(
    "group", Duration.of_millis(10)
)


def statuses(harness: OperatorHarness, ms: int) -> list[bool]:
    """Let time pass in steps, polling all the while; return the changes of idleness."""
    seen = []
    for _ in range(ms // 50):
        read(harness)
        seen += [flow.idle for flow in tick_after(harness, 50) if isinstance(flow, WatermarkStatus)]
    return seen


def test_a_subtask_that_waits_is_not_idle_and_becomes_so_when_it_may_read_and_has_nothing() -> None:
    source = LinesSource()
    harness = opened(source, ("a", [50]), strategy=ALIGNED)
    read(harness)
    tick_after(harness, 200)
    harness.operator.allow_watermark(20)
    assert statuses(harness, 3_000) == []
    harness.operator.allow_watermark(60)
    assert statuses(harness, 300) == []
    assert statuses(harness, 500) == [True]


def test_a_subtask_that_had_nothing_before_it_waits_is_not_idle() -> None:
    harness = opened(LinesSource(), ("a", [50]), strategy=ALIGNED)
    assert (read(harness), harness.operator.poll(1)) == ([50], NOTHING)
    tick_after(harness, 200)
    harness.operator.allow_watermark(20)
    assert statuses(harness, 3_000) == []


def test_a_paused_split_is_not_idle() -> None:
    harness = opened(LinesSource(), ("a", [50]), ("b", list(range(5, 21))), strategy=ALIGNED)
    read(harness, 2)
    tick_after(harness, 200)
    harness.operator.allow_watermark(20)
    assert statuses(harness, 3_000) == []  # "b" is at last, and the subtask is where "a" is, and waits
    harness.operator.allow_watermark(60)
    assert statuses(harness, 300) == []
    assert statuses(harness, 400) == [True]


def test_a_source_that_is_at_its_end_says_so_when_it_may_read() -> None:
    harness = numbers(last=5)
    read(harness, 6)
    harness.operator.allow_watermark(0)
    assert harness.operator.poll(1) == NOTHING
    harness.operator.allow_watermark(MAX_TIMESTAMP)
    assert harness.operator.poll(1) is END_OF_INPUT
