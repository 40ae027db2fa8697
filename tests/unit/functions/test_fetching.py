"""Readers that block: whatever happens on an I/O thread, the position is what was handed to the loop."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import SourceError
from headgate.functions.fetching import Fetched, Fetcher, FetchingReader
from headgate.functions.source import END_OF_INPUT, NotReady, Records
from headgate.runtime.io import ThreadIo
from headgate.types.output_tag import OutputTag

Piece = tuple[str, int, int]
"""A split: its name, how many of its records are read, and how many it has."""


def name_of(piece: Piece) -> str:
    return piece[0]


@dataclass
class Context:
    """A reader's context whose work on an I/O thread is done when the test says so."""

    held: list[tuple[Callable[[], Any], Callable[[Any], None]]] = field(default_factory=list)
    results: list[Callable[[], None]] = field(default_factory=list)
    subtask: int = 0
    parallelism: int = 1

    def monotonic_ms(self) -> float:
        return 0.0

    def count(self, name: str, by: int = 1) -> None:
        pass

    def side_output(self, tag: OutputTag, value: object) -> None:
        pass

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.held.append((work, done))

    def work(self) -> None:
        """Do the first piece of work; its result is not there yet."""
        if self.held:
            work, done = self.held.pop(0)
            try:
                result = work()
            except Exception as error:  # noqa: BLE001  # a result, as in a slot
                result = error
            self.results.append(partial(done, result))

    def deliver(self) -> None:
        if self.results:
            self.results.pop(0)()

    def settle(self) -> None:
        while self.held or self.results:
            self.work()
            self.deliver()


class Pieces(Fetcher[Piece]):
    """Fetches up to `size` records of each split at a time."""

    def __init__(self, size: int = 3) -> None:
        self.size = size
        self.left: list[Piece] = []
        self.noted: list[list[Piece]] = []
        self.closed = 0
        self.fails = False

    def add_splits(self, splits: list[Piece]) -> None:
        assert not self.closed
        self.left += splits

    def fetch(self) -> list[Fetched[Piece]]:
        assert not self.closed
        if self.fails:
            raise SourceError("the broker is gone")
        fetched = [self._fetched(piece) for piece in self.left]
        self.left = [(name, min(at + self.size, end), end) for name, at, end in self.left if at + self.size < end]
        return fetched

    def _fetched(self, piece: Piece) -> Fetched[Piece]:
        name, at, end = piece
        records = [(name, number) for number in range(at, min(at + self.size, end))]

        def after(count: int) -> Piece:
            return name, at + count, end

        return Fetched(split=name, records=records, after=after, ended=at + self.size >= end)

    def notify_completed(self, splits: list[Piece]) -> None:
        self.noted.append(splits)

    def close(self) -> None:
        self.closed += 1


def reader_of(fetcher: Fetcher[Piece], context: Context, *splits: Piece) -> FetchingReader[Piece]:
    reader = FetchingReader(fetcher, context, name_of)
    reader.add_splits(list(splits))
    return reader


def rest_of(splits: list[Piece]) -> list[tuple[str, int]]:
    """What a new reader makes of a snapshot."""
    context = Context()
    reader = reader_of(Pieces(), context, *splits)
    records: list[Any] = []
    while (polled := reader.poll(2)) is not END_OF_INPUT:
        if isinstance(polled, Records):
            records += polled.records
        else:
            assert context.held or context.results, "the reader waits, but for nothing"
            context.settle()
    return sorted(records)


ACTION = st.one_of(
    st.tuples(st.just("poll"), st.integers(1, 5)),
    st.tuples(st.sampled_from(["work", "deliver", "snapshot", "note"])),
    st.tuples(st.just("add"), st.integers(1, 7)),
)


