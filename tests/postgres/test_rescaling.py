"""Batches that go from one subtask to another: each is committed by one of them, in order, and leftovers by none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from headgate.connectors.postgres import PostgresSink, PostgresTable, PreparedPostgresSink
from headgate.functions.sink import Committer, Sink, SinkContext
from headgate.ids import Attempt, CheckpointId
from headgate.testing.contracts.sink import JOB
from tests.postgres.databases import TestDatabase
from tests.unit.web.served import until

pytestmark = pytest.mark.slow

SINKS: dict[str, Callable[[PostgresTable], Sink[Any]]] = {"staged": PostgresSink, "prepared": PreparedPostgresSink}


@dataclass(frozen=True)
class Subtask:
    """One subtask of a sink, in one attempt."""

    sink: Sink[Any]
    subtask: int
    parallelism: int
    attempt: int
    restored_id: int | None = None

    @property
    def context(self) -> SinkContext:
        restored = None if self.restored_id is None else CheckpointId(self.restored_id)
        return SinkContext(
            job_id=JOB.job_id,
            lineage=JOB.lineage,
            uid=JOB.uid,
            subtask=self.subtask,
            parallelism=self.parallelism,
            attempt=Attempt(self.attempt),
            restored_id=restored,
        )

    def prepared(self, *batches: list[Any]) -> list[Any]:
        """Return what one writer prepares for checkpoints 5, 6 and so on."""
        writer = self.sink.writer(self.context)
        prepared = []
        for checkpoint, records in enumerate(batches, 5):
            writer.write(records)
            prepared += writer.prepare_commit(CheckpointId(checkpoint))
        writer.close()
        return prepared

    @property
    def committer(self) -> Committer[Any]:
        return self.sink.committer(self.context)


@pytest.fixture
def totals(database: TestDatabase) -> TestDatabase:
    database.execute("CREATE TABLE totals (customer text, amount int)")
    return database


@pytest.mark.parametrize("kind", SINKS)
def test_after_rescaling_restored_batches_are_committed_by_others_and_later_ones_removed(
    kind: str, totals: TestDatabase
) -> None:
    sink = SINKS[kind](PostgresTable(totals.url, "totals", ["customer", "amount"]))
    sink.prepare(JOB)
    of_checkpoint_5 = []
    for subtask in range(3):
        mine = Subtask(sink, subtask, 3, 1).prepared([("ann", subtask)], [("late", subtask)])
        of_checkpoint_5.append(mine[0])
    new = [Subtask(sink, subtask, 2, 2, restored_id=5) for subtask in range(2)]
    dealt = [of_checkpoint_5[2:], of_checkpoint_5[:2]]  # none goes to the subtask that has written it
    for each, restored in zip(new, dealt, strict=True):
        each.committer.recover(restored)
    for each, restored in zip(new, dealt, strict=True):
        each.committer.commit(restored)
    assert totals.execute("SELECT * FROM totals ORDER BY amount") == [("ann", 0), ("ann", 1), ("ann", 2)]
    assert (totals.staged(), totals.prepared()) == ([], [])


def test_an_older_value_never_replaces_a_newer_one_whoever_commits_first(totals: TestDatabase) -> None:
    totals.execute("CREATE UNIQUE INDEX ON totals (customer)")
    sink = PostgresSink(PostgresTable(totals.url, "totals", ["customer", "amount"], key=["customer"]))
    sink.prepare(JOB)
    older, newer = Subtask(sink, 0, 1, 1).prepared([("ann", 1), ("ann", 2)], [("ann", 3), ("bob", 1), ("ann", 4)])
    one, other = (Subtask(sink, subtask, 2, 2, restored_id=6).committer for subtask in range(2))
    one.recover([newer])
    other.recover([older])
    for committer in (one, other):
        committer.commit([newer])
        committer.commit([older])
    assert totals.execute("SELECT * FROM totals ORDER BY amount") == [("bob", 1), ("ann", 4)]


def test_what_is_restored_is_committed_before_anything_new_can_be(totals: TestDatabase) -> None:
    totals.execute("CREATE UNIQUE INDEX ON totals (customer)")
    sink = PostgresSink(PostgresTable(totals.url, "totals", ["customer", "amount"], key=["customer"]))
    sink.prepare(JOB)
    restored = Subtask(sink, 0, 1, 1).prepared([("ann", 1)])
    old, new = (Subtask(sink, subtask, 2, 2, restored_id=5) for subtask in range(2))
    old.committer.recover(restored)
    new.committer.recover([])
    new.committer.commit(new.prepared([], [("ann", 2)]))
    old.committer.commit(restored)  # it was slow
    assert totals.execute("SELECT * FROM totals") == [("ann", 2)]


@pytest.mark.parametrize("kind", SINKS)
def test_sessions_of_earlier_attempts_are_ended_and_those_of_others_are_not(kind: str, totals: TestDatabase) -> None:
    sink = SINKS[kind](PostgresTable(totals.url, "totals", ["customer", "amount"]))
    sink.prepare(JOB)
    subtasks = [Subtask(sink, 0, 2, 1), Subtask(sink, 1, 2, 1), Subtask(sink, 0, 2, 3)]
    writers = [subtask.sink.writer(subtask.context) for subtask in subtasks]
    for writer in writers:
        writer.write([("ann", 1)] * 5000)
    Subtask(sink, 0, 2, 2).committer.recover([])
    names = "SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'headgate%'"

    def only_others_are_left() -> bool:
        left = sorted(name.split("_")[1:3] for (name,) in totals.execute(names))
        return [(subtask, execution.partition(".")[0]) for subtask, execution in left] == [("0", "3"), ("1", "1")]

    try:
        until(only_others_are_left)  # the server ends a session a moment after it was told to
    finally:
        for writer in writers:
            writer.close()
