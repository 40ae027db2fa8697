"""One job id, several lineages: with other storage, and from a savepoint. Each has names and marks of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headgate.connectors.postgres import PostgresSink, PostgresTable, PreparedPostgresSink
from headgate.connectors.postgres.two_phase import TwoPhaseSink
from headgate.errors import SinkError
from headgate.functions.sink import CommitLostError, SinkIdentity
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import JOB, OTHER_JOB, OTHER_LINEAGE, SAVEPOINT, open_sink, sink_context
from tests.postgres.databases import TestDatabase

pytestmark = pytest.mark.slow

PREPARED = "SELECT count(*)::int FROM pg_prepared_xacts WHERE database = current_database()"


def table(database: TestDatabase, name: str = "words") -> PostgresTable:
    return PostgresTable(database.url, name, ["word", "number"])


@pytest.fixture
def words(database: TestDatabase) -> TestDatabase:
    database.execute("CREATE TABLE words (word text UNIQUE, number bigint)")
    database.execute("CREATE TABLE others (word text, number bigint)")
    return database


def prepared(sink: TwoPhaseSink, identity: SinkIdentity, *words: str) -> list[Any]:
    sink.prepare(identity)
    writer, _ = open_sink(sink, sink_context(identity))
    writer.write([(word, 1) for word in words])
    waiting = writer.prepare_commit(CheckpointId(1))
    writer.close()
    return waiting


@pytest.mark.parametrize("kind", [PostgresSink, PreparedPostgresSink])
def test_a_mark_of_an_ended_lineage_says_nothing_of_another_one_nor_of_another_table(
    kind: type[PostgresSink | PreparedPostgresSink], words: TestDatabase
) -> None:
    for sink, identity, word in (
        (kind(table(words)), JOB, "a"),
        (kind(table(words)), OTHER_LINEAGE, "b"),
        (kind(table(words)), OTHER_JOB, "c"),
        (kind(table(words, "others")), JOB, "d"),
    ):
        sink.committer(sink_context(identity)).commit(prepared(sink, identity, word))
    assert words.execute("SELECT word FROM words ORDER BY word") == [("a",), ("b",), ("c",)]
    assert words.execute("SELECT word FROM others") == [("d",)]


def test_open_and_prepared_transactions_of_ended_lineages_are_rolled_back_but_not_what_is_still_to_be_committed(
    words: TestDatabase,
) -> None:
    sink = PreparedPostgresSink(table(words))
    held = prepared(sink, JOB, "held")
    left = prepared(sink, replace(JOB, lineage=OTHER_JOB.lineage), "left")
    of_a_savepoint = prepared(sink, OTHER_JOB, "of a job whose id is almost the same")
    open_writer, _ = open_sink(sink, sink_context(JOB, subtask=1, attempt=2))
    open_writer.write([(f"open {number}", number) for number in range(5000)])  # so many that they are sent
    sink.prepare(OTHER_LINEAGE)
    sink.end_others(OTHER_LINEAGE, held)()
    assert words.execute(PREPARED) == [(2,)]
    words.execute("INSERT INTO words VALUES ('left', 2), ('open 1', 2)")  # nothing of them is locked
    with pytest.raises(CommitLostError):
        sink.committer(sink_context(JOB)).commit(left)
    sink.committer(sink_context(OTHER_LINEAGE)).commit(held)
    sink.committer(sink_context(OTHER_JOB)).commit(of_a_savepoint)
    assert words.execute("SELECT count(*)::int FROM words") == [(4,)]
    open_writer.close()


def test_what_a_savepoint_of_an_ended_lineage_keeps_stays_prepared(words: TestDatabase) -> None:
    sink = PreparedPostgresSink(table(words))
    kept = prepared(sink, JOB, "kept")
    sink.committer(sink_context(JOB)).keep(kept, SAVEPOINT)
    sink.prepare(OTHER_LINEAGE)
    sink.end_others(OTHER_LINEAGE, [])()
    sink.committer(sink_context(OTHER_LINEAGE)).commit(kept)
    assert words.execute("SELECT word FROM words") == [("kept",)]


def test_a_name_that_another_owner_has_is_refused_saying_whose_it_is(words: TestDatabase) -> None:
    sink = PostgresSink(table(words))
    sink.prepare(JOB)
    words.execute("UPDATE headgate.owners SET job_id = 'ab', uid = 'totals'")
    with pytest.raises(SinkError, match=rf"the sink 'totals' of job ab \(lineage {JOB.lineage}\) to table 'words'"):
        sink.prepare(JOB)


def test_what_a_release_without_lineages_has_prepared_is_committed_under_its_own_name(words: TestDatabase) -> None:
    sink = PreparedPostgresSink(table(words))
    [waiting] = prepared(sink, JOB, "old")
    batch = waiting.batch
    old = object.__new__(type(batch))
    old.__setstate__(["5ce7a7105ce7a710", "0a1b2c3d", batch.subtask, batch.attempt, batch.checkpoint])
    assert str(old) == "5ce7a7105ce7a710_0a1b2c3d_0_1_1"
    writer = open_sink(sink, sink_context())[0]
    writer._batch = old.opened  # type: ignore[attr-defined]
    writer.write([("older", 1)])
    older = writer.prepare_commit(CheckpointId(1))
    writer.close()
    for _ in range(2):
        sink.committer(sink_context(OTHER_LINEAGE)).commit(older)
    assert words.execute("SELECT word FROM words") == [("older",)]
    assert words.execute("SELECT batch FROM headgate.commits") == [("5ce7a7105ce7a710_0a1b2c3d_0_1_1",)]
    sink.discard(JOB)
