"""Connections to PostgreSQL, and the meaning of its errors.

Passwords are part of the URL, so the URL is in no `repr` and in no message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, final

import psycopg
from psycopg import conninfo
from psycopg.types.json import JsonDumper

from headgate.errors import SinkError, SourceError
from headgate.functions.sink import CommitLostError, RetriableCommitError

Connection = psycopg.Connection[Any]

_HINTS: Final = {
    "28000": "check user and password",
    "28P01": "check user and password",
    "3D000": "create the database, or correct its name in the URL",
    "42P01": "create the table, or correct its name; it is looked for exactly as written, capitals included",
    "42703": "correct the names of the columns; they are looked for exactly as written, capitals included",
    "42501": "grant the right, as docs/guides/postgres.md shows",
    "42P10": "an upsert needs a primary key or unique index on exactly the columns of the key",
    "55P03": "another transaction holds a row with the same unique key: write each key once; if a job that is gone has "
    "left it prepared, as pg_prepared_xacts shows, roll it back",
}
_PATIENCE: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Timeouts for a host that does not answer, in seconds, the last in milliseconds. The URL may override them."""
_BROKEN_DATA: Final = ("22", "23")
"""Classes of SQLSTATE for which a retry is useless: wrong data, such as a value out of range, or a constraint."""


@final
@dataclass(frozen=True, slots=True)
class Database:
    """The address of a database, and the user for connections."""

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        try:
            conninfo.conninfo_to_dict(self.url)
        except psycopg.ProgrammingError:
            raise SinkError(
                "the URL of the database cannot be read: write postgresql://user:password@host:port/database, with %xx "
                "for special characters in user or password; the URL is not shown, as it may have a password"
            ) from None

    def __str__(self) -> str:
        known = conninfo.conninfo_to_dict(self.url)
        host = known.get("host") or known.get("hostaddr") or "the local socket"
        return f"database {known.get('dbname') or known.get('user') or ''!r} at {host}:{known.get('port') or 5432}"

    def connect(self, name: str) -> Connection:
        """Return a connection that commits each statement. `name` is the name of the session in pg_stat_activity.

        A commit is durable, whatever the server's default is. A lost host is noticed within about a minute. Raises
        psycopg.OperationalError.
        """
        given = conninfo.conninfo_to_dict(self.url)
        patience = {name: value for name, value in _PATIENCE.items() if name not in given}
        settings = conninfo.make_conninfo(self.url, application_name=name, **patience)
        connection = psycopg.connect(settings, autocommit=True)
        connection.adapters.register_dumper(dict, JsonDumper)
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) "
            "WHERE current_setting('synchronous_commit') IN ('off', 'local')"
        )
        return connection

    @contextmanager
    def writing(self, doing: str) -> Iterator[None]:
        """Turn errors of the database into `SinkError`. `doing` names the failed action."""
        try:
            yield
        except psycopg.Error as error:
            raise SinkError(self._explained(doing, error)) from error

    @contextmanager
    def reading(self, doing: str) -> Iterator[None]:
        """Turn errors of the database into `SourceError`. `doing` names the failed action."""
        try:
            yield
        except psycopg.Error as error:
            raise SourceError(self._explained(doing, error)) from error

    @contextmanager
    def committing(self, doing: str, whereabouts: str) -> Iterator[None]:
        """Turn errors of the database into errors of a commit.

        After a lost connection the commit is retried, also if it may have succeeded. If a constraint refuses a row, it
        is not retried.
        """
        try:
            yield
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise RetriableCommitError(self._explained(doing, error)) from error
        except psycopg.Error as error:
            explained = self._explained(doing, error)
            if (error.sqlstate or "").startswith(_BROKEN_DATA):
                raise CommitLostError(f"{explained}. {whereabouts}") from error
            raise SinkError(explained) from error

    def _explained(self, doing: str, error: psycopg.Error) -> str:
        said = [error.diag.message_primary or str(error).strip(), error.diag.message_detail]
        hint = _HINTS.get(error.sqlstate or "") or error.diag.message_hint or ""
        told = ": ".join(part for part in said if part)
        return f"cannot {doing} in {self}: {told}{'; ' if hint else ''}{hint}"


def answers(connection: Connection) -> bool:
    """Return whether the server still answers on a connection that may have been idle. Blocks for a round trip.

    Servers, poolers and firewalls close idle connections, and a client notices only when it sends something.
    """
    try:
        connection.execute("")
    except (psycopg.OperationalError, psycopg.InterfaceError):
        connection.close()
        return False
    return True