@given(st.lists(ACTION, max_size=40), st.integers(1, 4))
def test_a_snapshot_is_what_was_handed_over_in_any_interleaving(actions: list[Any], size: int) -> None:
    context = Context()
    reader = reader_of(Pieces(size), context, ("s0", 0, 5))
    ends = {"s0": 5}
    handed: list[Any] = []
    for action in actions:
        match action:
            case ("poll", records_max):
                polled = reader.poll(records_max)
                if isinstance(polled, Records):
                    assert len(polled.records) <= records_max
                    assert {name for name, _ in polled.records} <= {polled.split}
                    handed += polled.records
            case ("work",):
                context.work()
            case ("deliver",):
                context.deliver()
            case ("note",):
                reader.notify_completed(reader.snapshot())
            case ("add", end):
                name = f"s{len(ends)}"
                ends[name] = end
                reader.add_splits([(name, 0, end)])
            case _:
                everything = Counter((name, number) for name, end in ends.items() for number in range(end))
                assert Counter([*handed, *rest_of(reader.snapshot())]) == everything
        for name in ends:
            numbers = [number for of, number in handed if of == name]
            assert numbers == list(range(len(numbers)))


def test_one_fetch_is_under_way_at_a_time_and_none_while_enough_is_queued() -> None:
    context = Context()
    reader = reader_of(Pieces(1), context, ("a", 0, 9))
    for _ in range(3):
        reader.poll(1)
    assert len(context.held) == 1
    context.settle()
    reader.poll(1)
    assert len(context.held) == 1
    two_queued = reader_of(Pieces(1), context, ("a", 0, 9), ("b", 0, 9))
    two_queued.poll(1)
    context.settle()
    two_queued.poll(1)
    assert not context.held


def test_it_waits_for_the_fetch_and_not_for_a_time() -> None:
    context = Context()
    reader = reader_of(Pieces(), context, ("a", 0, 2))
    assert reader.poll(10) == NotReady(math.inf)
    context.settle()
    assert reader.poll(10) == Records([("a", 0), ("a", 1)], None, "a", ended=True)


def test_all_splits_read_to_their_ends_and_handed_over_are_the_end_of_the_input_until_more_come() -> None:
    context = Context()
    reader = reader_of(Pieces(), context, ("a", 0, 4))
    reader.poll(1)
    context.settle()
    assert isinstance(reader.poll(3), Records)
    assert isinstance(reader.poll(1), NotReady)
    context.settle()
    assert reader.poll(1) == Records([("a", 3)], None, "a", ended=True)
    assert reader.poll(1) is END_OF_INPUT
    reader.add_splits([("b", 0, 1)])
    assert isinstance(reader.poll(1), NotReady)
    context.settle()
    assert reader.poll(1) == Records([("b", 0)], None, "b", ended=True)


def test_splits_and_completed_positions_reach_the_fetcher_before_its_next_fetch() -> None:
    context, fetcher = Context(), Pieces()
    reader = reader_of(fetcher, context, ("a", 0, 30))
    reader.notify_completed([("a", 1, 30)])
    reader.notify_completed([("a", 2, 30)])
    reader.poll(1)
    context.settle()
    assert fetcher.noted == [[("a", 2, 30)]]
    reader.add_splits([("b", 0, 30)])
    reader.poll(3)
    context.settle()
    assert [name_of(piece) for piece in fetcher.left] == ["a", "b"]
    assert len(fetcher.noted) == 1


def test_the_last_completed_positions_are_noted_also_when_nothing_is_left_to_fetch() -> None:
    context, fetcher = Context(), Pieces()
    reader = reader_of(fetcher, context, ("a", 0, 1))
    reader.poll(1)
    context.settle()
    assert isinstance(reader.poll(1), Records)
    assert reader.poll(1) is END_OF_INPUT
    assert not context.held
    reader.notify_completed([])
    context.settle()
    assert fetcher.noted == [[]]


def test_what_a_fetch_raises_is_raised_by_the_next_poll() -> None:
    context, fetcher = Context(), Pieces()
    reader = reader_of(fetcher, context, ("a", 0, 9))
    fetcher.fails = True
    reader.poll(1)
    context.settle()
    for _ in range(2):
        with pytest.raises(SourceError, match="the broker is gone"):
            reader.poll(1)
    assert reader.snapshot() == [("a", 0, 9)]


