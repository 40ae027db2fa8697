"""Sources of the benchmark."""

from __future__ import annotations

import time

import pytest

from bench.inputs import (
    CycleReader,
    FilledReader,
    FilledSource,
    ListReader,
    PacedReader,
    PacedSplit,
    TimedCycleReader,
    TimedCycleSource,
)
from headgate.functions.source import EndOfInput, NotReady, Records


def test_list_is_read_in_order_over_and_over_until_time_is_up() -> None:
    now_ms = 0.0
    reader = CycleReader([1, 2, 3], lambda: now_ms, 1_000.0)
    reader.add_splits([0])
    read: list[int] = []
    for _ in range(3):
        polled = reader.poll(2)
        assert isinstance(polled, Records)
        read += polled.records
    assert read == [1, 2, 3, 1, 2]
    now_ms = 1_000.0
    assert isinstance(reader.poll(2), EndOfInput)


def test_restored_reader_goes_on_where_the_snapshot_was() -> None:
    reader = CycleReader([1, 2, 3], lambda: 0.0, 1_000.0)
    reader.add_splits([0])
    reader.poll(2)
    again = CycleReader([1, 2, 3], lambda: 0.0, 1_000.0)
    again.add_splits(reader.snapshot())
    polled = again.poll(2)
    assert isinstance(polled, Records)
    assert polled.records == [3]


def test_paced_records_carry_the_time_they_were_due() -> None:
    reader = PacedReader(0.001, 2, lambda due_s: (7, due_s))
    reader.add_splits([PacedSplit(0)])
    polled = reader.poll(10)
    assert isinstance(polled, Records)
    (first,) = polled.records
    waiting = reader.poll(10)
    assert isinstance(waiting, NotReady)
    assert abs(waiting.wake_ms - (first[1] * 1_000.0 + 1_000_000.0)) < 1.0


def test_restored_paced_reader_makes_what_fell_due_meanwhile_at_once() -> None:
    reader = PacedReader(0.001, 100, lambda due_s: (7, due_s))
    reader.add_splits([PacedSplit(1, time.monotonic() - 5_500.0)])
    polled = reader.poll(10)
    assert isinstance(polled, Records)
    assert len(polled.records) == 5


def test_timed_records_come_with_their_times_and_once() -> None:
    reader = ListReader([(1, 30), (2, 10), (3, 20)], [30, 10, 20])
    reader.add_splits([0])
    polled = reader.poll(2)
    assert isinstance(polled, Records)
    assert (polled.records, polled.timestamps) == ([(1, 30), (2, 10)], [30, 10])
    reader.poll(2)
    assert isinstance(reader.poll(2), EndOfInput)


def test_filled_source_brings_every_key_before_its_paced_records() -> None:
    reader = FilledReader(FilledSource(keys=5, records_per_second=0.001, seconds=2_000.0))
    reader.add_splits([PacedSplit(0)])
    filled = [reader.poll(3), reader.poll(3)]
    assert sorted(record[0] for polled in filled if isinstance(polled, Records) for record in polled.records) == [
        *range(5)
    ]
    paced = reader.poll(3)
    assert isinstance(paced, Records)
    assert len(paced.records) == 1


@pytest.mark.parametrize(("pause_ms", "times"), [(0, [0, 0, 1, 1, 2, 2, 3, 3]), (10, [0, 0, 1, 1, 12, 12, 13, 13])])
def test_bursts_of_records_have_pauses_between_them(pause_ms: int, times: list[int]) -> None:
    reader = TimedCycleReader(TimedCycleSource(1.0, 2, burst_ms=2, pause_ms=pause_ms), lambda: 0.0)
    reader.add_splits([0])
    read: list[int] = []
    while len(read) < len(times):
        polled = reader.poll(3)
        assert isinstance(polled, Records)
        assert polled.timestamps is not None
        read += polled.timestamps
    assert read[: len(times)] == times
    again = TimedCycleReader(TimedCycleSource(1.0, 2, burst_ms=2, pause_ms=pause_ms), lambda: 0.0)
    again.add_splits([4])
    polled = again.poll(2)
    assert isinstance(polled, Records)
    assert polled.timestamps == times[4:6]
