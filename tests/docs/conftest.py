"""The servers that programs of the pages need: each a fixture that gives the environment variables to reach it."""

from __future__ import annotations

import itertools
from typing import Final

import pytest

from headgate.testing.servers.postgres import PostgresServer
from tests.postgres.server import postgres_server

__all__ = ["postgres_server"]

_NUMBERS: Final = itertools.count()


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> dict[str, str]:
    """A PostgreSQL with an empty database."""
    return {"DATABASE_URL": postgres_server.create_database(f"shop{next(_NUMBERS)}")}
