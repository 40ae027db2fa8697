"""Readers for clients that block: an I/O thread fetches records, and the mailbox loop emits them.

The mailbox loop must not call a client that waits for data, such as the client of a message broker. A `Fetcher` calls
the client on an I/O thread. `FetchingReader` keeps one fetch running while few records are queued, and returns the
fetched records from `poll`. The position of a split follows the last record that `poll` returned. Records that are
fetched but not yet returned at a barrier are not part of the checkpoint: they are fetched again after a restore.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, final

from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, SourceContext, SourceReader

if TYPE_CHECKING:
    import pyarrow as pa

Split = TypeVar("Split")

_QUEUED_MAX: Final = 2
"""Number of queued fetches, not yet returned by `poll`, at which no further fetch begins."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched(Generic[Split]):
    """Records of one split, in order, directly after the records fetched before.

    `split` is the id of the split. `after(n)` returns the split with its position after the first n records; n is at
    least 1, or 0 where there are no records. `timestamps` are as in `Records`. `ended`: the split has no more records.
    """

    split: str
    records: list[Any] | pa.RecordBatch
    after: Callable[[int], Split]
    timestamps: list[int] | None = None
    ended: bool = False


class Fetcher(ABC, Generic[Split]):
    """Fetches the splits of one subtask. Called on an I/O thread, by one thread at a time; all methods may block."""

    pauses_splits: bool = False
    """Whether `pause_splits` may be called."""

    @abstractmethod
    def add_splits(self, splits: list[Split]) -> None:
        """Add splits to read. Called before the first fetch, and again when the source has discovered splits."""

    @abstractmethod
    def fetch(self) -> list[Fetched[Split]]:
        """Wait for records and return them; return none after about 100 ms, so that other calls get their turn.

        Called while some split is not fetched to its end. Raises `SourceError` naming the place when the data cannot be
        read.
        """

    def pause_splits(self, paused: frozenset[str]) -> None:
        """From now on, fetch records only of splits that are not in `paused`."""
        raise NotImplementedError(f"{type(self).__name__} pauses splits, and must define pause_splits()")

    def notify_completed(self, splits: list[Split]) -> None:
        """Take note that a checkpoint that holds these positions is complete."""

    def close(self) -> None:
        """Release connections. Called once, after all other calls; also after a failure."""


@final
@dataclass(slots=True, eq=False)
class _Queued(Generic[Split]):
    """Fetched records, and how many of them `poll` has returned."""

    fetched: Fetched[Split]
    handed_over: int = 0


@final
class FetchingReader(SourceReader[Split]):
    """Reads by means of a `Fetcher`. `split_id` is the source's method."""

    def __init__(self, fetcher: Fetcher[Split], context: SourceContext, split_id: Callable[[Split], str]) -> None:
        self._fetcher = fetcher
        self._context = context
        self._split_id = split_id
        self._positions: dict[str, Split] = {}
        self._unfetched: set[str] = set()
        """The splits whose end has not been fetched."""
        self._added: list[Split] = []
        self._completed: list[Split] | None = None
        """The positions of a complete checkpoint of which the fetcher was not notified yet."""
        self._paused: frozenset[str] = frozenset()
        self._pause_told: frozenset[str] = frozenset()
        """The splits that the fetcher was told to pause."""
        self._queue: deque[_Queued[Split]] = deque()
        self._fetching = False
        self._failed: BaseException | None = None
        self._lock = threading.Lock()
        """Guards the next two; held for moments only."""
        self._in_use = False
        self._closed = False

    def add_splits(self, splits: list[Split]) -> None:
        named = {self._split_id(split): split for split in splits}
        self._positions.update(named)
        self._unfetched.update(named)
        self._added += splits

    def poll(self, records_max: int) -> Poll:
        if self._failed is not None:
            raise self._failed
        ready = self._ready()
        if self._unfetched and len(ready) < _QUEUED_MAX:
            self._begin_fetch()
        if ready:
            return self._hand_over(ready[0], records_max)
        return NotReady(math.inf) if self._positions else END_OF_INPUT

    @property
    def pauses_splits(self) -> bool:
        return self._fetcher.pauses_splits

    def pause_splits(self, paused: frozenset[str]) -> None:
        self._paused = paused

    def _ready(self) -> Sequence[_Queued[Split]]:
        """Return the queued fetches whose split is not paused, in order."""
        if not self._paused:
            return self._queue
        return [queued for queued in self._queue if queued.fetched.split not in self._paused]

    def _begin_fetch(self) -> None:
        if self._fetching:
            return
        self._fetching = True
        added, self._added = self._added, []
        completed, self._completed = self._completed, None
        paused = self._paused if self._paused != self._pause_told else None
        self._pause_told = self._paused
        some_left = bool(self._unfetched)
        self._context.submit(lambda: self._fetch(added, paused, completed, some_left=some_left), self._fetched)

    def _fetch(
        self,
        added: list[Split],
        paused: frozenset[str] | None,
        completed: list[Split] | None,
        *,
        some_left: bool,
    ) -> list[Fetched[Split]]:
        if not self._begin_use():
            return []
        try:
            if added:
                self._fetcher.add_splits(added)
            if paused is not None:
                self._fetcher.pause_splits(paused)
            if completed is not None:
                self._fetcher.notify_completed(completed)
            return self._fetcher.fetch() if some_left else []
        finally:
            self._end_use()

    def _begin_use(self) -> bool:
        with self._lock:
            self._in_use = not self._closed
            return self._in_use

    def _end_use(self) -> None:
        with self._lock:
            self._in_use = False
            closed = self._closed
        if closed:
            self._fetcher.close()

    def _fetched(self, result: list[Fetched[Split]] | BaseException) -> None:
        self._fetching = False
        if isinstance(result, BaseException):
            self._failed = result
        else:
            self._queue += map(_Queued, result)
            self._unfetched.difference_update(fetched.split for fetched in result if fetched.ended)
            self._notify_if_all_is_fetched()

    def _hand_over(self, queued: _Queued[Split], records_max: int) -> Records:
        """Return the next records of a queued fetch, and advance the position of their split."""
        fetched = queued.fetched
        start, stop = queued.handed_over, min(queued.handed_over + records_max, len(fetched.records))
        is_whole = stop == len(fetched.records)
        if is_whole:
            self._queue.remove(queued)
        queued.handed_over = stop
        ended = is_whole and fetched.ended
        if ended:
            self._positions.pop(fetched.split, None)
        else:
            self._positions[fetched.split] = fetched.after(stop)
        times = fetched.timestamps
        return Records(
            fetched.records[start:stop], None if times is None else times[start:stop], fetched.split, ended=ended
        )

    def snapshot(self) -> list[Split]:
        return list(self._positions.values())

    def notify_completed(self, splits: list[Split]) -> None:
        self._completed = splits
        self._notify_if_all_is_fetched()

    def _notify_if_all_is_fetched(self) -> None:
        """Notify the fetcher at once if no further fetch will do so."""
        if self._completed is not None and not self._unfetched:
            self._begin_fetch()

    def close(self) -> None:
        """Close the fetcher on an I/O thread: now, or at the end of the running fetch. Does not block."""
        with self._lock:
            is_first, self._closed = not self._closed, True
            in_use = self._in_use
        if is_first and not in_use:
            self._context.submit(self._fetcher.close, lambda _: None)
