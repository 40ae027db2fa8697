"""A table that receives each record exactly once, by PREPARE TRANSACTION: PostgreSQL's own two-phase commit.

Theory of operation
-------------------
A transaction inserts rows into the target table itself. It stays open until the barrier, which prepares it: the server
then keeps the transaction on disk, without a session, until a client commits it or rolls it back. The same transaction
inserts a mark into headgate.commits. If a batch is not prepared any more, its mark shows that it is committed. Without
the mark the batch is lost, and that is an error. Rows are written once, where `PostgresSink` writes them twice.

The price: a prepared transaction holds its locks. An upsert of a key that the previous checkpoint changed would wait
for the commit of that checkpoint's transaction. That commit may wait for the next checkpoint, so this sink only
inserts. VACUUM keeps all rows that were deleted after the start of an open or prepared transaction. So keep the
checkpoint interval short, and restart a job soon after it was stopped with a savepoint.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, final

import psycopg
from psycopg import sql

from headgate.connectors.postgres.batches import Marks, RowBatch, lost
from headgate.connectors.postgres.database import Connection
from headgate.connectors.postgres.table import PostgresTable
from headgate.connectors.postgres.two_phase import PendingRows, TwoPhaseSink
from headgate.connectors.postgres.values import Values
from headgate.errors import ProgramError, SinkError, SuppressRestartsException

SETTING: Final = "max_prepared_transactions"

_BEGIN: Final = (
    "SET idle_in_transaction_session_timeout = 0",  # between checkpoints the transaction waits for records
    "SET lock_timeout = '30s'",
    "BEGIN",
)


@final
class PreparedPostgresSink(TwoPhaseSink):
    """Inserts rows into a table of PostgreSQL, each exactly once, by transactions that are prepared at the barrier.

    Rows become visible when their checkpoint is complete. Set `max_prepared_transactions` of the server, which is 0 by
    default, to twice the parallelism of all such sinks. Raises ProgramError for a table with a key: use `PostgresSink`
    for upserts.

    >>> sink = PreparedPostgresSink(PostgresTable("postgresql://me@db/shop", "audit", ["at", "what"]))
    """

    def __init__(self, table: PostgresTable) -> None:
        if table.key:
            raise ProgramError(
                f"the upsert into table {table.name!r} would wait for prepared rows, perhaps for ever: use "
                "PostgresSink, or leave out the key"
            )
        super().__init__(PreparedTransactions(table))


@final
class PreparedTransactions(PendingRows):
    """Keeps each batch in a prepared transaction."""

    blocks_others = True

    def check(self, connection: Connection, parallelism: int) -> None:
        ((found,),) = connection.execute(f"SHOW {SETTING}")
        if int(found) >= parallelism:
            return
        reason = (
            f"{self.table.database} has {SETTING} = {found}, too few for {parallelism} subtasks: set it in "
            "postgresql.conf to twice the parallelism of all such sinks and restart the server, or use PostgresSink, "
            "which needs none"
        )
        raise SinkError(reason) from SuppressRestartsException(reason)

    def send(self, connection: Connection, batch: RowBatch, rows: list[Values], sent: int) -> None:
        if not sent:
            for statement in _BEGIN:
                connection.execute(statement)
        self.table.copy(connection, rows, self.table.identifier)

    def prepare(self, connection: Connection, batch: RowBatch, rows: list[Values], sent: int) -> None:
        if rows:
            self.send(connection, batch, rows, sent)
        Marks(connection).add(batch)
        _about(connection, "PREPARE TRANSACTION", batch)

    def commit(self, connection: Connection, batch: RowBatch) -> None:
        marks = Marks(connection)
        with suppress(psycopg.errors.UndefinedObject):  # the transaction is committed already
            _about(connection, "COMMIT PREPARED", batch)
        if not marks.has(batch):
            raise lost(batch, f"a prepared transaction {_gid(batch)}", self.table.database)
        marks.settle(batch)

    def waiting(self, connection: Connection, prefix: str) -> list[RowBatch]:
        found = connection.execute(
            "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND starts_with(gid, %s)",
            [_gid(prefix)],
        )
        return [RowBatch.parse(name.removeprefix(_gid(""))) for (name,) in found]

    def remove(self, connection: Connection, batch: RowBatch) -> None:
        with suppress(psycopg.errors.UndefinedObject):  # another driver has rolled the transaction back already
            _about(connection, "ROLLBACK PREPARED", batch)

    def whereabouts(self, batch: RowBatch) -> str:
        return f"Its rows are in the prepared transaction {_gid(batch)}, which pg_prepared_xacts shows"


def _gid(batch: RowBatch | str) -> str:
    return f"headgate_{batch}"


def _about(connection: Connection, command: str, batch: RowBatch) -> None:
    connection.execute(sql.SQL(command + " {}").format(sql.Literal(_gid(batch))))
