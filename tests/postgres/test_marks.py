"""What the database remembers of batches, for how long, and who may write to it."""

from __future__ import annotations

import time

import pytest

from headgate.connectors.postgres import (
    PostgresFlushingSink,
    PostgresSink,
    PostgresTable,
    PreparedPostgresSink,
)
from headgate.errors import SinkError
from headgate.functions.sink import CommitLostError
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import JOB, SAVEPOINT, open_sink, sink_context
from tests.postgres.databases import TestDatabase

pytestmark = pytest.mark.slow

MARKED = "SELECT split_part(batch, '_', 4)::int FROM headgate.commits ORDER BY 1"


@pytest.fixture
def words(database: TestDatabase) -> TestDatabase:
    database.execute("CREATE TABLE words (word text PRIMARY KEY, number int)")
    return database


def test_marks_are_removed_after_a_month_but_not_those_of_savepoints(words: TestDatabase) -> None:
    sink = PostgresSink(PostgresTable(words.url, "words", ["word", "number"]))
    sink.prepare(JOB)
    writer, committer = open_sink(sink, sink_context())
    for checkpoint in range(1, 5):
        writer.write([(f"word {checkpoint}", checkpoint)])
        waiting = writer.prepare_commit(CheckpointId(checkpoint))
        if checkpoint == 2:
            committer.keep(waiting, SAVEPOINT)
        committer.commit(waiting)
        if checkpoint == 3:
            assert words.execute(MARKED) == [(1,), (2,), (3,)]
            words.execute("UPDATE headgate.commits SET committed_at = now() - interval '31 days'")
    writer.close()
    assert words.execute(MARKED) == [(2,), (4,)]
    assert words.execute("SELECT * FROM headgate.kept") == []


@pytest.mark.parametrize("kind", [PostgresSink, PreparedPostgresSink])
def test_the_mark_of_a_batch_that_a_savepoint_kept_amid_its_commit_stays(
    words: TestDatabase, kind: type[PostgresSink | PreparedPostgresSink]
) -> None:
    sink = kind(PostgresTable(words.url, "words", ["word", "number"]))
    sink.prepare(JOB)
    writer, committer = open_sink(sink, sink_context())
    for checkpoint in range(1, 4):
        writer.write([(f"word {checkpoint}", checkpoint)])
        waiting = writer.prepare_commit(CheckpointId(checkpoint))
        committer.commit(waiting)
        if checkpoint == 2:
            committer.keep(waiting, SAVEPOINT)  # the loop has not heard yet that it is committed
            words.execute("UPDATE headgate.commits SET committed_at = now() - interval '31 days'")
            held = waiting
    writer.close()
    assert words.execute(MARKED) == [(2,), (3,)]
    committer.commit(held)  # as the job does that starts from the savepoint
    assert words.execute("SELECT count(*)::int FROM words") == [(3,)]


@pytest.mark.parametrize("kind", [PostgresSink, PreparedPostgresSink])
def test_what_was_kept_for_a_savepoint_that_never_was_complete_goes_with_the_next_attempt(
    words: TestDatabase, kind: type[PostgresSink | PreparedPostgresSink]
) -> None:
    sink = kind(PostgresTable(words.url, "words", ["word", "number"]))
    sink.prepare(JOB)
    writer, committer = open_sink(sink, sink_context())
    held = []
    for checkpoint, savepoint in ((1, SAVEPOINT), (2, "ab" * 16)):
        writer.write([(f"word {checkpoint}", checkpoint)])
        held.append(writer.prepare_commit(CheckpointId(checkpoint)))
        committer.keep([each for some in held for each in some], savepoint)
    writer.close()
    sink.give_up(JOB, frozenset({"ab" * 16}))
    _, committer = open_sink(sink, sink_context(attempt=2))
    committer.recover([])
    with pytest.raises(CommitLostError):
        committer.commit(held[1])
    committer.commit(held[0])
    assert words.execute("SELECT * FROM words") == [("word 1", 1)]
    assert words.execute("SELECT * FROM headgate.kept") == []
    assert words.execute("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()") == []


