"""Sinks to PostgreSQL. Needs the extra: pip install 'headgate[postgres]'.

`PostgresSink` writes each record exactly once, on any server.
"""

from __future__ import annotations

from headgate.connectors.postgres.staged import PostgresSink
from headgate.connectors.postgres.table import PostgresTable

__all__ = ["PostgresSink", "PostgresTable"]
