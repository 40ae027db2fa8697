"""A session of DataFrames that runs in this process, for tests and doctests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headgate.common import Configuration
from headgate.dataframe import set_table_environment
from headgate.table.table_environment import TableEnvironment


@contextmanager
def session_in_this_process(**settings: str) -> Iterator[TableEnvironment]:
    """Make a session in UTC, with further settings, for the `with` block."""
    given = {"headgate.deploy.target": "minicluster", "table.local-time-zone": "UTC", **settings}
    made = TableEnvironment.create(Configuration.from_dict(given))
    set_table_environment(made)
    yield made
    set_table_environment(None)
