"""A PostgreSQL server that all tests of a run share. Where it can be installed, it is."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from headgate.errors import EnvironmentFault
from headgate.testing.servers.postgres import PostgresServer, find_programs


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A server that prepares transactions."""
    try:
        find_programs()
    except EnvironmentFault as fault:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            pytest.skip(str(fault))
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "postgresql"], check=True)
    with PostgresServer({"max_prepared_transactions": "20"}) as server:
        yield server
