"""A table that receives each record exactly once: rows wait in a staging table until their checkpoint is complete.

Theory of operation
-------------------
The rows of a checkpoint wait in a table of the database, one for each subtask and checkpoint, and not in the checkpoint
itself. The writer's memory and the checkpoint stay small however many rows an interval has, wrong rows are found when
they are written, and a commit moves rows inside the server. The price is that the server writes each row twice. The
staging tables are not UNLOGGED, because the server empties UNLOGGED tables after a crash.

    written     rows are copied to headgate.staged_..._open, some thousand at a time
    prepared    at the barrier the table is named after the checkpoint, and is on disk
    committed   one transaction sets the mark in headgate.commits, moves the rows into the target, drops the table

A commit that finds the mark has nothing to do, so a commit may be repeated: after a restart, or when the connection was
lost at COMMIT and the result is unknown. A batch with neither mark nor table is lost, and that is an error. Two commits
of the same batch wait for each other at the mark.

An older value must never replace a newer value of the same key. A subtask commits its batches oldest first. After a
restart or rescaling, the subtask that commits a batch may not be the subtask that now writes the batch's keys. So
`recover` commits restored batches before any subtask takes a record, and commits all earlier batches of the same writer
before a batch. Nothing is locked between checkpoints.
"""

from __future__ import annotations

from typing import final

from psycopg import sql

from headgate.connectors.postgres.batches import SCHEMA, Marks, RowBatch, lost
from headgate.connectors.postgres.database import Connection
from headgate.connectors.postgres.table import SEQUENCE, PostgresTable
from headgate.connectors.postgres.two_phase import PendingRows, TwoPhaseSink
from headgate.connectors.postgres.values import Values


@final
class PostgresSink(TwoPhaseSink):
    """Writes rows to a table of PostgreSQL, each exactly once: inserts, or with a key upserts.

    Rows become visible when their checkpoint is complete, the rows of one subtask in one transaction. The server needs
    version 14 or later, and the user the right to create the schema `headgate`, or to create tables in it.

    >>> totals = PostgresTable("postgresql://me@db/shop", "totals", ["customer", "amount"], key=["customer"])
    >>> sink = PostgresSink(totals)
    """

    def __init__(self, table: PostgresTable) -> None:
        super().__init__(StagingTables(table))


@final
class StagingTables(PendingRows):
    """Keeps each batch in a staging table."""

    def send(self, connection: Connection, batch: RowBatch, rows: list[Values], sent: int) -> None:
        if not sent:
            connection.execute("SET idle_session_timeout = 0")  # the batch can only be prepared by this session
        with connection.transaction():
            connection.execute("SET LOCAL synchronous_commit = off")  # the commit of `prepare` makes these rows durable
            self._copy(connection, batch, rows, sent)

    def _copy(self, connection: Connection, batch: RowBatch, rows: list[Values], sent: int) -> None:
        staging = _table_of(batch)
        if not sent:
            self.table.create_staging(connection, staging)
        numbered = ((number, *row) for number, row in enumerate(rows, sent))
        self.table.copy(connection, numbered, staging, SEQUENCE)

    def prepare(self, connection: Connection, batch: RowBatch, rows: list[Values], sent: int) -> None:
        opened = batch.opened
        with connection.transaction():
            if rows:
                self._copy(connection, opened, rows, sent)
            name = sql.Identifier(_name_of(batch))
            connection.execute(sql.SQL("ALTER TABLE {} RENAME TO {}").format(_table_of(opened), name))

    def abandon(self, connection: Connection, batch: RowBatch) -> None:
        self.remove(connection, batch)

    def commit(self, connection: Connection, batch: RowBatch) -> None:
        """Commit a batch after all earlier batches of its writer, which are part of the same checkpoint."""
        of_writer = self.waiting(connection, batch.writer)
        earlier = [each for each in of_writer if each.is_before(batch)]
        for each in [*sorted(earlier, key=lambda one: one.checkpoint or 0), batch]:
            self._commit(connection, each)

    def _commit(self, connection: Connection, batch: RowBatch) -> None:
        staging = _table_of(batch)
        with connection.transaction():
            marks = Marks(connection)
            if not marks.add(batch):
                return
            if batch not in self.waiting(connection, str(batch)):
                raise lost(batch, f"the table {SCHEMA}.{_name_of(batch)}", self.table.database)
            connection.execute(self.table.insert_from(staging))
            connection.execute(sql.SQL("DROP TABLE {}").format(staging))
            marks.settle(batch)

    def waiting(self, connection: Connection, prefix: str) -> list[RowBatch]:
        found = connection.execute(
            "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(%s) "
            "AND starts_with(relname::text, %s)",
            [SCHEMA, _name_of(prefix)],
        )
        return [RowBatch.parse(name.removeprefix(_name_of(""))) for (name,) in found]

    def remove(self, connection: Connection, batch: RowBatch) -> None:
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(_table_of(batch)))

    def whereabouts(self, batch: RowBatch) -> str:
        return (
            f'Its rows are in the table {SCHEMA}."{_name_of(batch)}", and stay there. Change the table so that they '
            "fit, or correct them there, and start the job again from its last checkpoint"
        )


def _name_of(batch: RowBatch | str) -> str:
    return f"staged_{batch}"


def _table_of(batch: RowBatch) -> sql.Identifier:
    return sql.Identifier(SCHEMA, _name_of(batch))
