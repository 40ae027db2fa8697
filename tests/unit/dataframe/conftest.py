"""DataFrames of these tests run in this process, in UTC unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.table.table_environment import TableEnvironment
from tests.dataframe_session import session_in_this_process


@pytest.fixture(autouse=True)
def environment() -> Iterator[TableEnvironment]:
    with session_in_this_process() as made:
        yield made
