"""The two phases of a sink to PostgreSQL: batches wait for their checkpoint, and are then committed, each once.

A `PendingRows` keeps the waiting batches, in staging tables or in prepared transactions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, final

import psycopg
import pyarrow as pa

from headgate.connectors.postgres.batches import (
    Leftovers,
    Marks,
    RowBatch,
    ended_by_a_later_attempt,
    fence,
    fence_owner,
    prefix_of,
    session_of_job,
)
from headgate.connectors.postgres.checks import checked
from headgate.connectors.postgres.database import Connection, answers
from headgate.connectors.postgres.table import ROWS_AT_ONCE, PostgresTable
from headgate.connectors.postgres.values import TargetTable, Values
from headgate.functions.sink import CommitLostError, Committer, Sink, SinkContext, SinkIdentity, SinkWriter
from headgate.ids import CheckpointId
from headgate.types.arrow_values import values_of


@final
@dataclass(frozen=True, slots=True)
class WaitingRows:
    """The committable: a batch that waits for its checkpoint, and the number of its rows."""

    batch: RowBatch
    rows: int


class PendingRows(ABC):
    """Keeps batches until their checkpoint is complete. Pickled with the sink. All methods raise psycopg.Error."""

    blocks_others = False
    """Whether written and waiting rows hold locks on the target table."""

    def __init__(self, table: PostgresTable) -> None:
        self.table = table

    def check(self, connection: Connection, parallelism: int) -> None:
        """Raise `SinkError` if the server cannot keep the batches of `parallelism` subtasks."""

    @abstractmethod
    def send(self, connection: Connection, batch: RowBatch, rows: list[Values], sent: int) -> None:
        """Write rows of a batch. `sent` is the number of its rows that were written before."""

    @abstractmethod
    def prepare(self, connection: Connection, batch: RowBatch, rows: list[Values], sent: int) -> None:
        """Write the remaining rows of a batch, and make the batch durable."""

    def abandon(self, connection: Connection, batch: RowBatch) -> None:
        """Drop the written rows of an unprepared batch, before the connection is closed."""

    @abstractmethod
    def commit(self, connection: Connection, batch: RowBatch) -> None:
        """Make a batch visible, or do nothing if it is visible already. Raises `CommitLostError` if it is missing."""

    @abstractmethod
    def waiting(self, connection: Connection, prefix: str) -> list[RowBatch]:
        """Return the batches whose names begin with `prefix`, including batches that are being written."""

    @abstractmethod
    def remove(self, connection: Connection, batch: RowBatch) -> None:
        """Remove a batch, if it is still there."""

    @abstractmethod
    def whereabouts(self, batch: RowBatch) -> str:
        """Return a sentence or two: where the batch is, and what to do if its rows cannot be committed."""


def remove_unless_kept(room: PendingRows, connection: Connection, batches: list[RowBatch]) -> None:
    """Remove batches, except batches that a savepoint holds. Raises psycopg.Error."""
    for batch in Marks(connection).without_kept(batches):
        room.remove(connection, batch)


class TwoPhaseSink(Sink[WaitingRows]):
    """A sink whose batches wait in a `PendingRows`. A second job may write to the same table."""

    def __init__(self, room: PendingRows) -> None:
        self._room = room
        self.idempotent = bool(room.table.key)

    def prepare(self, identity: SinkIdentity) -> None:
        """Check server, login, table, columns, key and rights. Raises `SinkError`, with what to do about it."""
        with checked(self._room.table, session_of_job(identity.job_id)) as connection:
            self._room.check(connection, 1)
            Marks(connection).register(identity, self._room.table.name)

    def give_up(self, identity: SinkIdentity, savepoints: frozenset[str]) -> None:
        database, session = self._room.table.database, session_of_job(identity.job_id)
        with database.writing("release what was kept for savepoints"), database.connect(session) as connection:
            Marks(connection).give_up(savepoints)

    def discard(self, identity: SinkIdentity) -> None:
        owner = identity.digest(self._room.table.name)
        with self._as_driver(identity, "remove leftovers") as connection:
            remove_unless_kept(self._room, connection, self._room.waiting(connection, prefix_of(owner)))
            if not self._room.waiting(connection, prefix_of(owner)):
                Marks(connection).forget(owner)

    def end_others(self, identity: SinkIdentity, held: list[WaitingRows]) -> Callable[[], None]:
        if not self._room.blocks_others:
            return super().end_others(identity, held)
        doing = "end what other lineages of the job have left open"
        with self._as_driver(identity, doing) as connection:
            owners = Marks(connection).others(identity, self._room.table.name)
        stay = {waiting.batch for waiting in held}

        def end() -> None:
            with self._as_driver(identity, doing) as connection:
                for owner in owners:
                    fence_owner(connection, owner)
                    waiting = self._room.waiting(connection, prefix_of(owner))
                    remove_unless_kept(self._room, connection, [each for each in waiting if each not in stay])

        return end

    @contextmanager
    def _as_driver(self, identity: SinkIdentity, doing: str) -> Iterator[Connection]:
        database = self._room.table.database
        with database.writing(doing), database.connect(session_of_job(identity.job_id)) as connection:
            yield connection

    def writer(self, context: SinkContext) -> BatchWriter:
        return BatchWriter(self._room, RowBatch.of(context, self._room.table.name))

    def committer(self, context: SinkContext) -> BatchCommitter:
        return BatchCommitter(self._room, context)


@final
class BatchWriter(SinkWriter[WaitingRows]):
    """Writes the rows of one subtask and attempt. Connects when the first rows are there.

    While the server holds no rows of an unprepared batch, a connection that was closed is opened again.
    """

    def __init__(self, room: PendingRows, batch: RowBatch) -> None:
        self._room = room
        self._batch = batch
        self._rows: list[Values] = []
        self._sent = 0
        self._connection: Connection | None = None
        self._target: TargetTable | None = None

    def write(self, records: list[Any]) -> None:
        self._take(self._room.table.rows(records))

    def write_columns(self, columns: pa.RecordBatch) -> None:
        self._take(list(zip(*map(values_of, columns.select(self._room.table.columns).columns), strict=True)))

    def _take(self, rows: list[Values]) -> None:
        self._rows += rows
        if len(self._rows) >= ROWS_AT_ONCE:
            with self._writing():
                self._room.send(self._connected(), self._batch, self._fitted(), self._sent)
            self._sent += len(self._rows)
            self._rows = []

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[WaitingRows]:
        count = self._sent + len(self._rows)
        if not count:
            return []
        batch = self._batch.at(checkpoint_id)
        with self._writing():
            self._room.prepare(self._connected(), batch, self._fitted(), self._sent)
        self._rows, self._sent = [], 0
        return [WaitingRows(batch, count)]

    def _writing(self) -> AbstractContextManager[None]:
        return self._room.table.writing()

    def _connected(self) -> Connection:
        connection = self._connection
        if connection is not None and (self._sent or answers(connection)):
            return connection
        self._connection = opened = self._room.table.database.connect(self._batch.session)
        if connection is not None and Marks(opened).is_superseded(self._batch):
            raise ended_by_a_later_attempt(self._room.table.name)
        self._target = self._room.table.target(opened)
        return opened

    def _fitted(self) -> list[Values]:
        assert self._target is not None, "there is a connection"
        return self._target.fitted(self._rows)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with suppress(psycopg.Error):  # a restart of the subtask drops the rows if this fails
            self._room.abandon(connection, self._batch)
        connection.close()


@final
class BatchCommitter(Committer[WaitingRows]):
    """Commits the batches of complete checkpoints, and removes leftovers. Each call opens a connection."""

    def __init__(self, room: PendingRows, context: SinkContext) -> None:
        self._room = room
        self._context = context
        self._own = RowBatch.of(context, room.table.name)

    def commit(self, committables: list[WaitingRows]) -> None:
        if committables:
            with self._committing(committables[0].batch), self._connected() as connection:
                for waiting in committables:
                    self._commit(connection, waiting.batch)

    def _connected(self) -> Connection:
        return self._room.table.database.connect(self._own.session)

    def _commit(self, connection: Connection, batch: RowBatch) -> None:
        with self._committing(batch):
            self._room.commit(connection, batch)

    def _committing(self, batch: RowBatch) -> AbstractContextManager[None]:
        table = self._room.table
        doing = f"commit checkpoint {batch.checkpoint} to table {table.name!r}"
        return table.database.committing(doing, self._room.whereabouts(batch))

    def keep(self, committables: list[WaitingRows], savepoint: str) -> None:
        if committables:
            with self._writing("keep what a savepoint holds"), self._connected() as connection:
                Marks(connection).keep((waiting.batch for waiting in committables), savepoint)

    def abort(self, committables: list[WaitingRows]) -> None:
        if committables:
            with self._writing("remove what no checkpoint holds"), self._connected() as connection:
                for waiting in committables:
                    self._room.remove(connection, waiting.batch)

    def _writing(self, doing: str) -> AbstractContextManager[None]:
        return self._room.table.database.writing(doing)

    def recover(self, restored: list[WaitingRows]) -> None:
        batches = [waiting.batch for waiting in restored]
        leftovers = Leftovers(self._context, self._room.table.name, batches)
        with self._writing("look for what earlier attempts have left behind"), self._connected() as connection:
            self._room.check(connection, self._context.parallelism)
            Marks(connection).begin_attempt(self._own)
            fence(connection, leftovers)
            for batch in batches:  # before any subtask writes a newer value of the same key
                with suppress(CommitLostError):  # `commit` gets the same batch next, and then the job fails
                    self._commit(connection, batch)
            remove_unless_kept(
                self._room, connection, leftovers.among(self._room.waiting(connection, leftovers.prefix))
            )
