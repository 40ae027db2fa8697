"""The source operator: splits are its state, and reading goes on exactly after the last record polled."""

from __future__ import annotations

import copy
from typing import Any

import pyarrow as pa
import pytest

from headgate.connectors.collection import CollectionSource
from headgate.connectors.datagen import DataGeneratorSource
from headgate.elements import Batch
from headgate.errors import ProgramError
from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.operators.source import SourceFactory, SourceOperator
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup
from headgate.types.record_copies import BY_VALUE


def opened(source: Source[Any], *, restored: list[SavedOperator] | None = None) -> OperatorHarness:
    harness = OperatorHarness(
        SourceFactory(source), setup=Setup(splits=tuple(source.splits(1))), restored=restored or ()
    )
    harness.open()
    return harness


def poll(harness: OperatorHarness, records_max: int = 100) -> Batch | NotReady | object:
    assert isinstance(harness.operator, SourceOperator)
    return harness.operator.poll(records_max)


def records(harness: OperatorHarness, records_max: int = 100) -> list[object]:
    batch = poll(harness, records_max)
    assert isinstance(batch, Batch)
    return batch.records


def test_after_a_restore_the_next_record_is_the_first_not_yet_polled() -> None:
    source = CollectionSource("abcde")
    harness = opened(source)
    assert records(harness, 2) == ["a", "b"]
    saved = harness.snapshot()
    assert records(harness, 2) == ["c", "d"]
    assert records(opened(source, restored=[saved])) == ["c", "d", "e"]


def test_a_source_read_to_its_end_stays_at_its_end() -> None:
    source = CollectionSource("ab")
    harness = opened(source)
    records(harness)
    assert poll(harness) is END_OF_INPUT
    assert poll(opened(source, restored=[harness.snapshot()])) is END_OF_INPUT


def reading(source: Source[Any], place: Setup, restored: list[SavedOperator]) -> OperatorHarness:
    harness = OperatorHarness(SourceFactory(source), setup=place, restored=restored)
    harness.open()
    return harness


def everything(harness: OperatorHarness) -> list[object]:
    """Read to the end."""
    read: list[object] = []
    while isinstance(batch := poll(harness), Batch):
        read += batch.records
    return read


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2), (3, 1), (2, 2)])
@pytest.mark.parametrize("source", [CollectionSource(range(20)), DataGeneratorSource(int, 20)], ids=["list", "made"])
def test_at_another_parallelism_all_goes_on_where_it_stopped(source: Source[Any], before: int, after: int) -> None:
    read: list[object] = []
    saved: list[SavedOperator] = []
    splits = source.splits(before)
    for subtask in range(before):
        place = Setup(subtask=subtask, parallelism=before, splits=tuple(splits[subtask::before]))
        harness = reading(source, place, [])
        batch = poll(harness, 3)
        read += batch.records if isinstance(batch, Batch) else []
        saved.append(harness.snapshot())
    for subtask in range(after):
        read += everything(reading(source, Setup(subtask=subtask, parallelism=after), saved))
    assert sorted(map(str, read)) == sorted(map(str, range(20)))


class Columns(Source[int]):
    """Gives one Arrow batch, counts it, then waits."""

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return ColumnsReader(context)


class ColumnsReader(SourceReader[int]):
    def __init__(self, context: SourceContext) -> None:
        self.context = context
        self.is_first = True

    def add_splits(self, splits: list[int]) -> None:
        assert splits == [0]

    def poll(self, records_max: int) -> Poll:
        if not self.is_first:
            return NotReady(self.context.monotonic_ms() + 5)
        self.is_first = False
        self.context.count("rows", 2)
        return Records(pa.RecordBatch.from_pydict({"a": [1, 2], "b": ["x", "y"]}), [10, 20])

    def snapshot(self) -> list[int]:
        return [0]


def test_columns_become_rows_with_their_timestamps() -> None:
    harness = opened(Columns())
    batch = poll(harness)
    assert isinstance(batch, Batch)
    assert [(row["a"], row["b"]) for row in batch.records] == [(1, "x"), (2, "y")]
    assert batch.timestamps == [10, 20]


def test_a_reader_has_the_clock_and_the_counters_of_its_slot() -> None:
    harness = opened(Columns())
    harness.clock.advance(100)
    poll(harness)
    assert poll(harness) == NotReady(105)
    assert harness.services.counters == {"rows": 2}


def test_a_source_takes_no_records() -> None:
    with pytest.raises(Exception, match="takes no input"):
        opened(Columns()).process("a")


class Careless(Source[int]):
    """Gives what it is told to where the protocol wants something else."""

    def __init__(self, reads: object = None, splits: object = (0,)) -> None:
        self.reads = reads
        self.its_splits = splits

    def splits(self, parallelism: int) -> list[int]:
        return self.its_splits  # type: ignore[return-value]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return CarelessReader(self.reads)


class CarelessReader(SourceReader[int]):
    def __init__(self, reads: object) -> None:
        self.reads = reads

    def add_splits(self, splits: list[int]) -> None:
        pass

    def poll(self, records_max: int) -> Poll:
        return self.reads  # type: ignore[return-value]

    def snapshot(self) -> list[int]:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize(("reads", "found"), [(None, "None"), ([1, 2], "a list"), (type(END_OF_INPUT), "a type")])
def test_a_poll_that_returns_something_else_is_an_error_that_names_it(reads: object, found: str) -> None:
    harness = opened(Careless(reads, splits=[0]))
    with pytest.raises(ProgramError, match=f"poll\\(\\) of CarelessReader returned {found}, but must return a Records"):
        poll(harness)


@pytest.mark.parametrize("records", [[1, 2], [{"n": 1}, {"n": 2}]], ids=["numbers", "dicts"])
def test_what_a_reader_keeps_stays_as_it_is(records: list[Any]) -> None:
    harness = opened(Careless(Records(records, [10, 20]), splits=[0]))
    for _ in range(2):
        batch = poll(harness)
        assert isinstance(batch, Batch)
        assert batch.records == copy.deepcopy(records)
        for record in batch.records:
            if isinstance(record, dict):
                record["n"] = 9
        batch.append(Batch([{"n": 3}], [30]))
    assert records in ([1, 2], [{"n": 1}, {"n": 2}])


def test_a_record_that_a_reader_lets_go_of_is_not_copied_behind_it() -> None:
    class OnceReader(CarelessReader):
        def poll(self, records_max: int) -> Poll:
            return Records([{"n": 1}])

    class Once(Careless):
        def reader(self, context: SourceContext) -> SourceReader[int]:
            return OnceReader(None)

    harness = opened(Once(None, splits=[0]))
    batch = poll(harness)
    assert isinstance(batch, Batch)
    same = id(batch.records[0])
    (passed,), _ = BY_VALUE.mapped(lambda record: record, iter(batch.records))
    assert id(passed) == same


def test_timestamps_that_are_not_one_for_each_record_are_an_error() -> None:
    harness = opened(Careless(Records(["a", "b"], [1]), splits=[0]))
    with pytest.raises(ProgramError, match="1 timestamps for 2 records"):
        poll(harness)


def test_a_snapshot_that_is_no_list_is_an_error_that_names_it() -> None:
    with pytest.raises(ProgramError, match=r"snapshot\(\) of CarelessReader returned None, but must return a list"):
        opened(Careless(splits=[0])).snapshot()
