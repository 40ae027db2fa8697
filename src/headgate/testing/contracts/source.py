"""Checks of what every source must do.

Readers run without threads: the test does the work that they submit, one piece after the other.

>>> from headgate.connectors.number_seq import NumberSequenceSource
>>> for check in SOURCE_CHECKS:
...     check(SourceCase(source=NumberSequenceSource(1, 20), expected=list(range(1, 21))))
"""

from __future__ import annotations

import math
import pickle
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, final

import cloudpickle
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.clock import VirtualClock
from headgate.functions.source import (
    EndOfInput,
    NoMoreSplits,
    NotReady,
    Records,
    Source,
    SourceReader,
    splits_of_all_stages,
)
from headgate.types.output_tag import OutputTag

_POLLS_MAX: Final = 100_000
_ASKED_MAX: Final = 7
_QUIET_MAX: Final = 3
"""How many times in a row a reader without an end must return nothing before the check stops reading."""
_SILENT_MAX: Final = 10
"""The same, before it has returned a record: a client may take long to connect."""

_RESUMED_MAX: Final = 10
"""How often to read again after splits are resumed, as their records may take a while."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCase:
    """A source with a few dozen known records, in the order in which one subtask reads them.

    Records must differ in their `repr`. For a source that is not bounded, these are the records that are there now.
    `ordered`: False for a source whose reader may take its splits in turns, so that only the order within each split is
    known.
    """

    source: Source[Any]
    expected: list[Any]
    ordered: bool = True
    parallelism: tuple[int, ...] = (1, 2, 3)
    """The numbers of subtasks to try; numbers above `parallelism_max` are left out."""
    histories: int = 40
    """How many histories of restores to try; choose fewer where a reader is slow."""


@final
@dataclass(slots=True)
class ReaderContext:
    """A source context with a clock that only the test moves, and with counters to check.

    `work` does the work that the reader submits; `read` calls it when the reader returns no records, with `eager` after
    each poll.
    """

    subtask: int = 0
    parallelism: int = 1
    clock: VirtualClock = field(default_factory=VirtualClock)
    counters: Counter[str] = field(default_factory=Counter)
    sides: list[tuple[str, Any]] = field(default_factory=list)
    """Values emitted to side outputs, each with the id of its tag."""
    eager: bool = False
    submitted: deque[tuple[Callable[[], Any], Callable[[Any], None]]] = field(default_factory=deque)

    def monotonic_ms(self) -> float:
        return self.clock.monotonic_ms()

    def count(self, name: str, by: int = 1) -> None:
        self.counters[name] += by

    def side_output(self, tag: OutputTag, value: object) -> None:
        self.sides.append((tag.tag_id, value))

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.submitted.append((work, done))

    def work(self) -> bool:
        """Do all submitted work, and pass the results to the reader; return whether there was any."""
        worked = bool(self.submitted)
        while self.submitted:
            work, done = self.submitted.popleft()
            try:
                result: Any = work()
            except Exception as error:  # noqa: BLE001  # a result, as in a slot
                result = error
            done(result)
        return worked


def deal(splits: list[Any], parallelism: int) -> list[list[Any]]:
    """Assign splits to subtasks as the runtime does: in turn."""
    return [splits[subtask::parallelism] for subtask in range(parallelism)]


def open_reader(source: Source[Any], splits: list[Any], context: ReaderContext) -> SourceReader[Any]:
    """Return a reader with the splits, both from pickled and unpickled copies."""
    reader: SourceReader[Any] = pickle.loads(cloudpickle.dumps(source)).reader(context)  # noqa: S301
    reader.add_splits(pickle.loads(pickle.dumps(splits)))  # noqa: S301
    return reader


def close(reader: SourceReader[Any], context: ReaderContext) -> None:
    """Close a reader, and do the work that it submits for that."""
    reader.close()
    context.work()


def read(
    reader: SourceReader[Any],
    context: ReaderContext,
    count: int | None = None,
    asked: int = _ASKED_MAX,
    *,
    endless: bool = False,
) -> list[Any]:
    """Return up to `count` records, all for None; moves the clock where the reader waits.

    `endless`: the reader has no end; reading stops when it returns nothing several times in a row.
    """
    records: list[Any] = []
    quiet = 0
    for _ in range(_POLLS_MAX):
        wanted = asked if count is None else min(asked, count - len(records))
        if wanted == 0 or quiet == (_QUIET_MAX if records else _SILENT_MAX):
            return records
        polled = reader.poll(wanted)
        if context.eager:
            context.work()
        if isinstance(polled, Records):
            quiet = 0
            records += _rows(polled, wanted)
            continue
        if isinstance(polled, EndOfInput) and not endless:
            return records
        quiet += endless
        if isinstance(polled, NotReady):
            _wait(polled.wake_ms, context, endless=endless)
    raise AssertionError(f"the source did not end within {_POLLS_MAX} polls")


def _wait(wake_ms: float, context: ReaderContext, *, endless: bool) -> None:
    """Do the work that the reader waits for, or move the clock."""
    assert wake_ms > context.clock.monotonic_ms(), "a wait that ends now keeps the loop busy"
    if context.work():
        return
    if not math.isinf(wake_ms):
        context.clock.advance_to(wake_ms)
    else:
        assert endless or context.eager, "the reader waits for what it has submitted, but it has submitted nothing"


def _rows(polled: Records, wanted: int) -> list[Any]:
    some = polled.records
    assert len(some) <= wanted, f"asked for {wanted} records, got {len(some)}"
    assert polled.timestamps is None or len(polled.timestamps) == len(some), (
        "there must be one timestamp for each record"
    )
    return some.to_pylist() if isinstance(some, pa.RecordBatch) else some


def read_all(source: Source[Any], parallelism: int = 1) -> list[Any]:
    """Return the records of all subtasks, beginning with subtask 0."""
    records = []
    for subtask, splits in enumerate(deal(splits_of_all_stages(source, parallelism), parallelism)):
        records += _read_splits(source, splits, ReaderContext(subtask=subtask, parallelism=parallelism))[0]
    return records


def _read_splits(
    source: Source[Any], splits: list[Any], context: ReaderContext, count: int | None = None, asked: int = _ASKED_MAX
) -> tuple[list[Any], list[Any]]:
    """Read the splits with a new reader. Return the records, and the splits that remain unread."""
    reader = open_reader(source, splits, context)
    records = read(reader, context, count, asked, endless=not source.bounded)
    left = reader.snapshot()
    close(reader, context)
    return records, left


def check_one_reader_keeps_the_order(case: SourceCase) -> None:
    """One subtask reads all records in order, whatever the `records_max` of each poll."""
    for asked in (1, 3, 10_000):
        records, _ = _read_splits(case.source, splits_of_all_stages(case.source, 1), ReaderContext(), asked=asked)
        _compare(case, records)


def check_readers_share_the_records(case: SourceCase) -> None:
    """Several subtasks read each record once between them."""
    for parallelism in _parallelisms(case):
        assert _counted(read_all(case.source, parallelism)) == _counted(case.expected)


def check_reading_goes_on_at_any_record(case: SourceCase) -> None:
    """A snapshot at any position, restored any number of times, gives exactly the remaining records, in order.

    The reader may have fetched more records than it has returned, or none beyond these.
    """

    @settings(max_examples=case.histories, deadline=None, database=None)
    @given(st.lists(st.integers(0, max(1, len(case.expected))), max_size=4), st.integers(1, 50), st.booleans())
    def restore_in_pieces(pieces: list[int], asked: int, eager: bool) -> None:
        splits, records = splits_of_all_stages(case.source, 1), []
        for piece in [*pieces, None]:
            more, splits = _read_splits(case.source, splits, ReaderContext(eager=eager), piece, asked)
            records += more
        _compare(case, records)

    restore_in_pieces()


def check_a_snapshot_changes_nothing(case: SourceCase) -> None:
    """Taking a snapshot neither skips nor repeats a record, and later reading does not change the snapshot."""
    context = ReaderContext()
    reader = open_reader(case.source, splits_of_all_stages(case.source, 1), context)
    first = reader.snapshot()
    kept = pickle.dumps(first)
    records = read(reader, context, 1)
    reader.snapshot()
    records += read(reader, context, endless=not case.source.bounded)
    _compare(case, records)
    assert pickle.dumps(first) == kept
    if case.source.bounded:
        assert reader.snapshot() == []
    close(reader, context)


def check_restored_splits_can_be_dealt_again(case: SourceCase) -> None:
    """Splits of a snapshot taken at one parallelism are read completely at another."""
    before = max(_parallelisms(case))
    records, left = [], []
    for subtask, splits in enumerate(deal(splits_of_all_stages(case.source, before), before)):
        context = ReaderContext(subtask=subtask, parallelism=before)
        some, rest = _read_splits(case.source, splits, context, 2)
        records += some
        left += rest
    records += _read_splits(case.source, left, ReaderContext())[0]
    assert _counted(records) == _counted(case.expected)


def check_a_reader_without_splits_is_at_the_end(case: SourceCase) -> None:
    """A subtask without splits is at the end of its input, and stays there."""
    context = ReaderContext()
    reader = open_reader(case.source, [], context)
    for _ in range(2):
        polled = reader.poll(1)
        assert isinstance(polled, EndOfInput) or (not case.source.bounded and isinstance(polled, NotReady))
    assert reader.snapshot() == []
    close(reader, context)


def check_a_reader_may_be_closed_twice(case: SourceCase) -> None:
    """Closing works at any time: before reading, in the middle, twice."""
    unused = ReaderContext()
    close(open_reader(case.source, splits_of_all_stages(case.source, 1), unused), unused)
    context = ReaderContext()
    reader = open_reader(case.source, splits_of_all_stages(case.source, 1), context)
    read(reader, context, 1)
    close(reader, context)
    close(reader, context)


# --- sources that name their splits


def check_splits_keep_their_names(case: SourceCase) -> None:
    """The id of a split is a unique text, and does not change while the split is read."""
    splits = splits_of_all_stages(case.source, 1)
    ids = _ids(case.source, splits)
    if ids is None:
        return
    assert all(isinstance(split_id, str) for split_id in ids)
    assert len(set(ids)) == len(ids), "two splits have the same id"
    _, left = _read_splits(case.source, splits, ReaderContext(), len(case.expected) // 2)
    assert set(_ids(case.source, left) or ()) <= set(ids), "an id changes while its split is read"


def check_discovery_finds_nothing_that_is_known(case: SourceCase) -> None:
    """Discovery returns all splits that are not known, and none that is."""
    source = case.source
    if source.discovery_interval_ms is None:
        return
    assert source.discovery_ends or not source.bounded, "a source that looks for more while it runs never ends"
    splits = splits_of_all_stages(source, 1)
    known = frozenset(_ids(source, splits) or ())
    assert set(_ids(source, _found(source, known)) or ()).isdisjoint(known)
    ids = _ids(source, _found(source, frozenset())) or ()
    assert len(set(ids)) == len(ids), "two splits have the same id"
    assert set(ids) >= known, "splits that are there are not found"


def check_splits_may_be_added_while_reading(case: SourceCase) -> None:
    """A reader whose source discovers takes splits between any two polls, and reads each record of them once."""
    if case.source.discovery_interval_ms is None:
        return
    for count in (0, 1, 5):
        splits = splits_of_all_stages(case.source, 1)
        context = ReaderContext()
        reader = open_reader(case.source, splits[:1], context)
        records = read(reader, context, count, endless=True)
        for split in splits[1:]:
            reader.add_splits(pickle.loads(pickle.dumps([split])))  # noqa: S301
            records += read(reader, context, 1, endless=True)
        left = reader.snapshot()
        replayed = _read_splits(case.source, left, ReaderContext())[0]
        assert _counted(records + replayed) == _counted(case.expected)
        records += read(reader, context, endless=True)
        close(reader, context)
        assert _counted(records) == _counted(case.expected)


def check_records_tell_of_which_split_they_are(case: SourceCase) -> None:
    """Where event time depends on splits, `Records` name their split, and say which are the last of it."""
    if not (case.source.watermarks_per_split or case.source.one_split_at_a_time):
        return
    splits = splits_of_all_stages(case.source, 1)
    open_ids = set(_ids(case.source, splits) or ())
    context = ReaderContext()
    reader = open_reader(case.source, splits, context)
    left = len(case.expected)
    while left:
        polled = reader.poll(_ASKED_MAX)
        if isinstance(polled, Records):
            assert polled.split in open_ids, f"the records are of split {polled.split!r}, which is not among {open_ids}"
            open_ids -= {polled.split} if polled.ended else set()
            left -= len(_rows(polled, _ASKED_MAX))
        else:
            assert isinstance(polled, NotReady), f"{left} records are missing"
            _wait(polled.wake_ms, context, endless=False)
    if case.source.bounded:
        read(reader, context)
    assert set(_ids(case.source, reader.snapshot()) or ()) <= open_ids, "a split has ended, but is in the snapshot"
    close(reader, context)


def check_paused_splits_wait(case: SourceCase) -> None:
    """A reader returns no records of paused splits; once resumed, it has skipped none."""
    for begun in (0, 3):
        splits = splits_of_all_stages(case.source, 1)
        context = ReaderContext()
        reader = open_reader(case.source, splits, context)
        records = read(reader, context, begun, endless=True)
        if reader.pauses_splits:
            ids = [each for each in _ids(case.source, splits) or () if case.source.stage_of(each).watermarks_per_split]
            paused = frozenset(ids[::2])
            reader.pause_splits(paused)
            records += _read_beside(reader, context, paused)
            replayed = _read_splits(case.source, reader.snapshot(), ReaderContext())[0]
            assert _counted(records + replayed) == _counted(case.expected)
            reader.pause_splits(frozenset())
        for _ in range(_RESUMED_MAX):
            if len(records) < len(case.expected):
                records += read(reader, context, endless=not case.source.bounded)
        close(reader, context)
        assert _counted(records) == _counted(case.expected)


def _read_beside(reader: SourceReader[Any], context: ReaderContext, paused: frozenset[str]) -> list[Any]:
    """Read the available records of the splits that are not paused."""
    records: list[Any] = []
    quiet = 0
    while quiet < _QUIET_MAX:
        polled = reader.poll(_ASKED_MAX)
        if isinstance(polled, Records):
            rows = _rows(polled, _ASKED_MAX)
            assert polled.split not in paused or not rows, f"split {polled.split!r} is paused, but there are {rows}"
            records += rows
            continue
        quiet += 1
        if isinstance(polled, NotReady):
            _wait(polled.wake_ms, context, endless=True)
    return records


SOURCE_CHECKS: Final[list[Callable[[SourceCase], None]]] = [
    check_one_reader_keeps_the_order,
    check_readers_share_the_records,
    check_reading_goes_on_at_any_record,
    check_a_snapshot_changes_nothing,
    check_restored_splits_can_be_dealt_again,
    check_a_reader_without_splits_is_at_the_end,
    check_a_reader_may_be_closed_twice,
    check_splits_keep_their_names,
    check_discovery_finds_nothing_that_is_known,
    check_splits_may_be_added_while_reading,
    check_records_tell_of_which_split_they_are,
    check_paused_splits_wait,
]
"""All checks. A check of an ability that the source does not have passes."""


def _found(source: Source[Any], known: frozenset[str]) -> list[Any]:
    found = source.discover(known)
    return [] if isinstance(found, NoMoreSplits) else found


def _ids(source: Source[Any], splits: list[Any]) -> list[str] | None:
    """Return the names of splits, None from a source that does not name them."""
    try:
        return [source.split_id(split) for split in splits]
    except NotImplementedError:
        assert source.discovery_interval_ms is None, "a source that discovers must name its splits"
        assert not source.watermarks_per_split, "a source with watermarks per split must name its splits"
        assert not source.one_split_at_a_time, "a source that reads one split at a time must name its splits"
        return None


def _parallelisms(case: SourceCase) -> list[int]:
    limit = case.source.parallelism_max
    return [parallelism for parallelism in case.parallelism if limit is None or parallelism <= limit]


def _compare(case: SourceCase, records: list[Any]) -> None:
    if case.ordered:
        assert records == case.expected
    else:
        assert _counted(records) == _counted(case.expected)


def _counted(records: list[Any]) -> Counter[Any]:
    return Counter(map(repr, records))