def test_a_fetch_that_was_asked_for_before_the_end_and_begins_behind_it_fetches_nothing() -> None:
    context, fetcher = Context(), Pieces()
    reader = reader_of(fetcher, context, ("a", 0, 9))
    reader.poll(1)
    reader.close()
    reader.close()
    context.settle()
    assert (fetcher.left, fetcher.closed) == ([], 1)


class Pausing(Pieces):
    """Fetches nothing of splits that are paused."""

    pauses_splits = True

    def __init__(self, size: int = 3) -> None:
        super().__init__(size)
        self.paused: frozenset[str] = frozenset()

    def pause_splits(self, paused: frozenset[str]) -> None:
        self.paused = paused

    def fetch(self) -> list[Fetched[Piece]]:
        waits = [piece for piece in self.left if name_of(piece) in self.paused]
        self.left = [piece for piece in self.left if name_of(piece) not in self.paused]
        fetched = super().fetch()
        self.left += waits
        return fetched


def handed_over(reader: FetchingReader[Piece], context: Context, polls: int) -> list[Any]:
    records: list[Any] = []
    for _ in range(polls):
        polled = reader.poll(2)
        if isinstance(polled, Records):
            records += polled.records
        context.settle()
    return records


def test_a_paused_split_waits_with_what_is_fetched_of_it_and_goes_on_where_it_was() -> None:
    context, fetcher = Context(), Pausing()
    reader = reader_of(fetcher, context, ("a", 0, 12), ("b", 0, 12))
    reader.poll(1)
    context.settle()
    assert reader.poll(2) == Records([("a", 0), ("a", 1)], None, "a")
    reader.pause_splits(frozenset("a"))
    assert handed_over(reader, context, 20) == [("b", number) for number in range(12)]
    assert fetcher.paused == {"a"}
    assert ("a", 2, 12) in reader.snapshot()
    assert isinstance(reader.poll(1), NotReady)
    reader.pause_splits(frozenset())
    assert handed_over(reader, context, 20) == [("a", number) for number in range(2, 12)]
    assert reader.poll(1) is END_OF_INPUT


def test_what_is_queued_of_paused_splits_leaves_room_for_the_fetches_of_others() -> None:
    context, fetcher = Context(), Pausing(size=1)
    reader = reader_of(fetcher, context, ("a", 0, 9), ("b", 0, 9), ("c", 0, 9))
    reader.poll(1)
    context.settle()
    reader.pause_splits(frozenset("ab"))
    assert handed_over(reader, context, 30) == [("c", number) for number in range(9)]


def test_a_reader_pauses_splits_if_its_fetcher_does() -> None:
    assert not reader_of(Pieces(), Context()).pauses_splits
    assert reader_of(Pausing(), Context()).pauses_splits


class Hanging(Pieces):
    """A fetch that lasts until the test lets it go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.story: list[str] = []

    def fetch(self) -> list[Fetched[Piece]]:
        self.begun.set()
        assert self.go_on.wait(120.0)
        self.story.append("fetched")
        return super().fetch()

    def close(self) -> None:
        super().close()
        self.story.append("closed")


class OnThreads(Context):
    def __init__(self) -> None:
        super().__init__()
        self.io = ThreadIo(1, "fetch", lambda: None)

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.io.submit_waiting(work, done)


def test_a_close_during_a_fetch_does_not_block_and_closes_the_fetcher_once_behind_it() -> None:
    context, fetcher = OnThreads(), Hanging()
    reader = reader_of(fetcher, context, ("a", 0, 9))
    assert reader.poll(1) == NotReady(math.inf)
    assert fetcher.begun.wait(120.0)
    reader.close()
    assert fetcher.story == []
    fetcher.go_on.set()
    context.io.close()
    assert fetcher.story == ["fetched", "closed"]


def test_a_fetcher_is_closed_also_when_the_program_ends_at_once() -> None:
    context, fetcher = OnThreads(), Pieces()
    reader = reader_of(fetcher, context, ("a", 0, 9))
    reader.close()
    context.io.close()
    assert fetcher.closed == 1
