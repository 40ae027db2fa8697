"""A table that receives each record exactly once: rows wait in a staging table until their checkpoint is complete.

Theory of operation
-------------------
Where do the rows of a checkpoint wait? Here in a table of the database, one for each subtask and checkpoint, and not in
the checkpoint itself. The writer's memory and the checkpoint stay small however many rows an interval has, wrong rows
are found when they are written, and a commit moves rows inside the server. The price is that the server writes each row
twice. The staging tables are ordinary tables: those that are UNLOGGED are empty after a crash of the server.

    written     rows are copied to headgate.staged_..._open, some thousand at a time
    prepared    at the barrier the table gets the name of the checkpoint, and is on disk
    committed   one transaction sets the mark in headgate.commits, moves the rows into the target, drops the table

Who finds the mark set has nothing to do, so a commit may be repeated: after a restart, or when the connection was lost
at COMMIT and nobody knows how that ended. No mark and no table is data loss, and an error. Two that commit the same
batch wait for each other at the mark.

An older value must never replace a newer one of the same key. One subtask commits its batches oldest first. After a
restart, and more so after rescaling, a batch may be committed by another subtask than its key is written by now: so
restored batches are committed in `recover`, before any subtask takes a record, and with a batch all earlier ones of
the same writer. Nothing is locked between checkpoints.
"""

from __future__ import annotations

import itertools
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any, Final, final

import psycopg
from psycopg import sql

from headgate.connectors.postgres.batches import (
    SCHEMA,
    STAGED,
    Batch,
    Leftovers,
    Marks,
    fence,
    lost,
    of_job,
    session_of_job,
    staging_table,
)
from headgate.connectors.postgres.checks import checked
from headgate.connectors.postgres.database import Connection
from headgate.connectors.postgres.table import SEQUENCE, PostgresTable, Values
from headgate.functions.sink import CommitLostError, Committer, Sink, SinkContext, SinkWriter
from headgate.ids import CheckpointId, JobId

ROWS_AT_ONCE: Final = 5000
"""Rows that a writer gathers before it sends them."""


@final
@dataclass(frozen=True, slots=True)
class StagedRows:
    """The rows of a batch, which wait for their checkpoint."""

    batch: Batch
    rows: int


@final
class PostgresSink(Sink[StagedRows]):
    """Writes rows to a table of PostgreSQL, each exactly once: inserts, or with a key upserts.

    Rows become visible when their checkpoint is complete, those of one subtask in one transaction. Works on every
    server from version 14 on; the user needs the right to create the schema `headgate`, or to create tables in it.

    >>> totals = PostgresTable("postgresql://me@db/shop", "totals", ["customer", "amount"], key=["customer"])
    >>> sink = PostgresSink(totals)
    """

    def __init__(self, table: PostgresTable) -> None:
        self._table = table

    def prepare(self, job_id: JobId) -> None:
        """Check server, login, table, columns and rights. Raises `SinkError`, with what to do about it."""
        with checked(self._table, session_of_job(job_id)):
            pass

    def discard(self, job_id: JobId) -> None:
        database = self._table.database
        with database.writing("remove what is staged"), database.connect(session_of_job(job_id)) as connection:
            drop(connection, staged_batches(connection, of_job(job_id)))

    def writer(self, context: SinkContext) -> StagingWriter:
        return StagingWriter(self._table, Batch.of(context))

    def committer(self, context: SinkContext) -> StagingCommitter:
        return StagingCommitter(self._table, context)


