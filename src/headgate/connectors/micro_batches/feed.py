"""The feed of one query into one job: carries out what the batch protocol orders, for all the threads that take part.

The query's thread hands batches over and waits; the job master asks for splits and tells of checkpoints on others.
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
"""How long a look for new splits waits for some."""

_Order = protocol.FeedWrite | protocol.Acknowledge | protocol.Refuse


class Query(Protocol):
    """What hands batches over: it calls `BatchFeed.process` for one after the other, and in the end `ended`."""

    def record(self) -> Record:
        """Return what the query's own storage says, also before it is started. Blocks. Raises StorageError."""
        ...

    def start(self, feed: BatchFeed) -> None:
        """Start the query, with the first batch that is not acknowledged. Raises what keeps it from running."""
        ...

    def stop(self) -> None:
        """Stop the query, if it runs. Blocks until it hands over nothing more."""
        ...


@final
class BatchFeed(Acknowledger[BatchSplit]):
    """Takes batches from a query, one at a time, hands them to a job, and answers when a checkpoint covers them."""

    def __init__(self, query: Query, folder: str, *, ends: bool) -> None:
        """Batches are written to `folder`, a path or URI; `ends`: the query comes to an end by itself."""
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
        """Take a batch; block until a complete checkpoint covers it.

        `write` writes its rows as Parquet into the folder given. Raises what that raises, and SourceError when the
        batch is not to be acknowledged.
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
        """The query runs no more: it has failed with this, or (None) has come to its end, or was stopped."""
        self._handle(protocol.QueryEnded(error))

    @property
    def closed(self) -> bool:
        """Whether the job is over, so that the query is being stopped."""
        return self._protocol.state is FeedState.CLOSED

    def _next_order(self) -> _Order:
        with self._changed:
            self._changed.wait_for(lambda: self._orders)
            return self._orders.popleft()

    # --- called by the job master

    def restored(self, progress: SourceProgress[BatchSplit]) -> None:
        with self._changed:
            self._attempts += 1  # which ends a look for the attempt before
        self._handle(protocol.FeedRestored(splits.position(progress), self._query.record()))

    def completed(self, progress: SourceProgress[BatchSplit]) -> None:
        self._handle(protocol.Completed(splits.position(progress)))

    def close(self) -> None:
        self._handle(protocol.FeedClosed())
        splits.drop(self._place, self._query.record().acknowledged)

    def discover(self, known: frozenset[str]) -> list[BatchSplit] | NoMoreSplits:
        """Return the splits of the batch that is to be read; blocks for a while when there are none.

        Raises SuppressRestartsException, with the cause, when the query has failed.
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

    # --- what is ordered

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
