"""The server is killed in the middle of a commit, and comes back: nothing is lost, and nothing is there twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.connectors.postgres import PostgresSink, PostgresTable, PreparedPostgresSink
from headgate.functions.sink import CommitLostError, RetriableCommitError, Sink
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import JOB, open_sink, sink_context
from headgate.testing.servers.postgres import PostgresServer
from tests.postgres.databases import TestDatabase
from tests.postgres.proxy import BreakingProxy, Point

pytestmark = pytest.mark.slow

RECORDS = [(f"word-{index}", index) for index in range(20)]
SINKS: dict[str, tuple[Callable[[PostgresTable], Sink[Any]], bytes]] = {
    "staged": (PostgresSink, b"COMMIT"),
    "prepared": (PreparedPostgresSink, b"COMMIT PREPARED"),
}


def table(url: str) -> PostgresTable:
    return PostgresTable(url, "words", ["word", "number"])


@pytest.fixture
def words(database: TestDatabase) -> TestDatabase:
    database.execute("CREATE TABLE words (word text, number bigint)")
    return database


def prepared(sink: Sink[Any], records: list[Any]) -> list[Any]:
    sink.prepare(JOB)
    writer, _ = open_sink(sink, sink_context())
    writer.write(records)
    committables = writer.prepare_commit(CheckpointId(1))
    writer.close()
    return committables


def seen(words: TestDatabase) -> list[Any]:
    return words.execute("SELECT word, number FROM words ORDER BY number")


@pytest.mark.parametrize("point", Point, ids=lambda point: point.name)
@pytest.mark.parametrize("kind", SINKS)
def test_a_commit_that_loses_the_server_is_made_once_by_the_next_try(
    kind: str, point: Point, words: TestDatabase, postgres_server: PostgresServer
) -> None:
    make, command = SINKS[kind]
    committables = prepared(make(table(words.url)), RECORDS)
    with BreakingProxy(postgres_server, command, point) as proxy:
        committer = make(table(postgres_server.url(words.name, port=str(proxy.port)))).committer(sink_context())
        with pytest.raises(RetriableCommitError, match="cannot commit checkpoint 1 to table 'words'"):
            committer.commit(committables)
        assert proxy.broken.is_set()
        with pytest.raises(RetriableCommitError):  # the server is not there yet
            committer.commit(committables)
        postgres_server.start()
        assert seen(words) in ([], RECORDS)
        if point is not Point.DURING:  # then nobody can know
            assert bool(seen(words)) is (point is Point.AFTER)
        committer.commit(committables)
        committer.commit(committables)
    assert seen(words) == RECORDS
    assert (words.prepared(), words.staged()) == ([], [])


@pytest.mark.parametrize("kind", SINKS)
def test_what_is_prepared_outlives_the_server(kind: str, words: TestDatabase, postgres_server: PostgresServer) -> None:
    sink = SINKS[kind][0](table(words.url))
    committables = prepared(sink, RECORDS)
    postgres_server.restart()
    assert seen(words) == []
    sink.committer(sink_context()).commit(committables)
    assert seen(words) == RECORDS


@pytest.mark.parametrize("kind", SINKS)
def test_a_batch_that_somebody_removed_is_lost_and_the_error_says_what_to_do(kind: str, words: TestDatabase) -> None:
    sink = SINKS[kind][0](table(words.url))
    committables = prepared(sink, RECORDS)
    sink.discard(JOB)
    with pytest.raises(CommitLostError, match="output of complete checkpoint 1 is lost") as caught:
        sink.committer(sink_context()).commit(committables)
    assert seen(words) == []
    advice = str(caught.value).partition("run ")[2].partition(" and start")[0]
    words.execute(advice)
    sink.committer(sink_context()).commit(committables)
    assert seen(words) == []


@pytest.mark.parametrize("kind", SINKS)
def test_a_server_that_goes_while_rows_are_written_fails_the_attempt_and_keeps_nothing_of_it(
    kind: str, words: TestDatabase, postgres_server: PostgresServer
) -> None:
    sink = SINKS[kind][0](table(words.url))
    sink.prepare(JOB)
    writer, _ = open_sink(sink, sink_context())
    writer.write(RECORDS * 300)  # so many that they are sent at once
    postgres_server.restart()
    with pytest.raises(Exception, match="cannot write to table 'words'"):
        writer.prepare_commit(CheckpointId(1))
    writer.close()
    _, committer = open_sink(sink, sink_context(attempt=2))
    committer.recover([])
    assert (words.prepared(), words.staged(), seen(words)) == ([], [], [])
