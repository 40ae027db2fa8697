"""A source with fetches, discovery and watermarks per split passes the contract, and its faults are found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headgate.functions.fetching import Fetched, Fetcher, FetchingReader
from headgate.functions.source import Poll, Records, Source, SourceContext, SourceReader
from headgate.testing.contracts import source as contract
from headgate.testing.contracts.source import SourceCase

QUEUES = {"a": ["a0", "a1", "a2", "a3", "a4"], "b": ["b0"], "c": [f"c{number}" for number in range(9)], "d": []}
RECORDS = [record for queue in QUEUES.values() for record in queue]
Place = tuple[str, int]


class QueueFetcher(Fetcher[Place]):
    """Fetches some of the next queue in turn, and now and then nothing."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.turns = 0
        self.closed = False

    def add_splits(self, splits: list[Place]) -> None:
        self.places += splits

    def fetch(self) -> list[Fetched[Place]]:
        assert not self.closed
        self.turns += 1
        ready = [(name, start) for name, start in self.places if start < len(QUEUES[name])]
        if self.turns % 3 == 0 or not ready:
            return []
        name, start = ready[0]
        self.places.remove((name, start))
        records = QUEUES[name][start : start + 3]
        self.places.append((name, start + len(records)))
        return [self.fetched(name, start, records)]

    def fetched(self, name: str, start: int, records: list[str]) -> Fetched[Place]:
        return Fetched(split=name, records=records, after=lambda count: (name, start + count))

    def close(self) -> None:
        assert not self.closed
        self.closed = True


class Queues(Source[Place]):
    bounded = False
    discovery_interval_ms = 100
    watermarks_per_split = True

    def splits(self, parallelism: int) -> list[Place]:
        return [(name, 0) for name in QUEUES]

    def discover(self, known: frozenset[str]) -> list[Place]:
        return [(name, 0) for name in QUEUES if name not in known]

    def split_id(self, split: Place) -> str:
        return split[0]

    def fetcher(self) -> QueueFetcher:
        return QueueFetcher()

    def reader(self, context: SourceContext) -> SourceReader[Place]:
        return FetchingReader(self.fetcher(), context, self.split_id)


class PositionsAhead(QueueFetcher):
    """The position is what was fetched."""

    def fetched(self, name: str, start: int, records: list[str]) -> Fetched[Place]:
        return Fetched(split=name, records=records, after=lambda _: (name, start + len(records)))


class OnlyTheFirst(QueueFetcher):
    """Splits that come while it reads are forgotten."""

    def add_splits(self, splits: list[Place]) -> None:
        self.places = self.places or splits


class QueuesAhead(Queues):
    def fetcher(self) -> QueueFetcher:
        return PositionsAhead()


class QueuesOfTheStart(Queues):
    def fetcher(self) -> QueueFetcher:
        return OnlyTheFirst()


class QueuesFoundAgain(Queues):
    def discover(self, known: frozenset[str]) -> list[Place]:
        return self.splits(1)


class QueuesNeverFound(Queues):
    def discover(self, known: frozenset[str]) -> list[Place]:
        return []


class QueuesNamedByPosition(Queues):
    def split_id(self, split: Place) -> str:
        return f"{split[0]} at {split[1]}"

    def reader(self, context: SourceContext) -> SourceReader[Place]:
        return FetchingReader(self.fetcher(), context, lambda split: split[0])


class QueuesOfOneName(Queues):
    def split_id(self, split: Place) -> str:
        return "queue"


class QueuesWithoutNames(Queues):
    def split_id(self, split: Place) -> str:
        return Source.split_id(self, split)


class QueuesThatEnd(Queues):
    bounded = True


class Untold(SourceReader[Place]):
    """Does not say which split records are of."""

    def __init__(self, reader: SourceReader[Place]) -> None:
        self.reader = reader

    def add_splits(self, splits: list[Place]) -> None:
        self.reader.add_splits(splits)

    def poll(self, records_max: int) -> Poll:
        polled = self.reader.poll(records_max)
        return Records(polled.records) if isinstance(polled, Records) else polled

    def snapshot(self) -> list[Place]:
        return self.reader.snapshot()


class QueuesUntold(Queues):
    def reader(self, context: SourceContext) -> SourceReader[Place]:
        return Untold(super().reader(context))


@pytest.mark.parametrize("check", contract.SOURCE_CHECKS, ids=lambda check: check.__name__)
def test_the_source_passes(check: Callable[[SourceCase], None]) -> None:
    check(SourceCase(source=Queues(), expected=RECORDS, ordered=False))


@pytest.mark.parametrize(
    ("source", "check"),
    [
        (QueuesAhead(), contract.check_reading_goes_on_at_any_record),
        (QueuesOfTheStart(), contract.check_splits_may_be_added_while_reading),
        (QueuesFoundAgain(), contract.check_discovery_finds_nothing_that_is_known),
        (QueuesNeverFound(), contract.check_discovery_finds_nothing_that_is_known),
        (QueuesThatEnd(), contract.check_discovery_finds_nothing_that_is_known),
        (QueuesNamedByPosition(), contract.check_splits_keep_their_names),
        (QueuesOfOneName(), contract.check_splits_keep_their_names),
        (QueuesWithoutNames(), contract.check_splits_keep_their_names),
        (QueuesUntold(), contract.check_records_tell_of_which_split_they_are),
    ],
    ids=lambda each: each.__name__ if callable(each) else type(each).__name__,
)
@pytest.mark.slow
def test_a_fault_is_found(source: Source[Place], check: Callable[[SourceCase], None]) -> None:
    with pytest.raises(AssertionError):
        check(SourceCase(source=source, expected=RECORDS, ordered=False))
