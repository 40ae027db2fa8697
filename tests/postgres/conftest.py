"""A database of its own for each test, on a server that all of them share."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Final

import pytest

from headgate.errors import EnvironmentFault
from headgate.testing.servers.postgres import PostgresServer, find_programs
from tests.postgres.databases import TestDatabase

_NUMBERS: Final = itertools.count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all tests of a run. Where it can be installed, it is."""
    try:
        find_programs()
    except EnvironmentFault as fault:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            pytest.skip(str(fault))
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "postgresql"], check=True)
    with PostgresServer({"max_prepared_transactions": "20"}) as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[TestDatabase]:
    """An empty database. Nothing is left of it in the tables that all databases of the server share."""
    database = TestDatabase(postgres, f"test{next(_NUMBERS)}")
    yield database
    database.reset()
