"""What every source must do, as checks to run on your own.

>>> from headgate.connectors.number_seq import NumberSequenceSource
>>> for check in SOURCE_CHECKS:
...     check(SourceCase(source=NumberSequenceSource(1, 20), expected=list(range(1, 21))))
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, final

import cloudpickle
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.clock import VirtualClock
from headgate.functions.source import EndOfInput, NotReady, Records, Source, SourceReader

_POLLS_MAX: Final = 100_000
_ASKED_MAX: Final = 7


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCase:
    """A bounded source with a few dozen known records, in the order in which one subtask reads them.

    Records must have a `repr` that tells them apart.
    """

    source: Source[Any]
    expected: list[Any]
    parallelism: tuple[int, ...] = (1, 2, 3)
    """How many subtasks to try; those above `parallelism_max` are left out."""


@final
@dataclass(slots=True)
class ReaderContext:
    """A source context with a clock that stands still until somebody moves it, and counters to look at."""

    subtask: int = 0
    parallelism: int = 1
    clock: VirtualClock = field(default_factory=VirtualClock)
    counters: Counter[str] = field(default_factory=Counter)

    def monotonic_ms(self) -> float:
        return self.clock.monotonic_ms()

    def count(self, name: str, by: int = 1) -> None:
        self.counters[name] += by


def deal(splits: list[Any], parallelism: int) -> list[list[Any]]:
    """Deal splits to subtasks as the runtime does: in turn."""
    return [splits[subtask::parallelism] for subtask in range(parallelism)]


def open_reader(source: Source[Any], splits: list[Any], context: ReaderContext) -> SourceReader[Any]:
    """Return a reader that took the splits, after source and splits went through pickle."""
    reader: SourceReader[Any] = pickle.loads(cloudpickle.dumps(source)).reader(context)  # noqa: S301
    reader.add_splits(pickle.loads(pickle.dumps(splits)))  # noqa: S301
    return reader


def read(
    reader: SourceReader[Any], context: ReaderContext, count: int | None = None, asked: int = _ASKED_MAX
) -> list[Any]:
    """Return up to `count` records, all of them for None; where the reader has to wait, the clock moves."""
    records: list[Any] = []
    for _ in range(_POLLS_MAX):
        wanted = asked if count is None else min(asked, count - len(records))
        if wanted == 0:
            return records
        polled = reader.poll(wanted)
        match polled:
            case EndOfInput():
                return records
            case NotReady(wake_ms):
                assert wake_ms > context.clock.monotonic_ms(), "a wait that ends now keeps the loop busy"
                context.clock.advance_to(wake_ms)
            case Records(some):
                assert len(some) <= wanted, f"asked for {wanted} records, got {len(some)}"
                records += some.to_pylist() if isinstance(some, pa.RecordBatch) else some
    raise AssertionError(f"the source did not end within {_POLLS_MAX} polls")


def read_all(source: Source[Any], parallelism: int = 1) -> list[Any]:
    """Return all records, those of subtask 0 first."""
    records = []
    for subtask, splits in enumerate(deal(source.splits(parallelism), parallelism)):
        context = ReaderContext(subtask=subtask, parallelism=parallelism)
        reader = open_reader(source, splits, context)
        records += read(reader, context)
        reader.close()
    return records


def check_one_reader_keeps_the_order(case: SourceCase) -> None:
    """One subtask reads all records in order, however many are asked for at a time."""
    for asked in (1, 3, 10_000):
        context = ReaderContext()
        reader = open_reader(case.source, case.source.splits(1), context)
        assert read(reader, context, asked=asked) == case.expected
        reader.close()


def check_readers_share_the_records(case: SourceCase) -> None:
    """Several subtasks read each record once between them."""
    for parallelism in _parallelisms(case):
        assert _counted(read_all(case.source, parallelism)) == _counted(case.expected)


def check_reading_goes_on_at_any_record(case: SourceCase) -> None:
    """A snapshot at any place, restored any number of times, gives exactly the rest, in order."""

    @settings(max_examples=40, deadline=None, database=None)
    @given(st.lists(st.integers(0, max(1, len(case.expected))), max_size=4), st.integers(1, 50))
    def restore_in_pieces(pieces: list[int], asked: int) -> None:
        splits, records = case.source.splits(1), []
        for piece in [*pieces, None]:
            context = ReaderContext()
            reader = open_reader(case.source, splits, context)
            records += read(reader, context, piece, asked)
            splits = reader.snapshot()
            reader.close()
        assert records == case.expected

    restore_in_pieces()


def check_a_snapshot_changes_nothing(case: SourceCase) -> None:
    """Taking a snapshot neither skips nor repeats a record, and it stays as it was while reading goes on."""
    context = ReaderContext()
    reader = open_reader(case.source, case.source.splits(1), context)
    first = reader.snapshot()
    kept = pickle.dumps(first)
    records = read(reader, context, 1)
    reader.snapshot()
    records += read(reader, context)
    assert records == case.expected
    assert pickle.dumps(first) == kept
    assert reader.snapshot() == []
    reader.close()


def check_restored_splits_can_be_dealt_anew(case: SourceCase) -> None:
    """Splits of a snapshot taken at one parallelism are read completely at another."""
    before = max(_parallelisms(case))
    records, left = [], []
    for subtask, splits in enumerate(deal(case.source.splits(before), before)):
        context = ReaderContext(subtask=subtask, parallelism=before)
        reader = open_reader(case.source, splits, context)
        records += read(reader, context, 2)
        left += reader.snapshot()
        reader.close()
    context = ReaderContext()
    reader = open_reader(case.source, left, context)
    records += read(reader, context)
    reader.close()
    assert _counted(records) == _counted(case.expected)


def check_a_reader_without_splits_is_at_the_end(case: SourceCase) -> None:
    """A subtask that was dealt nothing says so, and keeps saying so."""
    reader = open_reader(case.source, [], ReaderContext())
    assert isinstance(reader.poll(1), EndOfInput)
    assert isinstance(reader.poll(1), EndOfInput)
    assert reader.snapshot() == []
    reader.close()


def check_a_reader_may_be_closed_twice(case: SourceCase) -> None:
    """Closing works at any time: before reading, in the middle, twice."""
    open_reader(case.source, case.source.splits(1), ReaderContext()).close()
    context = ReaderContext()
    reader = open_reader(case.source, case.source.splits(1), context)
    read(reader, context, 1)
    reader.close()
    reader.close()


SOURCE_CHECKS: Final[list[Callable[[SourceCase], None]]] = [
    check_one_reader_keeps_the_order,
    check_readers_share_the_records,
    check_reading_goes_on_at_any_record,
    check_a_snapshot_changes_nothing,
    check_restored_splits_can_be_dealt_anew,
    check_a_reader_without_splits_is_at_the_end,
    check_a_reader_may_be_closed_twice,
]


def _parallelisms(case: SourceCase) -> list[int]:
    limit = case.source.parallelism_max
    return [parallelism for parallelism in case.parallelism if limit is None or parallelism <= limit]


def _counted(records: list[Any]) -> Counter[Any]:
    return Counter(map(repr, records))
