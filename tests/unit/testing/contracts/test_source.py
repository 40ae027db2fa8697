"""Faults planted in a source, each of which a check of the contract finds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.testing.contracts import source as contract
from headgate.testing.contracts.source import SourceCase

RECORDS = list(range(20))


class Reader(SourceReader[int]):
    """Reads `RECORDS` from a position on, as it should."""

    def __init__(self) -> None:
        self.position = len(RECORDS)

    def add_splits(self, splits: list[int]) -> None:
        self.position = splits[0] if splits else len(RECORDS)

    def poll(self, records_max: int) -> Poll:
        records = RECORDS[self.position : self.position + records_max]
        self.position += len(records)
        return Records(list(records)) if records else END_OF_INPUT

    def snapshot(self) -> list[int]:
        return [self.position] if self.position < len(RECORDS) else []


class ReaderAhead(Reader):
    def snapshot(self) -> list[int]:
        return [self.position + 1] if self.position < len(RECORDS) - 1 else []


class ReaderBehind(Reader):
    def snapshot(self) -> list[int]:
        return [max(0, self.position - 1)]


class ReaderThatGivesTooMuch(Reader):
    def poll(self, records_max: int) -> Poll:
        return super().poll(records_max + 1)


class ReaderThatSpins(Reader):
    def poll(self, records_max: int) -> Poll:
        return super().poll(records_max) if self.position % 2 else NotReady(0.0)


class ReaderThatClosesOnce(Reader):
    closed = False

    def close(self) -> None:
        assert not self.closed
        self.closed = True


class ReaderThatMovesOnAtSnapshots(Reader):
    def snapshot(self) -> list[int]:
        self.position += 1
        return super().snapshot()


class PlantedSource(Source[int]):
    parallelism_max = 1

    def __init__(self, reader_class: type[Reader]) -> None:
        self.reader_class = reader_class

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> Reader:
        return self.reader_class()


@pytest.mark.parametrize(
    ("reader_class", "check"),
    [
        (ReaderAhead, contract.check_reading_goes_on_at_any_record),
        (ReaderBehind, contract.check_reading_goes_on_at_any_record),
        (ReaderThatGivesTooMuch, contract.check_one_reader_keeps_the_order),
        (ReaderThatSpins, contract.check_one_reader_keeps_the_order),
        (ReaderThatClosesOnce, contract.check_a_reader_may_be_closed_twice),
        (ReaderThatMovesOnAtSnapshots, contract.check_a_snapshot_changes_nothing),
        (ReaderBehind, contract.check_a_reader_without_splits_is_at_the_end),
    ],
)
@pytest.mark.slow
def test_fault_is_found(reader_class: type[Reader], check: Callable[[SourceCase], None]) -> None:
    with pytest.raises(AssertionError):
        check(SourceCase(source=PlantedSource(reader_class), expected=RECORDS))


@pytest.mark.parametrize("check", contract.SOURCE_CHECKS)
def test_source_without_fault_passes(check: Callable[[SourceCase], None]) -> None:
    check(SourceCase(source=PlantedSource(Reader), expected=RECORDS))
