"""Records of a list."""

from __future__ import annotations

from headgate.connectors.collection import CollectionSource
from headgate.testing.contracts.source import ReaderContext, open_reader, read, read_all


def test_empty_list_has_no_records() -> None:
    assert read_all(CollectionSource([])) == []


def test_any_iterable_will_do() -> None:
    assert read_all(CollectionSource(range(3))) == [0, 1, 2]


def test_program_may_change_its_list_afterwards() -> None:
    records = [1, 2]
    source = CollectionSource(records)
    records.append(3)
    assert read_all(source) == [1, 2]


def test_list_that_is_read_may_be_changed_by_its_receiver() -> None:
    source = CollectionSource([1, 2])
    context = ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    read(reader, context, 1).clear()
    assert read(open_reader(source, source.splits(1), context), context) == [1, 2]
