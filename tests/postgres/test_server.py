"""The server of the test kit: it keeps its data when killed, ends when it is left, and says why it cannot start."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from headgate.errors import EnvironmentFault
from headgate.testing.servers import postgres
from headgate.testing.servers.postgres import PostgresServer
from tests.postgres.databases import TestDatabase

pytestmark = pytest.mark.slow


def processes_with(word: str) -> list[str]:
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(command.read_text())
        except OSError:
            continue  # it has ended meanwhile
    return [command for command in found if word in command]


def test_what_is_committed_outlives_a_kill_and_nothing_outlives_the_end() -> None:
    with PostgresServer() as server:
        database = TestDatabase(server, "kept")
        database.execute("CREATE TABLE numbers (number int)", "INSERT INTO numbers VALUES (7)")
        folder = database.execute("SHOW data_directory")[0][0]
        assert processes_with(folder) != []
        server.kill()
        assert processes_with(folder) == []
        with pytest.raises(psycopg.OperationalError, match="refused"):
            server.connect()
        server.kill()  # there is nothing to kill
        server.start()
        assert database.execute("SELECT * FROM numbers") == [(7,)]
    assert processes_with(folder) == []
    assert not os.path.exists(folder)


def test_a_setting_that_the_server_refuses_is_in_the_error() -> None:
    with pytest.raises(EnvironmentFault, match="no_such_setting"), PostgresServer({"no_such_setting": "1"}):
        pass


def test_a_server_that_is_not_installed_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(postgres, "_FOLDERS", "/nowhere/*/bin")
    with pytest.raises(EnvironmentFault, match="apt-get install -y postgresql"):
        PostgresServer()
