"""A sink that writes rows immediately, each at least once: the simple sink, for upserts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, final

from psycopg import sql

from headgate.connectors.postgres.batches import (
    Leftovers,
    RowBatch,
    ended_by_a_later_attempt,
    fence,
    later_attempt_writes,
    session_of_job,
)
from headgate.connectors.postgres.checks import check_columns
from headgate.connectors.postgres.database import Connection, answers
from headgate.connectors.postgres.table import ROWS_AT_ONCE, SEQUENCE, PostgresTable
from headgate.connectors.postgres.values import Values
from headgate.functions.flushing import FlushingSink, FlushingWriter
from headgate.functions.sink import SinkContext, SinkIdentity

_ROWS: Final = sql.Identifier("headgate_rows")


@final
class PostgresFlushingSink(FlushingSink):
    """Writes rows to a table of PostgreSQL as they come, each at least once: inserts, or with a key upserts.

    Rows are visible immediately, not only when their checkpoint is complete. After a failure the rows since the last
    checkpoint are written again. With a key, the table has older values for a while and then the same values as before;
    without a key there are duplicates. The user needs the right to create temporary tables.

    >>> totals = PostgresTable("postgresql://me@db/shop", "totals", ["customer", "amount"], key=["customer"])
    >>> sink = PostgresFlushingSink(totals)
    """

    def __init__(self, table: PostgresTable) -> None:
        self._table = table
        self.idempotent = bool(table.key)

    def prepare(self, identity: SinkIdentity) -> None:
        """Check server, login, table, columns, key and rights. Raises `SinkError`, with what to do about it."""
        database = self._table.database
        with database.writing("connect"):
            connection = database.connect(session_of_job(identity.job_id))
        with connection, database.writing(f"use table {self._table.name!r}"):
            _create_rows(connection, self._table)
            connection.execute(sql.SQL("EXPLAIN {}").format(self._table.insert_from(_ROWS)))
            check_columns(self._table, connection)

    def flushing_writer(self, context: SinkContext) -> PostgresFlushingWriter:
        return PostgresFlushingWriter(self._table, context)


@final
class PostgresFlushingWriter(FlushingWriter):
    """Sends rows on an I/O thread, all waiting rows in one transaction. A later call raises the error of a wrong row.

    A temporary table finds wrong rows, and of several rows with one key the last is written. The server may write rows
    to disk a moment later, at the latest at the barrier. If the server crashes before, the connection is lost too, and
    the job writes the rows again. While all rows are on disk, a closed connection is opened again. Sessions of earlier
    attempts that still run are ended, so that they do not overwrite new values with old ones.
    """

    def __init__(self, table: PostgresTable, context: SinkContext) -> None:
        self._table = table
        self._batch = RowBatch.of(context, table.name)
        self._all_on_disk = True
        with table.writing():
            self._connection = self._open()
            fence(self._connection, Leftovers(context, table.name, []))
        self._outbox = Outbox(self._send)

    def _open(self) -> Connection:
        connection = self._table.database.connect(self._batch.session)
        connection.execute("SET synchronous_commit = off")
        connection.execute("SET idle_session_timeout = 0")  # rows of a lost session may be lost
        _create_rows(connection, self._table)
        self._target = self._table.target(connection)
        return connection

    def _open_again_if_closed(self) -> None:
        if not self._all_on_disk or answers(self._connection):
            return
        self._connection = self._open()
        if later_attempt_writes(self._connection, self._batch):
            raise ended_by_a_later_attempt(self._table.name)

    def write(self, records: list[Any]) -> None:
        self._outbox.put(self._table.rows(records))

    def _send(self, rows: list[Values]) -> None:
        with self._table.writing():
            self._open_again_if_closed()
            fitted = self._target.fitted(rows)
            self._all_on_disk = False
            with self._connection.transaction():
                numbered = ((number, *row) for number, row in enumerate(fitted))
                self._table.copy(self._connection, numbered, _ROWS, SEQUENCE)
                self._connection.execute(self._table.insert_from(_ROWS))

    def flush(self) -> None:
        """Make all written rows durable. A commit that waits for the disk makes all earlier commits durable too."""
        self._outbox.flush_all()
        if self._all_on_disk:
            return
        with self._table.writing(), self._connection.transaction():
            self._connection.execute("SET LOCAL synchronous_commit = on")
            self._connection.execute("SELECT pg_logical_emit_message(true, 'headgate', '')")
        self._all_on_disk = True

    def close(self) -> None:
        self._outbox.close()
        self._connection.close()


@final
class Outbox:
    """A queue whose thread sends all waiting rows together, in order. One other thread calls the methods.

    The methods raise the error that `send` raised; no rows are sent after an error.
    """

    def __init__(self, send: Callable[[list[Values]], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._rows: list[Values] = []
        self._is_idle = True
        self._executor = ThreadPoolExecutor(1, "headgate rows to PostgreSQL")
        self._sending: Future[None] = Future()
        self._sending.set_result(None)

    def put(self, rows: list[Values]) -> None:
        """Queue rows. Block while many rows wait."""
        if self._sending.done() or len(self._rows) >= ROWS_AT_ONCE:
            self.flush_all()
        with self._lock:
            self._rows += rows
            if self._is_idle and self._rows:
                self._is_idle = False
                self._sending = self._executor.submit(self._send_all)

    def flush_all(self) -> None:
        """Block until all rows are sent."""
        self._sending.result()

    def close(self) -> None:
        """Drop waiting rows. Block until the thread has sent its current rows."""
        with self._lock:
            self._rows = []
        self._executor.shutdown()

    def _send_all(self) -> None:
        while rows := self._taken():
            self._send(rows)

    def _taken(self) -> list[Values]:
        with self._lock:
            rows, self._rows = self._rows, []
            self._is_idle = not rows
        return rows


def _create_rows(connection: Connection, table: PostgresTable) -> None:
    """Create the temporary table, which is empty again after each transaction."""
    table.create_staging(connection, _ROWS, "TEMPORARY TABLE", "ON COMMIT DELETE ROWS")
