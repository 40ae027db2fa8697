"""Checks before a job runs: the server, the login, the table, its columns and key, and the rights."""

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
_NEEDED: Final = """
    SELECT a.attname::text FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = %(table)s::regclass AND a.attnum > 0 AND NOT a.attisdropped
    AND (a.attnotnull OR t.typnotnull) AND NOT a.atthasdef AND a.attidentity = '' AND t.typdefault IS NULL
    AND a.attname <> ALL(%(columns)s)
    AND NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = a.attrelid AND g.tgtype & 7 = 7 AND g.tgenabled <> 'D')
    ORDER BY a.attnum
"""
"""Columns without a default that must not be NULL, unless a trigger may fill them (type 7: row, before, insert)."""
_DEFERRABLE: Final = """
    SELECT i.indexrelid::regclass::text FROM pg_index i
    WHERE i.indrelid = %(table)s::regclass AND i.indisunique AND NOT i.indimmediate
    AND i.indnkeyatts = cardinality(%(key)s::text[]) AND i.indexprs IS NULL AND %(key)s::text[] @> (
        SELECT array_agg(a.attname::text) FROM pg_attribute a
        WHERE a.attrelid = i.indrelid AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1])
    )
"""
"""Deferrable unique constraints on exactly the columns of the key."""


@contextmanager
def checked(table: PostgresTable, session: str) -> Iterator[Connection]:
    """Yield a connection, after checking that the table can be written to and creating the schema `headgate`.

    Raises `SinkError` if a check fails, and for any psycopg.Error in the block.
    """
    with table.database.writing("connect"):
        connection = table.database.connect(session)
    with connection:
        _check_version(table, connection)
        with table.database.writing(f"make the schema {SCHEMA!r}"):
            Marks.install(connection)
        with table.database.writing(f"use table {table.name!r}"):
            _try(table, connection)
            check_columns(table, connection)
            yield connection


def _check_version(table: PostgresTable, connection: Connection) -> None:
    if connection.info.server_version < _VERSION_MIN * 10_000:
        raise SinkError(
            f"{table.database} has version {connection.info.server_version // 10_000} of PostgreSQL: the sink needs "
            f"{_VERSION_MIN} or later"
        )


def _try(table: PostgresTable, connection: Connection) -> None:
    """Let the server plan the statements of the sink in a transaction, and roll it back."""
    staging = sql.Identifier(SCHEMA, f"try_of_{connection.info.backend_pid}")
    with connection.transaction(force_rollback=True):
        table.create_staging(connection, staging)
        connection.execute(sql.SQL("EXPLAIN {}").format(table.insert_from(staging)))


def check_columns(table: PostgresTable, connection: Connection) -> None:
    """Check the conditions that planning does not: whether rows can be inserted, or upserted by the key.

    Raises `SinkError` for a column that needs a value and gets none, and for a deferrable key, and psycopg.Error.
    """
    name = table.identifier.as_string(connection)
    needed = connection.execute(_NEEDED, {"table": name, "columns": list(table.columns)}).fetchall()
    if needed:
        missing = ", ".join(repr(column) for (column,) in needed)
        raise SinkError(
            f"no row can be written to table {table.name!r} in {table.database}: {missing} must not be NULL, has no "
            "default, and is not among the columns of the sink; add it to the columns of PostgresTable, or give it a "
            "default"
        )
    if table.key and (found := connection.execute(_DEFERRABLE, {"table": name, "key": list(table.key)}).fetchone()):
        raise SinkError(
            f"no row can be upserted into table {table.name!r} in {table.database}: the constraint {found[0]} on the "
            f"key ({', '.join(map(repr, table.key))}) is deferrable, which ON CONFLICT does not take; make it "
            "NOT DEFERRABLE, or use a table with another primary key or unique index on these columns"
        )
