"""What the database remembers of batches, for how long, and who may write to it."""

from __future__ import annotations

import pytest

from headgate.connectors.postgres import PostgresFlushingSink, PostgresSink, PostgresTable
from headgate.errors import SinkError
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import JOB, open_sink, sink_context
from tests.postgres.databases import TestDatabase

pytestmark = pytest.mark.slow

MARKED = "SELECT split_part(batch, '_', 5)::int FROM headgate.commits ORDER BY 1"


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
            committer.keep(waiting)
        committer.commit(waiting)
        if checkpoint == 3:
            assert words.execute(MARKED) == [(1,), (2,), (3,)]
            words.execute("UPDATE headgate.commits SET committed_at = now() - interval '31 days'")
    writer.close()
    assert words.execute(MARKED) == [(2,), (4,)]
    assert words.execute("SELECT * FROM headgate.kept") == []


def test_a_dead_attempt_does_not_flush_old_values_over_new_ones(words: TestDatabase) -> None:
    sink = PostgresFlushingSink(PostgresTable(words.url, "words", ["word", "number"], key=["word"]))
    old, _ = open_sink(sink, sink_context())
    old.write([("a", 1)])
    new, _ = open_sink(sink, sink_context(attempt=2))
    new.write([("a", 1), ("a", 2)])
    with pytest.raises(SinkError, match="cannot write to table 'words'"):
        old.write([("a", 1)])
    assert words.execute("SELECT * FROM words") == [("a", 2)]
    for writer in (old, new):
        writer.close()


def test_what_is_flushed_is_seen_at_once_and_a_row_that_does_not_fit_takes_only_its_batch_with_it(
    words: TestDatabase,
) -> None:
    sink = PostgresFlushingSink(PostgresTable(words.url, "words", ["word", "number"], key=["word"]))
    writer, _ = open_sink(sink, sink_context())
    writer.write([("a", 1)])
    assert words.execute("SELECT * FROM words") == [("a", 1)]
    with pytest.raises(SinkError, match="'word': 'c', 'number': 'much'"):
        writer.write([("b", 1), ("c", "much")])
    assert words.execute("SELECT * FROM words") == [("a", 1)]
    writer.close()
