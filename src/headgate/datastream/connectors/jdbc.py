"""PyFlink's sink for databases, for PostgreSQL only. Needs the extra `headgate[postgres]`."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.postgres.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]

unsupported.guard(__name__, globals())
