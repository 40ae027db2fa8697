"""The server closes a connection that is idle: the sink opens it again, and the attempt goes on."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.connectors.postgres import PostgresFlushingSink, PostgresSink, PostgresTable, PreparedPostgresSink
from headgate.errors import SinkError
from headgate.functions.sink import SinkWriter
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import JOB, open_sink, sink_context
from headgate.testing.servers.postgres import PostgresServer
from tests.postgres.databases import TestDatabase

pytestmark = pytest.mark.slow

SINKS = [PostgresSink, PreparedPostgresSink, PostgresFlushingSink]
MANY = [(f"word-{index}", index) for index in range(6000)]
"""So many that they are sent at once."""
CLOSE_SESSIONS = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE starts_with(application_name, 'headgate')"
)


def opened(make: Any, words: TestDatabase) -> tuple[SinkWriter[Any], Any]:
    sink = make(PostgresTable(words.url, "words", ["word", "number"]))
    sink.prepare(JOB)
    return open_sink(sink, sink_context())


@pytest.fixture
def words(database: TestDatabase) -> TestDatabase:
    database.execute("CREATE TABLE words (word text, number bigint)")
    return database


def seen(words: TestDatabase) -> list[Any]:
    return words.execute("SELECT word, number FROM words ORDER BY number")


@pytest.mark.parametrize("rows", [[("a", -1)], MANY], ids=["few rows", "many rows"])
@pytest.mark.parametrize("restarts", [False, True], ids=["session closed", "server restarted"])
@pytest.mark.parametrize("make", SINKS)
def test_between_checkpoints_a_closed_connection_is_opened_again(
    make: Any, restarts: bool, rows: list[Any], words: TestDatabase, postgres_server: PostgresServer
) -> None:
    writer, committer = opened(make, words)
    writer.write(rows)
    committer.commit(writer.prepare_commit(CheckpointId(1)))
    if restarts:
        postgres_server.restart()
    else:
        words.execute(CLOSE_SESSIONS)
    assert writer.prepare_commit(CheckpointId(2)) == []
    writer.write(rows)
    committer.commit(writer.prepare_commit(CheckpointId(3)))
    writer.close()
    assert seen(words) == sorted([*rows, *rows], key=lambda row: row[1])


@pytest.mark.parametrize("make", SINKS)
def test_a_connection_that_is_lost_with_rows_of_the_checkpoint_fails_the_attempt(
    make: Any, words: TestDatabase
) -> None:
    writer, _ = opened(make, words)
    writer.write(MANY)
    if make is PostgresFlushingSink:
        words.wait_for("SELECT count(*) = 6000 FROM words")
    words.execute(CLOSE_SESSIONS)
    with pytest.raises(SinkError, match="cannot write to table 'words'"):
        writer.prepare_commit(CheckpointId(1))
    writer.close()


@pytest.mark.parametrize("make", SINKS)
def test_the_idle_timeout_of_the_server_does_not_end_a_session_that_has_written_rows(
    make: Any, words: TestDatabase
) -> None:
    words.execute(f"ALTER DATABASE {words.name} SET idle_session_timeout = '100ms'")
    writer, committer = opened(make, words)
    writer.write(MANY)
    if make is PostgresFlushingSink:
        words.wait_for("SELECT count(*) = 6000 FROM words")
    words.wait_for("SELECT bool_and(now() - state_change > '300ms') FROM pg_stat_activity WHERE state LIKE 'idle%'")
    committer.commit(writer.prepare_commit(CheckpointId(1)))
    writer.close()
    assert len(seen(words)) == len(MANY)


@pytest.mark.parametrize("make", SINKS)
def test_an_attempt_that_a_later_one_has_ended_writes_nothing_more(make: Any, words: TestDatabase) -> None:
    old, committer = opened(make, words)
    old.write([("a", 1)])
    committer.commit(old.prepare_commit(CheckpointId(1)))
    new, recovering = open_sink(make(PostgresTable(words.url, "words", ["word", "number"])), sink_context(attempt=2))
    recovering.recover([])
    old.write([("b", 2)])
    with pytest.raises(SinkError, match="cannot write to table 'words': a later attempt of the job has ended this one"):
        old.prepare_commit(CheckpointId(2))
    old.close()
    new.close()
    assert seen(words) == [("a", 1)]
    assert (words.prepared(), words.staged()) == ([], [])
