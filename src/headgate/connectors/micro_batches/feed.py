"""The feed of one query into one job: carries out the effects of the batch protocol, for several threads.

The query's thread offers batches and waits. The job master requests splits and reports checkpoints on other threads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, final

from headgate.connectors.files.places import Place
from headgate.connectors.micro_batches import protocol, splits
from headgate.connectors.micro_batches.protocol import BatchProtocol, FeedState, Record
from headgate.connectors.micro_batches.splits import BatchSplit
from headgate.errors import SourceError, SuppressRestartsException
from headgate.functions.acknowledging import Acknowledger, SourceProgress
from headgate.functions.source import NO_MORE_SPLITS, NoMoreSplits

WAIT_S_MAX: Final = 1.0
"""Seconds that a discovery waits for new splits."""

_Order = protocol.FeedWrite | protocol.Acknowledge | protocol.Refuse


class Query(Protocol):
    """A query that calls `BatchFeed.process` for one batch after the other, and at its end `BatchFeed.ended`."""

    def record(self) -> Record:
        """Return the record in the query's own storage, also before its start. Blocks. Raises StorageError."""
        ...

    def start(self, feed: BatchFeed) -> None:
        """Start the query with its first unacknowledged batch. Raises the error if it cannot start."""
        ...

    def stop(self) -> None:
        """Stop the query, if it runs. Blocks until it offers no more batches."""
        ...


@final
class BatchFeed(Acknowledger[BatchSplit]):
    """Takes one batch at a time from a query, gives its splits to a job, and acknowledges it when it is covered."""

    def __init__(self, query: Query, folder: str, *, ends: bool) -> None:
        """Make a feed that writes batches to `folder`, a path or URI. `ends`: the query ends by itself."""
        self._query = query
        self.folder = folder
        self._place = Place.of(folder, SourceError)
        self._changed = threading.Condition()
        self._protocol = BatchProtocol(ends=ends)
        self._orders: deque[_Order] = deque()
        self._splits: list[BatchSplit] = []
        self._attempts = 0

    # --- called by the query

    def process(self, query: str, batch: int, write: Callable[[str], None]) -> None:
        """Take a batch and block until a complete checkpoint covers it.

        `write` writes the batch's rows as Parquet into the folder that it is called with. Raises the errors of `write`,
        and SourceError if the batch is refused.
        """
        self._handle(protocol.Offered(batch))
        while not isinstance(order := self._next_order(), protocol.Acknowledge):
            if isinstance(order, protocol.Refuse):
                raise SourceError(f"batch {batch} is not acknowledged: {order.reason}")
            folder = splits.new_folder(self.folder, query, batch)
            write(folder)
            self._splits = splits.cut(Place.of(folder, SourceError))
            self._handle(protocol.Written(batch))

    def ended(self, error: str | None) -> None:
        """Report that the query has ended: with this error, or (None) because it finished or was stopped."""
        self._handle(protocol.QueryEnded(error))

    @property
    def closed(self) -> bool:
        """Whether the job has ended, so that the query is being stopped."""
        return self._protocol.state is FeedState.CLOSED

    def _next_order(self) -> _Order:
        with self._changed:
            self._changed.wait_for(lambda: self._orders)
            return self._orders.popleft()

    # --- called by the job master

    def restored(self, progress: SourceProgress[BatchSplit]) -> None:
        with self._changed:
            self._attempts += 1  # ends a discovery for the previous attempt
        self._handle(protocol.FeedRestored(splits.position(progress), self._query.record()))

    def completed(self, progress: SourceProgress[BatchSplit]) -> None:
        self._handle(protocol.Completed(splits.position(progress)))

    def close(self) -> None:
        self._handle(protocol.FeedClosed())
        splits.drop(self._place, self._query.record().acknowledged)

    def discover(self, known: frozenset[str]) -> list[BatchSplit] | NoMoreSplits:
        """Return the unknown splits of the current batch. Blocks for a limited time if there are none.

        Raises SuppressRestartsException, with the cause, if the query has failed.
        """
        with self._changed:
            attempt = self._attempts
            self._changed.wait_for(lambda: self._is_over(attempt) or self._unknown(known), WAIT_S_MAX)
            if self._protocol.state is FeedState.FAILED:
                raise SuppressRestartsException(f"the streaming query has failed: {self._protocol.failure}")
            return NO_MORE_SPLITS if self._protocol.state is FeedState.OVER else self._unknown(known)

    def _is_over(self, attempt: int) -> bool:
        return self._attempts != attempt or self._protocol.state in (FeedState.OVER, FeedState.FAILED, FeedState.CLOSED)

    def _unknown(self, known: frozenset[str]) -> list[BatchSplit]:
        offered = [] if self._protocol.reading is None else self._splits
        return [split for split in offered if splits.id_of(split) not in known]

    # --- effects

    def _handle(self, event: protocol.Event) -> None:
        with self._changed:
            effects = self._protocol.handle(event)
            self._orders.extend(effect for effect in effects if isinstance(effect, _Order))
            self._changed.notify_all()
        for effect in effects:  # those that block, or call back
            match effect:
                case protocol.StartQuery():
                    self._query.start(self)
                case protocol.StopQuery():
                    self._query.stop()
                case protocol.Drop(batch=batch):
                    splits.drop(self._place, batch)
