"""The protocol between a query that offers numbered batches and a job that reads each of them exactly once.

Theory of operation
-------------------
The query has its own durable record of the acknowledged batches and of the planned batch. It offers one batch at a time
and waits for the acknowledgement. It offers an unacknowledged batch again, with the same number and rows. A snapshot of
the job *covers* a batch if its state knows the batch and has nothing of it left to read. A batch is acknowledged when a
complete checkpoint covers it. So the record is never ahead of the newest complete checkpoint, and at most one batch
behind it:

    killed                               record  newest checkpoint   what the next driver does with batch 7
    while 7 is being written             6       covers 6            writes it again; the partial files are never read
    before a checkpoint knows of 7       6       covers 6            writes it again
    with 7 half read in a checkpoint     6       knows 7             reads the rest of what was written
    covered, and not yet acknowledged    6       covers 7            acknowledges it at once
    after that                           7       covers 7            is never offered it again

    state    meaning                                    legal edges
    NEW      the query does not run yet                 FeedRestored -> IDLE, and the query starts
    IDLE     the query works on its next batch          Offered, covered -> IDLE, and it is acknowledged
                                                        Offered, known to the snapshot -> READING
                                                        Offered -> WRITING
                                                        Offered, and the one before was not read -> FAILED
                                                        QueryEnded of a query that is to end -> OVER
    WRITING  the batch is being written to storage      Written -> READING, and its splits are handed out
    READING  the job reads the batch                    Completed or FeedRestored, covered -> IDLE, acknowledged
                                                        FeedRestored, unknown to the snapshot and not written -> WRITING
    OVER     the query has nothing more                 (there are no more splits)
    FAILED   the query has failed                       (the job fails)
    all      QueryEnded otherwise -> FAILED; FeedClosed -> CLOSED, and the query is stopped and its batch refused

FeedRestored with a snapshot that does not fit the record is refused, in any state, and changes nothing. The reason: an
acknowledged batch is never offered again, so a job that restored an older snapshot would miss its records.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import assert_never, final

from headgate.errors import RestoreError
from headgate.event_history import EventHistory


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPosition:
    """A snapshot's position in the batches: the query, the newest batch that it knows, and whether it is read.

    A snapshot that knows nothing has no query.
    """

    query: str | None = None
    known: int = -1
    covered: int = -1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The query's own record: its id (None before its first run), the last planned and the last acknowledged batch.

    Batches count from 0; -1 means none.
    """

    query: str | None = None
    planned: int = -1
    acknowledged: int = -1


# --- events


@final
@dataclass(frozen=True, slots=True)
class FeedRestored:
    """An attempt is about to start from a snapshot, or from nothing."""

    position: QueryPosition
    record: Record


@final
@dataclass(frozen=True, slots=True)
class Completed:
    """A checkpoint is complete."""

    position: QueryPosition


@final
@dataclass(frozen=True, slots=True)
class Offered:
    """The query offers a batch. All earlier batches are acknowledged, also in the query's record."""

    batch: int


@final
@dataclass(frozen=True, slots=True)
class Written:
    """The batch is completely written to storage."""

    batch: int


@final
@dataclass(frozen=True, slots=True)
class QueryEnded:
    """The query has ended: it failed, or (None) it was stopped or finished."""

    error: str | None


@final
@dataclass(frozen=True, slots=True)
class FeedClosed:
    """The job has ended."""


Event = FeedRestored | Completed | Offered | Written | QueryEnded | FeedClosed

# --- effects


@final
@dataclass(frozen=True, slots=True)
class StartQuery:
    """Start the query."""


@final
@dataclass(frozen=True, slots=True)
class StopQuery:
    """Stop the query, if it runs."""


@final
@dataclass(frozen=True, slots=True)
class FeedWrite:
    """Write the batch to storage, into a new folder, then send the event `Written`."""

    batch: int


@final
@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Acknowledge the batch, so that the query continues."""

    batch: int


@final
@dataclass(frozen=True, slots=True)
class Refuse:
    """Fail the query's batch. The query offers the batch again at its next start."""

    batch: int
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Drop:
    """Delete the files of acknowledged batches up to this one: no snapshot that needs them is restored any more."""

    batch: int


Effect = StartQuery | StopQuery | FeedWrite | Acknowledge | Refuse | Drop


@final
class FeedState(Enum):
    """The state of the protocol: see the table at the top of this module."""

    NEW = "new"
    IDLE = "idle"
    WRITING = "writing"
    READING = "reading"
    OVER = "over"
    FAILED = "failed"
    CLOSED = "closed"


_STOPPED = "it was stopped from outside the job, as by another query that is started with its checkpoint location"


