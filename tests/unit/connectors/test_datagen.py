"""Generated records."""

from __future__ import annotations

import pytest

from headgate.connectors.datagen import DataGeneratorSource
from headgate.errors import ProgramError
from headgate.testing.contracts.source import ReaderContext, deal, open_reader, read, read_all


def test_source_without_a_count_does_not_end() -> None:
    source = DataGeneratorSource(str)
    assert not source.bounded
    context = ReaderContext()
    assert len(read(open_reader(source, source.splits(1), context), context, 5_000)) == 5_000


def test_restored_reader_computes_the_same_records() -> None:
    source = DataGeneratorSource(lambda index: index)
    shares = deal(source.splits(2), 2)
    context = ReaderContext()
    reader = open_reader(source, shares[1], context)
    assert read(reader, context, 3) == [1, 3, 5]
    splits = reader.snapshot()
    assert read(reader, context, 2) == read(open_reader(source, splits, context), context, 2) == [7, 9]


def test_reader_of_several_endless_splits_reads_them_all() -> None:
    source = DataGeneratorSource(lambda index: index)
    context = ReaderContext()
    assert set(range(20)) <= set(read(open_reader(source, source.splits(3), context), context, 60))


def test_error_of_the_function_reaches_the_caller_and_loses_nothing() -> None:
    source = DataGeneratorSource(lambda index: 1 // (index - 2), 4)
    context = ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    with pytest.raises(ZeroDivisionError):
        read(reader, context, 4)
    assert reader.snapshot() == source.splits(1)


def test_a_stop_iteration_of_the_function_is_an_error_and_not_the_end_of_the_records() -> None:
    source = DataGeneratorSource(lambda index: next(iter([])), 4)
    context = ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    with pytest.raises(StopIteration):
        reader.poll(4)
    assert reader.snapshot() == source.splits(1)


def test_no_records_can_be_asked_for() -> None:
    assert read_all(DataGeneratorSource(str, 0)) == []


def test_negative_count_is_refused() -> None:
    with pytest.raises(ProgramError, match="-1 records"):
        DataGeneratorSource(str, -1)


def test_a_function_may_return_one_object_again_and_again() -> None:
    one: dict[str, int] = {}

    def numbered(index: int) -> dict[str, int]:
        one["n"] = index
        return one

    assert read_all(DataGeneratorSource(numbered, 4)) == [{"n": 0}, {"n": 1}, {"n": 2}, {"n": 3}]
