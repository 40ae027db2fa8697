"""A table that receives each record at least once, at once: the simple sink, for upserts."""

from __future__ import annotations

from typing import Any, Final, final

from psycopg import sql

from headgate.connectors.postgres.batches import Batch, Leftovers, fence, session_of_job
from headgate.connectors.postgres.database import Connection
from headgate.connectors.postgres.table import SEQUENCE, PostgresTable
from headgate.functions.flushing import FlushingSink, FlushingWriter
from headgate.functions.sink import SinkContext
from headgate.ids import JobId

_ROWS: Final = sql.Identifier("headgate_rows")


@final
class PostgresFlushingSink(FlushingSink):
    """Writes rows to a table of PostgreSQL as they come, each at least once: inserts, or with a key upserts.

    Rows are seen at once, not only when their checkpoint is complete. After a failure those since the last checkpoint
    are written again: with a key the table goes back to older values for a while, and ends the same; without a key
    there are duplicates. Needs nothing but the right to make temporary tables, and leaves nothing behind.

    >>> totals = PostgresTable("postgresql://me@db/shop", "totals", ["customer", "amount"], key=["customer"])
    >>> sink = PostgresFlushingSink(totals)
    """

    def __init__(self, table: PostgresTable) -> None:
        self._table = table
        self.idempotent = bool(table.key)

    def prepare(self, job_id: JobId) -> None:
        """Check server, login, table, columns, key and rights. Raises `SinkError`, with what to do about it."""
        database = self._table.database
        with database.writing("connect"):
            connection = database.connect(session_of_job(job_id))
        with connection, database.writing(f"use table {self._table.name!r}"):
            _create_rows(connection, self._table)
            connection.execute(sql.SQL("EXPLAIN {}").format(self._table.insert_from(_ROWS)))

    def flushing_writer(self, context: SinkContext) -> PostgresFlushingWriter:
        return PostgresFlushingWriter(self._table, context)


@final
class PostgresFlushingWriter(FlushingWriter):
    """Writes each batch of records in a transaction, so there is nothing left to flush at the barrier.

    Rows go through a temporary table, by which wrong ones are found, and of several with one key the last is taken. An
    earlier attempt that has not noticed its end is shut out, so that it writes no old values over new ones.
    """

    def __init__(self, table: PostgresTable, context: SinkContext) -> None:
        self._table = table
        with table.writing():
            self._connection = table.database.connect(Batch.of(context).session)
            fence(self._connection, Leftovers(context, []))
            _create_rows(self._connection, table)

    def write(self, records: list[Any]) -> None:
        rows = self._table.rows(records)
        with self._table.writing(), self._connection.transaction():
            self._table.copy(self._connection, ((number, *row) for number, row in enumerate(rows)), _ROWS, SEQUENCE)
            self._connection.execute(self._table.insert_from(_ROWS))

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        self._connection.close()


def _create_rows(connection: Connection, table: PostgresTable) -> None:
    """Create the temporary table, which is empty again after each transaction."""
    table.create_staging(connection, _ROWS, "TEMPORARY TABLE", "ON COMMIT DELETE ROWS")
