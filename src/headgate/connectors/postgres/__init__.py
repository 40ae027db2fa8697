"""Sinks to PostgreSQL, and a source of its tables. Needs the extra: pip install 'headgate[postgres]'.

`PostgresSink` writes each record exactly once, on any server. `PreparedPostgresSink` does the same by
PREPARE TRANSACTION, for inserts, on servers that allow it. `PostgresFlushingSink` writes records immediately, and
again after a failure: use it for upserts.
"""

from __future__ import annotations

from headgate.errors import missing_extra

try:
    import psycopg  # noqa: F401  # the modules of this package import from it
except ImportError as error:
    raise missing_extra("the PostgreSQL connector", "postgres", error) from error

from headgate.connectors.postgres.flushing import PostgresFlushingSink
from headgate.connectors.postgres.prepared import PreparedPostgresSink
from headgate.connectors.postgres.staged import PostgresSink
from headgate.connectors.postgres.table import PostgresTable

__all__ = ["PostgresFlushingSink", "PostgresSink", "PostgresTable", "PreparedPostgresSink"]
