"""A sink that commits for all subtasks together passes the contract, and what it passes over is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar
from unittest import SkipTest

import pytest

from headgate.functions.sink import (
    CommitLostError,
    Committer,
    GlobalCommitter,
    RetriableCommitError,
    Sink,
    SinkContext,
    SinkWriter,
)
from headgate.ids import CheckpointId
from headgate.testing.contracts import sink as contract
from headgate.testing.contracts.sink import SinkCase, SinkTarget

RECORDS = [f"record-{index}" for index in range(14)]


class Table:
    """A table in memory; sinks find it by its number, as they travel pickled."""

    all: ClassVar[list[Table]] = []

    def __init__(self) -> None:
        self.number = len(Table.all)
        Table.all.append(self)
        self.staged: dict[str, list[Any]] = {}
        self.rows: dict[str, list[Any]] = {}
        self.is_away = False

    def commit(self, name: str) -> None:
        if self.is_away:
            raise RetriableCommitError("the table does not answer")
        if name in self.rows:
            return
        if name not in self.staged:
            raise CommitLostError(f"{name} is neither staged nor in the table")
        self.rows[name] = self.staged.pop(name)


class TableSink(Sink[str]):
    def __init__(self, number: int) -> None:
        self.number = number

    def writer(self, context: SinkContext) -> SinkWriter[str]:
        return Staging(self.number, f"{context.digest()}-{context.subtask}-{context.execution}")

    def committer(self, context: SinkContext) -> Committer[str]:
        return Told()

    def global_committer(self) -> GlobalCommitter[str] | None:
        return Together(self.number)


class Staging(SinkWriter[str]):
    def __init__(self, number: int, name: str) -> None:
        self.table, self.name, self.records = Table.all[number], name, list[Any]()

    def write(self, records: list[Any]) -> None:
        self.records += records

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[str]:
        records, self.records = self.records, []
        if not records:
            return []
        self.table.staged[f"{self.name}-{checkpoint_id}"] = records
        return [f"{self.name}-{checkpoint_id}"]


class Told(Committer[str]):
    def commit(self, committables: list[str]) -> None:
        """All is done in one step."""


class Together(GlobalCommitter[str]):
    def __init__(self, number: int) -> None:
        self.table = Table.all[number]

    def commit(self, checkpoint_id: CheckpointId, committables: list[str]) -> None:
        for name in committables:
            self.table.commit(name)


class Careless(TableSink):
    """Takes each trouble for done."""

    def global_committer(self) -> GlobalCommitter[str] | None:
        return Shrugging(self.number)


class Shrugging(Together):
    def commit(self, checkpoint_id: CheckpointId, committables: list[str]) -> None:
        for name in committables:
            self.table.rows.setdefault(name, self.table.staged.pop(name, []))


class Forgetting(TableSink):
    """Has no commit at all."""

    def global_committer(self) -> GlobalCommitter[str] | None:
        return None


def case_of(kind: type[TableSink], **rest: Any) -> SinkCase:
    def fresh() -> SinkTarget:
        table = Table()

        def be_away(away: bool) -> None:
            table.is_away = away

        return SinkTarget(
            sink=kind(table.number),
            read=lambda: [record for records in table.rows.values() for record in records],
            be_away=be_away,
            lose=table.staged.clear,
        )

    return SinkCase(fresh=fresh, records=RECORDS, **rest)


@pytest.mark.parametrize("check", contract.SINK_CHECKS, ids=lambda check: check.__name__)
def test_the_sink_passes(check: Callable[[SinkCase], None]) -> None:
    check(case_of(TableSink))


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (Forgetting, contract.check_stops_at_any_point_give_each_record_once),
        (Careless, contract.check_a_target_that_is_away_is_asked_again),
        (Careless, contract.check_lost_output_is_told),
    ],
)
@pytest.mark.slow
def test_a_fault_is_found(kind: type[TableSink], check: Callable[[SinkCase], None]) -> None:
    with pytest.raises(AssertionError):
        check(case_of(kind))


def test_a_check_that_does_not_fit_the_target_says_why_it_is_skipped() -> None:
    with pytest.raises(SkipTest, match="transactions end after an hour"):
        contract.check_what_a_savepoint_holds_stays(case_of(TableSink, expires="transactions end after an hour"))
