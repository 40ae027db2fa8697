"""A database of its own for each test, on a server that all of them share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import pytest

from headgate.testing.servers.postgres import PostgresServer
from tests.postgres.databases import TestDatabase
from tests.postgres.server import postgres_server

__all__ = ["postgres_server"]

_NUMBERS: Final = itertools.count()


@pytest.fixture
def database(postgres_server: PostgresServer) -> Iterator[TestDatabase]:
    """An empty database. Nothing is left of it in the tables that all databases of the server share."""
    database = TestDatabase(postgres_server, f"test{next(_NUMBERS)}")
    yield database
    database.reset()
