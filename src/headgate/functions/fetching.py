"""Readers for clients that block: an I/O thread fetches records, and the loop takes them over.

The mailbox loop must not call a client that waits for data, such as that of a message broker. A `Fetcher` calls it
instead, on an I/O thread; `FetchingReader` keeps one fetch under way while little is queued, and hands over what came.
The position of a split is behind what was handed over: records that are fetched but not yet handed over when a barrier
comes are not part of the checkpoint, and are fetched again after a restore.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, final

from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, SourceContext, SourceReader

Split = TypeVar("Split")

_QUEUED_MAX: Final = 2
"""While the records of this many fetches wait to be handed over, no further fetch begins."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched(Generic[Split]):
    """Records of one split, in order; they follow those that were fetched of it before.

    `split` is its id. `after(n)` returns the split as it stands when the first n of the records are read; n is at least
    1, or 0 where there are no records. `timestamps` are as in `Records`. `ended`: the split has no more records.
    """

    split: str
    records: list[Any]
    after: Callable[[int], Split]
    timestamps: list[int] | None = None
    ended: bool = False


class Fetcher(ABC, Generic[Split]):
    """Fetches the splits of one subtask. Called on an I/O thread, by one thread at a time; all methods may block."""

    pauses_splits: bool = False
    """Whether `pause_splits` may be called."""

    @abstractmethod
    def add_splits(self, splits: list[Split]) -> None:
        """Take more to read. Called before the first fetch, and again when the source has discovered some."""

    @abstractmethod
    def fetch(self) -> list[Fetched[Split]]:
        """Wait for records and return them; after about 100 ms return without any, so that others get their turn.

        Called while there are splits whose end was not fetched. Raises `SourceError` naming the place when the data
        cannot be read.
        """

    def pause_splits(self, paused: frozenset[str]) -> None:
        """Fetch no records of these splits from now on, but of all others."""
        raise NotImplementedError(f"{type(self).__name__} pauses splits, and must define pause_splits()")

    def notify_completed(self, splits: list[Split]) -> None:
        """Take note that a checkpoint that holds these positions is complete."""

    def close(self) -> None:
        """Release connections. Called once, after all other calls; also after a failure."""


@final
@dataclass(slots=True, eq=False)
class _Queued(Generic[Split]):
    """What was fetched, and how many records of it were handed over."""

    fetched: Fetched[Split]
    handed_over: int = 0


@final
class FetchingReader(SourceReader[Split]):
    """Hands over what a `Fetcher` fetches. `split_id` is the source's."""

    def __init__(self, fetcher: Fetcher[Split], context: SourceContext, split_id: Callable[[Split], str]) -> None:
        self._fetcher = fetcher
        self._context = context
        self._split_id = split_id
        self._positions: dict[str, Split] = {}
        self._unfetched: set[str] = set()
        """The splits whose end has not been fetched."""
        self._added: list[Split] = []
        self._completed: list[Split] | None = None
        """The positions of a complete checkpoint that the fetcher has not been told of."""
        self._paused: frozenset[str] = frozenset()
        self._pause_told: frozenset[str] = frozenset()
        """What the fetcher knows to be paused."""
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
        """Return what may be handed over, in order."""
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
        """Return the next records of what was fetched, and advance the position of their split."""
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
        """Have the fetcher take note at once, when no fetch will follow that does it."""
        if self._completed is not None and not self._unfetched:
            self._begin_fetch()

    def close(self) -> None:
        """Have the fetcher closed on an I/O thread: now, or by the fetch under way, at its end. Does not block."""
        with self._lock:
            is_first, self._closed = not self._closed, True
            in_use = self._in_use
        if is_first and not in_use:
            self._context.submit(self._fetcher.close, lambda _: None)
