"""The clocks of idle timeouts: time in which records could not have been taken does not pass."""

from __future__ import annotations

import math
from typing import Any

from headgate.common import Duration, WatermarkStrategy
from headgate.elements import Batch, WatermarkStatus
from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.operators.input_clock import InputOfReader
from headgate.operators.source import SourceFactory, SourceOperator
from headgate.operators.watermarks import AssignFactory
from headgate.testing.harness import OperatorHarness, Setup
from headgate.testing.recording_services import RecordingServices

IDLE_SOON = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_seconds(1))


def reading() -> tuple[RecordingServices, InputOfReader]:
    services = RecordingServices()
    clock = InputOfReader(services, 250.0)
    clock.polled()
    return services, clock


def test_time_passes_from_when_the_reader_had_nothing_until_it_is_to_be_polled() -> None:
    services, clock = reading()
    clock.had_nothing(100.0)
    services.clock.advance(60.0)
    assert (clock.read(), clock.stands) == (60.0, False)
    services.clock.advance(900.0)
    assert (clock.read(), clock.stands) == (100.0, True)
    clock.polled()
    assert clock.read() == 100.0


def test_a_poll_that_comes_late_and_gives_nothing_counts_a_part_of_the_time() -> None:
    services, clock = reading()
    for late_ms in (40.0, 900.0):
        clock.had_nothing(services.clock.monotonic_ms() + 10.0)
        services.clock.advance(10.0 + late_ms)
        clock.polled()
    assert clock.read() == 10.0 + 40.0 + 10.0
    clock.had_nothing(math.inf)
    assert clock.read() == 60.0 + 250.0


def test_a_reader_that_has_something_stops_it() -> None:
    services, clock = reading()
    clock.had_nothing(math.inf)
    services.clock.advance(60.0)
    clock.woken()
    services.clock.advance(900.0)
    assert (clock.read(), clock.stands) == (60.0, True)
    clock.polled()
    clock.had_nothing(math.inf)
    assert clock.read() == 60.0


def test_between_two_polls_with_records_the_time_at_work_counts_but_little_of_a_long_piece() -> None:
    services, clock = reading()
    services.clock.advance(80.0)
    services.held_ms = 30.0
    assert clock.read() == 0.0
    clock.polled()
    assert clock.read() == 50.0
    services.clock.advance(5_000.0)
    clock.polled()
    assert clock.read() == 300.0


def test_while_it_is_paused_it_stands() -> None:
    services, clock = reading()
    for _ in range(10):
        clock.paused()
        services.clock.advance(400.0)
    clock.polled()
    assert clock.read() == 0.0


class Parts(SourceReader[str]):
    """Gives records of the first split only, or nothing."""

    def __init__(self) -> None:
        self.has_records = True

    def add_splits(self, splits: list[str]) -> None:
        pass

    def poll(self, records_max: int) -> Poll:
        return Records(["x"], [0], "a") if self.has_records else NotReady(math.inf)

    def snapshot(self) -> list[str]:
        return []


class PartsSource(Source[str]):
    watermarks_per_split = True

    def splits(self, parallelism: int) -> list[str]:
        return []

    def split_id(self, split: str) -> str:
        return split

    def reader(self, context: SourceContext) -> Parts:
        return Parts()


def source(*splits: str) -> tuple[OperatorHarness, SourceOperator]:
    harness = OperatorHarness(SourceFactory(PartsSource(), IDLE_SOON), setup=Setup(splits=splits))
    harness.open()
    assert isinstance(harness.operator, SourceOperator)
    return harness, harness.operator


def went_idle(harness: OperatorHarness, ms: float) -> bool:
    """Let time pass, with a tick whenever it is due."""
    flows: list[Any] = []
    end_ms = harness.clock.monotonic_ms() + ms
    while harness.operator.wake_ms is not None and harness.operator.wake_ms <= end_ms:
        harness.clock.advance(max(0.0, harness.operator.wake_ms - harness.clock.monotonic_ms()))
        flows += harness.operator.tick(harness.clock.monotonic_ms())
    harness.clock.advance(max(0.0, end_ms - harness.clock.monotonic_ms()))
    return WatermarkStatus(idle=True) in flows


def test_a_source_whose_slot_is_at_other_work_is_not_idle_though_it_ticks_in_time() -> None:
    harness, operator = source("a")
    operator._reader.has_records = False  # type: ignore[attr-defined]
    assert operator.poll(1) == NotReady(math.inf)
    operator._wake()  # there is something, but others have the thread
    assert not went_idle(harness, 10_000)
    assert operator.poll(1) == NotReady(math.inf)
    assert not went_idle(harness, 900)
    assert went_idle(harness, 400)


def test_a_source_that_was_never_polled_is_not_idle() -> None:
    harness, _ = source("a")
    assert not went_idle(harness, 10_000)


def test_a_split_is_idle_beside_one_that_always_has_records_but_not_by_time_held_back() -> None:
    harness, operator = source("a", "b")
    for _ in range(40):
        batch = operator.poll(1)
        assert isinstance(batch, Batch)
        operator.mark(batch)
        assert not went_idle(harness, 100)
        harness.services.held_ms += 100.0
    split = operator._event_time._splits["b"]  # type: ignore[union-attr]
    assert not split.idle
    for _ in range(13):
        batch = operator.poll(1)
        assert isinstance(batch, Batch)
        operator.mark(batch)
        went_idle(harness, 100)
    assert split.idle


def test_behind_a_source_time_held_back_is_not_idleness() -> None:
    harness = OperatorHarness(AssignFactory(IDLE_SOON))
    harness.open()
    for _ in range(20):
        harness.services.held_ms += 90.0
        assert not went_idle(harness, 100)
    assert not went_idle(harness, 700)
    assert went_idle(harness, 200)


class Files(SourceReader[str]):
    """Each split is a file with one record."""

    def __init__(self) -> None:
        self._left: list[str] = []

    def add_splits(self, splits: list[str]) -> None:
        self._left += splits

    def poll(self, records_max: int) -> Poll:
        return Records([self._left[0]], [0], self._left.pop(0)) if self._left else END_OF_INPUT

    def snapshot(self) -> list[str]:
        return self._left


class FilesThatAppear(PartsSource):
    watermarks_per_split = False
    discovery_interval_ms = 1_000

    def reader(self, context: SourceContext) -> Files:  # type: ignore[override]
        return Files()


def test_a_subtask_that_has_read_its_files_and_waits_for_more_goes_idle() -> None:
    harness = OperatorHarness(SourceFactory(FilesThatAppear(), IDLE_SOON), setup=Setup(splits=("a",)))
    harness.open()
    assert isinstance(harness.operator, SourceOperator)
    batch = harness.operator.poll(1)
    assert isinstance(batch, Batch)
    harness.operator.mark(batch)
    assert harness.operator.poll(1) == NotReady(math.inf)
    assert not went_idle(harness, 900)
    assert went_idle(harness, 400)
    harness.operator.add_splits([(1, "b")])
    batch = harness.operator.poll(1)
    assert isinstance(batch, Batch)
    assert WatermarkStatus(idle=False) in harness.operator.mark(batch)