@pytest.mark.parametrize("kind", [PostgresSink, PreparedPostgresSink])
def test_what_no_snapshot_holds_is_removed_on_request(
    words: TestDatabase, kind: type[PostgresSink | PreparedPostgresSink]
) -> None:
    sink = kind(PostgresTable(words.url, "words", ["word", "number"]))
    sink.prepare(JOB)
    writer, committer = open_sink(sink, sink_context())
    writer.write([("a", 1)])
    waiting = writer.prepare_commit(CheckpointId(1))
    writer.close()
    for _ in range(2):
        committer.abort(waiting)
    assert words.execute("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()") == []
    assert words.execute("SELECT relname FROM pg_class WHERE starts_with(relname::text, 'staged_')") == []
    with pytest.raises(CommitLostError):
        committer.commit(waiting)


def test_what_an_earlier_release_has_kept_stays(words: TestDatabase) -> None:
    sink = PostgresSink(PostgresTable(words.url, "words", ["word", "number"]))
    sink.prepare(JOB)
    writer, committer = open_sink(sink, sink_context())
    writer.write([("a", 1)])
    [held] = writer.prepare_commit(CheckpointId(1))
    writer.close()
    words.execute("DROP TABLE headgate.kept")
    words.execute('CREATE TABLE headgate.kept (batch text COLLATE "C" PRIMARY KEY)')
    words.execute(f"INSERT INTO headgate.kept VALUES ('{held.batch}')")
    sink.prepare(JOB)
    sink.give_up(JOB, frozenset({SAVEPOINT}))
    _, committer = open_sink(sink, sink_context(attempt=2))
    committer.recover([])
    committer.commit([held])
    assert words.execute("SELECT * FROM words") == [("a", 1)]


def test_a_dead_attempt_does_not_flush_old_values_over_new_ones(words: TestDatabase) -> None:
    sink = PostgresFlushingSink(PostgresTable(words.url, "words", ["word", "number"], key=["word"]))
    old, _ = open_sink(sink, sink_context())
    old.write([("a", 1)])
    old.prepare_commit(CheckpointId(1))
    new, _ = open_sink(sink, sink_context(attempt=2))
    new.write([("a", 1), ("a", 2)])
    new.prepare_commit(CheckpointId(2))
    old.write([("a", 1)])
    with pytest.raises(SinkError, match="cannot write to table 'words'"):
        old.prepare_commit(CheckpointId(2))
    assert words.execute("SELECT * FROM words") == [("a", 2)]
    for writer in (old, new):
        writer.close()


def test_what_is_flushed_outlives_the_server(words: TestDatabase) -> None:
    sink = PostgresFlushingSink(PostgresTable(words.url, "words", ["word", "number"], key=["word"]))
    writer, _ = open_sink(sink, sink_context())
    for number in range(3):
        writer.write([("a", number)])
        writer.prepare_commit(CheckpointId(number + 1))
    words.server.restart()
    assert words.execute("SELECT * FROM words") == [("a", 2)]
    writer.prepare_commit(CheckpointId(4))  # there is nothing that could have been lost
    writer.close()


def test_rows_are_seen_without_a_flush_and_nothing_is_written_after_one_that_does_not_fit(words: TestDatabase) -> None:
    sink = PostgresFlushingSink(PostgresTable(words.url, "words", ["word", "number"], key=["word"]))
    writer, _ = open_sink(sink, sink_context())
    writer.write([("a", 1)])
    deadline = time.monotonic() + 120
    while words.execute("SELECT * FROM words") != [("a", 1)]:
        assert time.monotonic() < deadline
    writer.write([("b", 1), ("c", "much")])
    for _ in range(2):
        with pytest.raises(SinkError, match="'word': 'c', 'number': 'much'"):
            writer.prepare_commit(CheckpointId(1))
    with pytest.raises(SinkError, match="'word': 'c', 'number': 'much'"):
        writer.write([("d", 1)])
    assert words.execute("SELECT * FROM words") == [("a", 1)]
    writer.close()
