"""Commits of all subtasks in one step: when they are made, and what becomes of those that cannot be."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ClassVar

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.store import MemoryStore
from headgate.elements import SavepointFormat
from headgate.functions.sink import (
    CommitLostError,
    Committer,
    GlobalCommitter,
    RetriableCommitError,
    Sink,
    SinkContext,
    SinkIdentity,
    SinkWriter,
)
from headgate.ids import CheckpointId, JobId
from headgate.job_status import JobStatus
from headgate.operators.plain_functions import MapFactory
from headgate.operators.sink import SinkFactory
from headgate.runtime.control.messages import CheckpointCompleted, InjectBarrier
from headgate.runtime.master.requests import SavepointRequest
from tests.unit.runtime.master.test_job_master import CALLS, FAIL_AT, Failing, Ticking
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import Step, line_plan

SETTINGS = {
    "execution.checkpointing.interval": "50 ms",
    "execution.checkpointing.savepoint-dir": "/savepoints",
    "execution.checkpointing.externalized-checkpoint-retention": "NO_EXTERNALIZED_CHECKPOINTS",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "20 ms",
    "restart-strategy.fixed-delay.attempts": "3",
    "sink.committer.retries": "2",
}
COUNT = 40


class Table:
    """What jobs of this module append to; found by reference, as sinks travel pickled."""

    rows: ClassVar[list[int]] = []
    calls: ClassVar[list[tuple[int, list[int]]]] = []
    """The checkpoint and the rows of each call."""
    answers: ClassVar[list[Exception]] = []
    """What the next calls raise."""
    told: ClassVar[list[list[int]]] = []
    """What the committers of subtasks were told to commit."""
    discarded: ClassVar[list[JobId]] = []
    look: ClassVar[Callable[[int], None]] = lambda _: None
    """Called with the checkpoint in each call."""


@pytest.fixture(autouse=True)
def _clear() -> None:
    for each in (Table.rows, Table.calls, Table.answers, Table.told, Table.discarded):
        each.clear()
    Table.look = lambda _: None


class ToTable(Sink[int]):
    def discard(self, identity: SinkIdentity) -> None:
        Table.discarded.append(identity.job_id)

    def writer(self, context: SinkContext) -> SinkWriter[int]:
        return Gathering()

    def committer(self, context: SinkContext) -> Committer[int]:
        return Noting()

    def global_committer(self) -> GlobalCommitter[int]:
        return Appending()


class Gathering(SinkWriter[int]):
    def __init__(self) -> None:
        self.records: list[int] = []

    def write(self, records: list[Any]) -> None:
        self.records += records

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[int]:
        records, self.records = self.records, []
        return records


class Noting(Committer[int]):
    def commit(self, committables: list[int]) -> None:
        Table.told.append(committables)


class Appending(GlobalCommitter[int]):
    def commit(self, checkpoint_id: CheckpointId, committables: list[int]) -> None:
        Table.look(checkpoint_id)
        Table.calls.append((checkpoint_id, committables))
        if Table.answers:
            raise Table.answers.pop(0)
        Table.rows.extend(row for row in committables if row not in Table.rows)


def rig_of(limit: int = COUNT, store: MemoryStore | None = None, **settings: str) -> MasterRig:
    """A job that appends the numbers below the limit with two subtasks, one number each 10 ms."""
    merged = SETTINGS | {key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()}
    sink = Step(SinkFactory(ToTable()), parallelism=2)
    rig = MasterRig(line_plan(Ticking(limit), MapFactory(Failing()), sink, settings=merged), store)
    rig.master.submit()
    return rig


def checkpoints(rig: MasterRig, count: int) -> None:
    rig.run_until(lambda: len(rig.master.progress.checkpoints) >= count)


def stop(rig: MasterRig, wish: SavepointRequest) -> Future[str]:
    answer = Future[str]()
    rig.master.take_savepoint(wish, answer)
    return answer


def test_all_is_committed_once_for_each_checkpoint_of_all_subtasks_and_in_order() -> None:
    outcome = rig_of().end()
    assert outcome.status is JobStatus.FINISHED
    assert sorted(Table.rows) == list(range(COUNT))
    ids = [checkpoint_id for checkpoint_id, _ in Table.calls]
    assert ids == sorted(set(ids))
    assert len(ids) > 2


def test_nobody_hears_of_a_checkpoint_before_its_commit_and_nothing_is_committed_before_the_manifest() -> None:
    rig = rig_of()
    seen: list[int] = []

    def look(checkpoint_id: int) -> None:
        assert paths.metadata(CheckpointId(checkpoint_id)) in rig.store.files
        told = [message for link in rig.links.values() for message in link.told]
        assert not [one for one in told if isinstance(one, CheckpointCompleted) and one.checkpoint_id == checkpoint_id]
        assert not [one for one in told if isinstance(one, InjectBarrier) and one.completed == checkpoint_id]
        assert not [rows for rows in Table.told if set(rows) - set(Table.rows)]
        seen.append(checkpoint_id)

    Table.look = look
    assert rig.end().status is JobStatus.FINISHED
    assert len(seen) > 2
    assert sorted(row for rows in Table.told for row in rows) == list(range(COUNT))


def test_what_a_restored_checkpoint_holds_is_committed_again_before_the_attempt_starts() -> None:
    rig = rig_of()
    checkpoints(rig, 2)
    calls = len(Table.calls)
    newest = Table.calls[-1]
    FAIL_AT.add(CALLS[0] + 1)
    rig.run_until(lambda: rig.master.progress.restarts == 1)
    rig.run_until(lambda: rig.master.progress.attempt == 2)
    again = Table.calls[calls:]
    assert again[0] == newest or again[1] == again[0]
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(Table.rows) == list(range(COUNT))


def test_a_driver_that_dies_between_manifest_and_commit_leaves_the_commit_to_the_next() -> None:
    class DriverDies(BaseException):
        pass

    first = rig_of()
    checkpoints(first, 1)

    def die(_: int) -> None:
        raise DriverDies

    Table.look = die
    with pytest.raises(DriverDies):
        first.run_until(lambda: False)
    dead_with = dict(first.store.files)
    Table.look = lambda _: None
    store = MemoryStore()
    store.files.update(dead_with)
    committed = list(Table.rows)
    rig = rig_of(store=store)
    rig.run_until(lambda: rig.master.progress.attempt > 0)
    assert len(Table.rows) > len(committed)
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(Table.rows) == list(range(COUNT))


def test_a_commit_that_cannot_be_made_now_is_made_later_and_the_job_goes_on() -> None:
    rig = rig_of()
    times: list[float] = []
    Table.answers.extend([RetriableCommitError("locked"), RetriableCommitError("locked")])
    Table.look = lambda _: times.append(rig.clock.monotonic_ms())
    assert rig.end().status is JobStatus.FINISHED
    assert rig.master.progress.restarts == 0
    assert sorted(Table.rows) == list(range(COUNT))
    assert times[1] - times[0] >= 100
    assert times[2] - times[1] >= 200


def test_a_commit_that_is_put_off_too_often_restarts_the_job_and_no_subtask_hears_of_the_checkpoint() -> None:
    rig = rig_of()
    Table.answers.extend([RetriableCommitError("locked")] * 3)
    rig.run_until(lambda: rig.master.progress.restarts == 1)
    assert Table.told == []
    assert "commit of checkpoint 1 failed: it cannot be made now: locked" in rig.master.progress.failures[0].cause
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(Table.rows) == list(range(COUNT))


@pytest.mark.parametrize("error", [ValueError("a bug"), OSError("no route")], ids=lambda error: type(error).__name__)
def test_any_other_error_restarts_the_job_also_when_it_comes_during_a_restore(error: Exception) -> None:
    rig = rig_of()
    Table.answers.extend([error, error])
    assert rig.end().status is JobStatus.FINISHED
    assert rig.master.progress.restarts == 2
    causes = [failure.cause for failure in rig.master.progress.failures]
    assert f"commit of checkpoint 1 failed: Appending: {type(error).__name__}: {error}" in causes[0]
    assert causes[1] == f"attempt 2 cannot start: Appending: {type(error).__name__}: {error}"
    assert sorted(Table.rows) == list(range(COUNT))


def test_lost_output_ends_the_job_at_once_and_keeps_its_checkpoints_and_what_is_prepared() -> None:
    rig = rig_of()
    Table.answers.append(CommitLostError("version 7 of the table is gone; its files are in /table/staged"))
    outcome = rig.end()
    assert outcome.status is JobStatus.FAILED
    assert outcome.cause is not None
    assert "commit of checkpoint 1 failed: version 7 of the table is gone" in outcome.cause
    assert rig.master.progress.restarts == 0
    assert paths.metadata(CheckpointId(1)) in rig.store.files
    assert (Table.discarded, Table.told) == ([], [])


def test_output_that_turns_out_to_be_lost_at_a_restore_ends_the_job_as_well() -> None:
    rig = rig_of()
    Table.answers.extend([OSError("no route"), CommitLostError("the table is gone")])
    outcome = rig.end()
    assert outcome.status is JobStatus.FAILED
    assert str(outcome.cause).splitlines()[0] == "attempt 2 cannot start: the table is gone"
    assert paths.metadata(CheckpointId(1)) in rig.store.files
    assert Table.discarded == []


def test_a_savepoint_on_the_way_commits_nothing_and_the_next_checkpoint_all_that_it_holds() -> None:
    rig = rig_of(execution__checkpointing__interval="10 min")
    rig.run_until(lambda: CALLS[0] >= 5)
    answer = stop(rig, SavepointRequest())
    rig.run_until(answer.done)
    assert (Table.calls, Table.told) == ([], [])
    assert rig.end().status is JobStatus.FINISHED
    assert [checkpoint_id for checkpoint_id, _ in Table.calls] == [1, 2]
    assert sorted(Table.rows) == list(range(COUNT))


@pytest.mark.parametrize("drain", [False, True], ids=["suspend", "drain"])
@pytest.mark.parametrize("snapshot_format", list(SavepointFormat))
def test_a_savepoint_that_ends_the_job_is_committed_and_another_job_goes_on(
    drain: bool, snapshot_format: SavepointFormat
) -> None:
    rig = rig_of()
    checkpoints(rig, 1)
    answer = stop(rig, SavepointRequest(stops=True, drains=drain, format=snapshot_format))
    assert rig.end().status is JobStatus.FINISHED
    rows = sorted(Table.rows)
    assert rows == list(range(len(rows)))
    assert len(rows) < COUNT
    other = rig_of(store=MemoryStore(), execution__state_recovery__path=answer.result())
    other.folders.update(rig.folders)
    calls = len(Table.calls)
    other.run_until(lambda: other.master.progress.attempt == 1)
    assert Table.calls[calls:] == Table.calls[calls - 1 : calls], "the savepoint's commits, again"
    assert other.end().status is JobStatus.FINISHED
    assert sorted(Table.rows) == list(range(COUNT))


def test_a_stop_whose_commit_fails_is_finished_by_the_next_attempt() -> None:
    rig = rig_of(execution__checkpointing__interval="10 min")
    rig.run_until(lambda: CALLS[0] >= 5)
    Table.answers.append(OSError("no route"))
    answer = stop(rig, SavepointRequest(stops=True))
    assert rig.end().status is JobStatus.FINISHED
    assert answer.result().startswith("/savepoints")
    assert rig.master.progress.restarts == 1
    assert 5 <= len(Table.rows) < COUNT
    assert sorted(Table.rows) == list(range(len(Table.rows)))


def test_a_commit_that_is_put_off_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        rig = rig_of()
        Table.answers.append(RetriableCommitError("locked"))
        rig.end()
    assert "commit of checkpoint 1: it cannot be made now; trying again: locked" in caplog.text