@final
class BatchProtocol:
    """The protocol of one query and one job, in one driver. Pure."""

    def __init__(self, *, ends: bool) -> None:
        """`ends`: the query ends by itself."""
        self.state = FeedState.NEW
        self.failure: str | None = None
        """Why the query has failed."""
        self._ends = ends
        self._history = EventHistory("batch protocol")
        self._position = QueryPosition()
        self._batch = -1
        self._written = -1
        self._acknowledged = -1

    @property
    def reading(self) -> int | None:
        """The batch whose splits an attempt gets if it does not know them, None if there is no such batch."""
        return self._batch if self.state is FeedState.READING and self._written == self._batch else None

    def handle(self, event: Event) -> list[Effect]:
        """Return the effects to carry out, in order. Raises RestoreError for a snapshot that does not fit the query."""
        self._history.add(event)
        match event:
            case FeedRestored():
                return self._on_restored(event)
            case Completed(position=position):
                self._position = position
                return self._go_on()
            case Offered(batch=batch):
                return self._on_offered(batch)
            case Written(batch=batch):
                return self._on_written(batch)
            case QueryEnded(error=error):
                return self._on_query_ended(error)
            case FeedClosed():
                return self._on_closed()
            case _:
                assert_never(event)

    def _on_restored(self, event: FeedRestored) -> list[Effect]:
        if self.state is FeedState.FAILED:
            raise RestoreError(f"the streaming query has failed: {self.failure}")
        if self.state is FeedState.CLOSED:
            raise RestoreError("the streaming query was stopped with the job that read it: make another source of it")
        self._acknowledged = max(self._acknowledged, event.record.acknowledged)
        check_fits(event.position, event.record, self._acknowledged)
        self._position = event.position
        if self.state is FeedState.NEW:
            self.state = FeedState.IDLE
            return [Drop(event.record.acknowledged), StartQuery()]
        return self._go_on()

    def _on_offered(self, batch: int) -> list[Effect]:
        if self.state is not FeedState.IDLE:
            return [Refuse(batch, "the job no longer reads")]
        if batch > self._position.covered + 1:
            self.state = FeedState.FAILED
            self.failure = (
                f"batch {batch - 1} was acknowledged to another job, and this job has read none after "
                f"{self._position.covered}: another job has the same checkpoint location, but each needs its own"
            )
            return [Refuse(batch, self.failure)]
        self._batch, self.state = batch, FeedState.READING
        return [Drop(batch - 1), *self._go_on()]

    def _go_on(self) -> list[Effect]:
        """Acknowledge the batch if it is covered; write it unless it is written."""
        if self.state is not FeedState.READING:
            return []
        batch = self._batch
        if batch <= self._position.covered:
            self.state, self._acknowledged = FeedState.IDLE, max(self._acknowledged, batch)
            return [Acknowledge(batch)]
        if batch <= max(self._position.known, self._written):
            return []
        self.state = FeedState.WRITING
        return [FeedWrite(batch)]

    def _on_written(self, batch: int) -> list[Effect]:
        if self.state is not FeedState.WRITING:
            return []  # the job or the query has ended meanwhile
        if batch != self._batch:
            raise self._history.broken(f"batch {batch} was written, but {self._batch} is asked for")
        self._written, self.state = batch, FeedState.READING
        return []

    def _on_query_ended(self, error: str | None) -> list[Effect]:
        if self.state is FeedState.CLOSED:
            return []
        if error is None and self._ends and self.state is FeedState.IDLE:
            self.state = FeedState.OVER
        else:
            self.state, self.failure = FeedState.FAILED, error or _STOPPED
        return []

    def _on_closed(self) -> list[Effect]:
        waiting = self.state in (FeedState.WRITING, FeedState.READING)
        self.state = FeedState.CLOSED
        refusal = [Refuse(self._batch, "the job has ended, and no checkpoint covers the batch")] if waiting else []
        return [*refusal, StopQuery()]


def check_fits(position: QueryPosition, record: Record, acknowledged: int) -> None:
    """Raise RestoreError, with the next step, unless a query with this record continues exactly at the snapshot."""
    if position.query != record.query and position.query is not None:
        found = "no query has run yet" if record.query is None else f"there is query {record.query}"
        raise RestoreError(
            f"the snapshot goes on after batch {position.covered} of the streaming query {position.query}, but at the "
            f"checkpoint location {found}: give the location of that query; or, to begin with another query, "
            "give the source another uid and restore with execution.state-recovery.ignore-unclaimed-state"
        )
    if position.covered < acknowledged:
        start = (
            "the job starts without a snapshot" if position.query is None else f"the snapshot covers {position.covered}"
        )
        raise RestoreError(
            f"the streaming query has acknowledged batch {acknowledged}, but {start}: Spark would not hand over again "
            "what came in between, and its records would be lost. Start from the job's newest checkpoint, or a "
            "savepoint that is as new; or give from_spark_stream() a new checkpoint location, from which the query "
            "reads its input from the beginning"
        )
    if position.known > record.planned:
        raise RestoreError(
            f"the snapshot knows batch {position.known} of the streaming query, but Spark has planned no batch "
            f"after {record.planned} at its checkpoint location: the location is older than the snapshot, as when an "
            "older copy was put back. Restore the location as well, or start from an older snapshot"
        )


def position_of(known: Iterable[tuple[str, int]], unfinished: Iterable[tuple[str, int]]) -> QueryPosition:
    """Return a snapshot's position, from the query and batch of its known splits and of its unfinished splits."""
    batches = {*known, *unfinished}
    queries = {query for query, _ in batches}
    if not queries:
        return QueryPosition()
    if len(queries) > 1:
        raise RestoreError(f"the snapshot holds batches of several streaming queries: {', '.join(sorted(queries))}")
    newest = max(batch for _, batch in batches)
    rest = [batch for _, batch in unfinished]
    return QueryPosition(query=queries.pop(), known=newest, covered=min(rest) - 1 if rest else newest)
