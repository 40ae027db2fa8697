"""Reading at a rate, on a clock that moves by hand."""

from __future__ import annotations

import pytest

from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedReader, RateLimitedSource
from headgate.errors import ProgramError
from headgate.functions.source import NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.testing.contracts.source import ReaderContext, open_reader, read


def due(rate: float, waited_ms: float, parallelism: int = 1) -> int:
    """How many records come when the reader is next polled after so long a wait."""
    source = RateLimitedSource(NumberSequenceSource(0, 10**9), rate)
    context = ReaderContext(parallelism=parallelism)
    reader = open_reader(source, source.splits(1), context)
    assert read(reader, context, 1) == [0]
    context.clock.advance(waited_ms)
    polled = reader.poll(10**6)
    return len(polled.records) if isinstance(polled, Records) else 0


@pytest.mark.parametrize(("waited_ms", "records"), [(0, 0), (9, 0), (10, 1), (25, 2), (1_000, 100)])
def test_records_come_as_they_are_due(waited_ms: float, records: int) -> None:
    assert due(100, waited_ms) == records


def test_reader_that_fell_behind_catches_up_on_one_second_only() -> None:
    assert due(100, 60_000) == 100


def test_slow_rate_still_gives_a_record() -> None:
    assert due(0.5, 2_000) == 1


def test_each_subtask_has_its_share_of_the_rate() -> None:
    assert due(100, 1_000, parallelism=4) == 25


def test_reader_says_when_the_next_record_is_due() -> None:
    source = DataGeneratorSource(str, records_per_second=10)
    context = ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    read(reader, context, 1)
    polled = reader.poll(1)
    assert isinstance(polled, NotReady)
    assert polled.wake_ms == pytest.approx(100)


@pytest.mark.parametrize("rate", [1, 3, 7, 1_000, 12_345])
def test_rate_is_kept_over_time(rate: float) -> None:
    source = DataGeneratorSource(lambda index: index, records_per_second=rate)
    context = ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    count = 3_000
    read(reader, context, count + 1, asked=100)
    assert context.clock.monotonic_ms() == pytest.approx(count / rate * 1_000, rel=0.01)


@pytest.mark.parametrize("rate", [0, -1, float("inf"), float("nan")])
def test_rate_that_cannot_be_kept_is_refused(rate: float) -> None:
    with pytest.raises(ProgramError, match="rate"):
        RateLimitedSource(NumberSequenceSource(0, 1), rate)
    with pytest.raises(ProgramError, match="rate"):
        DataGeneratorSource(str, records_per_second=rate)


class Growing(Source[str]):
    """A source with all that a source can have."""

    bounded = False
    parallelism_max = 3
    discovery_interval_ms = 70
    watermarks_per_split = True

    def splits(self, parallelism: int) -> list[str]:
        return ["a"]

    def discover(self, known: frozenset[str]) -> list[str]:
        return sorted({"a", "b"} - known)

    def split_id(self, split: str) -> str:
        return f"id of {split}"

    def reader(self, context: SourceContext) -> SourceReader[str]:
        return GrowingReader(context)


class GrowingReader(SourceReader[str]):
    def __init__(self, context: SourceContext) -> None:
        self.context = context

    def add_splits(self, splits: list[str]) -> None:
        self.context.count("added", len(splits))

    def poll(self, records_max: int) -> Poll:
        return Records(["x"], [5], "id of a", ended=True)

    def snapshot(self) -> list[str]:
        return ["b"]

    def notify_completed(self, splits: list[str]) -> None:
        self.context.count(f"noted {splits}")


def test_a_limited_source_does_all_else_as_without_the_limit() -> None:
    plain = Growing()
    source = RateLimitedSource(plain, 5)
    assert not source.bounded
    assert (source.parallelism_max, source.discovery_interval_ms, source.watermarks_per_split) == (3, 70, True)
    assert source.splits(2) == ["a"]
    assert source.discover(frozenset("a")) == ["b"]
    assert source.split_id("a") == "id of a"
    context = ReaderContext()
    reader = source.reader(context)
    reader.add_splits(["a"])
    reader.add_splits(["b", "c"])
    assert reader.poll(10) == Records(["x"], [5], "id of a", ended=True)
    assert reader.snapshot() == ["b"]
    reader.notify_completed(["b"])
    assert context.counters == {"added": 3, "noted ['b']": 1}


def test_all_that_a_source_or_a_reader_can_be_asked_is_passed_on() -> None:
    """Whatever the protocol gets in future, too: what is inherited here would be lost without a word."""
    passed_on = set(vars(RateLimitedSource)) | set(vars(RateLimitedSource(Growing(), 1)))
    assert {name for name in vars(Source) if not name.startswith("_")} <= passed_on
    assert {name for name in vars(SourceReader) if not name.startswith("_")} <= set(vars(RateLimitedReader))
