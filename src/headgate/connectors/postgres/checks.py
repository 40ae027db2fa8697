"""What is checked before a job runs: the server, the login, the table, its columns and key, and the rights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from psycopg import sql

from headgate.connectors.postgres.batches import SCHEMA, Marks
from headgate.connectors.postgres.database import Connection
from headgate.connectors.postgres.table import PostgresTable
from headgate.errors import SinkError

_VERSION_MIN: Final = 14


@contextmanager
def checked(table: PostgresTable, session: str) -> Iterator[Connection]:
    """Give a connection to a server where the table can be written to, and where the schema `headgate` is.

    Raises `SinkError` when there is none, for any psycopg.Error in the block as well.
    """
    with table.database.writing("connect"):
        connection = table.database.connect(session)
    with connection:
        _check_version(table, connection)
        with table.database.writing(f"make the schema {SCHEMA!r}"):
            Marks.install(connection)
        with table.database.writing(f"use table {table.name!r}"):
            _try(table, connection)
            yield connection


def _check_version(table: PostgresTable, connection: Connection) -> None:
    if connection.info.server_version < _VERSION_MIN * 10_000:
        raise SinkError(
            f"{table.database} has version {connection.info.server_version // 10_000} of PostgreSQL: the sink needs "
            f"{_VERSION_MIN} or later"
        )


def _try(table: PostgresTable, connection: Connection) -> None:
    """Have the server plan all that will be done, and take it back."""
    staging = sql.Identifier(SCHEMA, f"try_of_{connection.info.backend_pid}")
    with connection.transaction(force_rollback=True):
        table.create_staging(connection, staging)
        connection.execute(sql.SQL("EXPLAIN {}").format(table.insert_from(staging)))