@final
class StagingWriter(SinkWriter[StagedRows]):
    """Copies the rows of one subtask and attempt into staging tables. Connects when the first rows are there."""

    def __init__(self, table: PostgresTable, batch: Batch) -> None:
        self._table = table
        self._batch = batch
        self._staging = staging_table(batch)
        self._waiting: list[Values] = []
        self._staged = 0
        self._connection: Connection | None = None

    def write(self, records: list[Any]) -> None:
        self._waiting += self._table.rows(records)
        if len(self._waiting) >= ROWS_AT_ONCE:
            with self._writing(), self._connected().transaction():
                self._send(self._connected())

    def _writing(self) -> AbstractContextManager[None]:
        return self._table.database.writing(f"write to table {self._table.name!r}")

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._table.database.connect(self._batch.session)
        return self._connection

    def _send(self, connection: Connection) -> None:
        """Copy what waits into the staging table, in the current transaction."""
        if not self._staged:
            self._table.create_staging(connection, self._staging)
        numbered = ((number, *row) for number, row in zip(itertools.count(self._staged), self._waiting, strict=False))
        self._table.copy(connection, numbered, self._staging, SEQUENCE)
        self._staged += len(self._waiting)
        self._waiting = []

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[StagedRows]:
        if not self._waiting and not self._staged:
            return []
        batch = self._batch.at(checkpoint_id)
        with self._writing(), self._connected().transaction():
            connection = self._connected()
            if self._waiting:
                self._send(connection)
            name = sql.Identifier(f"{STAGED}{batch}")
            connection.execute(sql.SQL("ALTER TABLE {} RENAME TO {}").format(self._staging, name))
        staged, self._staged = self._staged, 0
        return [StagedRows(batch, staged)]

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with suppress(psycopg.Error):  # if it cannot be dropped now, whoever restarts the subtask does it
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(self._staging))
        connection.close()


@final
class StagingCommitter(Committer[StagedRows]):
    """Moves staged rows into the table. Each call has a connection of its own."""

    def __init__(self, table: PostgresTable, context: SinkContext) -> None:
        self._table = table
        self._context = context
        self._session = Batch.of(context).session

    def commit(self, committables: list[StagedRows]) -> None:
        if not committables:
            return
        with self._committing(committables[0].batch), self._connected() as connection:
            for staged in committables:
                with self._committing(staged.batch):
                    self._commit_up_to(connection, staged.batch)

    def _committing(self, batch: Batch) -> AbstractContextManager[None]:
        return self._table.database.committing(
            f"commit checkpoint {batch.checkpoint} to table {self._table.name!r}",
            f'Its rows are in the table {SCHEMA}."{STAGED}{batch}", and stay there. Change the table so that they fit, '
            "or correct them there, and start the job again from its last checkpoint",
        )

    def _connected(self) -> Connection:
        return self._table.database.connect(self._session)

    def _commit_up_to(self, connection: Connection, batch: Batch) -> None:
        """Commit a batch behind all earlier ones of its writer: those are part of the same checkpoint."""
        for earlier in sorted(staged_batches(connection, batch.writer), key=lambda each: each.checkpoint or 0):
            if earlier.checkpoint and batch.checkpoint and earlier.checkpoint < batch.checkpoint:
                self._commit(connection, earlier)
        self._commit(connection, batch)

    def _commit(self, connection: Connection, batch: Batch) -> None:
        staging = staging_table(batch)
        with connection.transaction():
            marks = Marks(connection)
            if not marks.add(batch):
                return
            if batch not in staged_batches(connection, str(batch)):
                raise lost(batch, f"the table {STAGED}{batch}", self._table.database)
            connection.execute(self._table.insert_from(staging))
            connection.execute(sql.SQL("DROP TABLE {}").format(staging))
            marks.settle(batch)

    def keep(self, committables: list[StagedRows]) -> None:
        if committables:
            with self._writing("keep what a savepoint holds"), self._connected() as connection:
                Marks(connection).keep(staged.batch for staged in committables)

    def _writing(self, doing: str) -> AbstractContextManager[None]:
        return self._table.database.writing(doing)

    def recover(self, restored: list[StagedRows]) -> None:
        leftovers = Leftovers(self._context, (staged.batch for staged in restored))
        with self._writing("look for what earlier attempts have left over"), self._connected() as connection:
            fence(connection, leftovers)
            for staged in restored:
                with suppress(CommitLostError):  # it is committed again after this, and then fails for good
                    self.commit([staged])
            drop(connection, leftovers.among(staged_batches(connection, leftovers.prefix)))


def staged_batches(connection: Connection, prefix: str) -> list[Batch]:
    """Return the batches whose names begin so and that have a staging table. Raises psycopg.Error."""
    found = connection.execute(
        "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(%s) "
        "AND starts_with(relname::text, %s)",
        [SCHEMA, f"{STAGED}{prefix}"],
    )
    return [Batch.parse(name.removeprefix(STAGED)) for (name,) in found]


def drop(connection: Connection, batches: list[Batch]) -> None:
    """Drop the staging tables of batches, but not of those that are kept. Raises psycopg.Error."""
    for batch in Marks(connection).without_kept(batches):
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(staging_table(batch)))
