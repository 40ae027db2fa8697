"""A database of a test: its tables, what is in them, and what sinks have left over."""

from __future__ import annotations

import time
from typing import Any, Final

import psycopg

from headgate.testing.servers.postgres import PostgresServer

_DEADLINE_S: Final = 60.0


class TestDatabase:
    """A database that is emptied as often as a test wants."""

    __test__ = False

    def __init__(self, server: PostgresServer, name: str) -> None:
        self.server = server
        self.name = name
        self.url = server.create_database(name)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Execute statements, each in a transaction of its own; return the rows of the last."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SET client_min_messages = error")
            for statement in statements:
                done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def wait_for(self, query: str) -> None:
        """Wait until a query returns true."""
        deadline = time.monotonic() + _DEADLINE_S
        while self.execute(query) != [(True,)]:
            assert time.monotonic() < deadline, f"not true after {_DEADLINE_S} s: {query}"
            time.sleep(0.02)

    def reset(self) -> None:
        """Remove everything, whatever holds on to it."""
        self.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
            *(f"ROLLBACK PREPARED '{gid}'" for gid in self.prepared()),
            "DROP SCHEMA IF EXISTS headgate, public CASCADE",
            "CREATE SCHEMA public",
        )

    def prepared(self) -> list[str]:
        """Return the transactions that are prepared."""
        return [gid for (gid,) in self.execute("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()")]

    def staged(self) -> list[str]:
        """Return the staging tables."""
        found = self.execute(
            "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relname LIKE 'staged%' ORDER BY relname"
        )
        return [name for (name,) in found]
