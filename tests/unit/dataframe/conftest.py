"""DataFrames of these tests run in this process, in UTC unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.common import Configuration
from headgate.dataframe import set_table_environment
from headgate.table.table_environment import TableEnvironment


@pytest.fixture(autouse=True)
def environment() -> Iterator[TableEnvironment]:
    settings = {"headgate.deploy.target": "minicluster", "table.local-time-zone": "UTC"}
    made = TableEnvironment.create(Configuration.from_dict(settings))
    set_table_environment(made)
    yield made
    set_table_environment(None)
