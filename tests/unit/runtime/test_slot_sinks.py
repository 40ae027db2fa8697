"""A sink in a slot: commits that are put off wait on the slot's clock, and nothing of an attempt outlives it."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from headgate.checkpoint.messages import SubtaskCommitted
from headgate.errors import SinkError
from headgate.functions.sink import CommitLostError, Committer, RetriableCommitError, Sink, SinkContext, SinkWriter
from headgate.ids import Attempt, CheckpointId
from headgate.operators.sink import SinkFactory
from headgate.runtime.control.messages import SlotReady, SlotTornDown, Start, TaskFailed, TearDown
from tests.unit.runtime.plans import SlotRig, line_plan
from tests.unit.runtime.slots import A1, CHECKPOINTS, completed, trigger


class Target:
    """What a job of this module writes to; it is found by reference, as functions travel pickled."""

    answers: ClassVar[list[Exception]] = []
    """What the next commits raise; those that follow succeed."""
    tries: ClassVar[list[tuple[int, list[Any]]]] = []
    committed: ClassVar[list[Any]] = []
    recovered: ClassVar[list[int]] = []
    """The attempts that have removed what those before them left."""
    troubles: ClassVar[list[Exception]] = []
    """What that raises."""


class ToTarget(Sink[Any]):
    def writer(self, context: SinkContext) -> SinkWriter[Any]:
        return Gathering()

    def committer(self, context: SinkContext) -> Committer[Any]:
        return Committing(context.attempt)


class Gathering(SinkWriter[Any]):
    def __init__(self) -> None:
        self.taken: list[Any] = []

    def write(self, records: list[Any]) -> None:
        self.taken += records

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Any]:
        taken, self.taken = self.taken, []
        return taken


class Committing(Committer[Any]):
    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt

    def commit(self, committables: list[Any]) -> None:
        Target.tries.append((self.attempt, committables))
        if Target.answers:
            raise Target.answers.pop(0)
        Target.committed += committables

    def recover(self, restored: list[Any]) -> None:
        Target.recovered.append(self.attempt)
        if Target.troubles:
            raise Target.troubles.pop(0)


@pytest.fixture
def rig() -> SlotRig:
    Target.answers, Target.tries, Target.committed = [], [], []
    Target.recovered, Target.troubles = [], []
    return SlotRig(line_plan("abc", SinkFactory(ToTarget()), settings={**CHECKPOINTS, "sink.committer.retries": 3}))


def complete(rig: SlotRig, number: int = 1) -> None:
    """Read all there is, then take a checkpoint and let it be complete."""
    rig.settle()
    rig.tell(trigger(number))
    rig.settle()
    rig.tell(completed(number))
    rig.settle()


def wait(rig: SlotRig, duration_ms: float) -> None:
    rig.clock.advance(duration_ms)
    rig.step()
    rig.settle()


def test_a_commit_that_is_put_off_is_made_when_its_time_has_come(rig: SlotRig) -> None:
    Target.answers = [RetriableCommitError("busy"), RetriableCommitError("busy")]
    rig.run()
    complete(rig)
    wake_ms = rig.step()
    assert wake_ms is not None
    assert rig.clock.monotonic_ms() < wake_ms <= rig.clock.monotonic_ms() + 100
    wait(rig, 99)
    assert len(Target.tries) == 1
    wait(rig, 1)
    assert len(Target.tries) == 2
    wait(rig, 199)
    assert Target.committed == []
    wait(rig, 1)
    assert Target.committed == ["a", "b", "c"]
    assert [message.checkpoint_id for message in rig.all_sent(SubtaskCommitted)] == [1]
    assert rig.all_sent(TaskFailed) == []


def test_after_the_end_of_the_data_a_commit_is_tried_again_until_it_is_made(rig: SlotRig) -> None:
    Target.answers = [RetriableCommitError("busy")]
    rig.run()
    complete(rig)
    assert rig.slot._execution is not None
    assert all(not subtask.has_more for subtask in rig.slot._execution.subtasks.values())
    wait(rig, 100)
    assert Target.committed == ["a", "b", "c"]


def test_a_commit_that_is_put_off_too_often_fails_the_subtask_so_that_the_job_restarts(rig: SlotRig) -> None:
    Target.answers = [RetriableCommitError("busy")] * 4
    rig.run()
    complete(rig)
    for _ in range(4):
        wait(rig, 1_000)
    (failed,) = rig.all_sent(TaskFailed)
    assert failed.failure == "CommitFailedError: commit of checkpoint 1 failed: busy (tried 4 times)"
    assert failed.retriable
    assert len(Target.tries) == 4


def test_the_end_of_an_attempt_does_not_wait_for_a_commit_that_is_put_off_nor_is_it_made_later(rig: SlotRig) -> None:
    Target.answers = [RetriableCommitError("busy")]
    rig.run()
    complete(rig)
    rig.tell(TearDown(attempt=A1))
    assert [message.attempt for message in rig.all_sent(SlotTornDown)] == [A1]
    wait(rig, 10_000)
    assert len(Target.tries) == 1
    assert rig.step() is None


def test_the_end_of_an_attempt_waits_for_a_commit_that_is_being_made(rig: SlotRig) -> None:
    rig.run()
    rig.settle()
    rig.tell(trigger(1))
    rig.settle()
    rig.tell(completed(1))
    rig.tell(TearDown(attempt=A1))
    assert rig.all_sent(SlotTornDown) == []
    rig.settle()
    assert Target.committed == ["a", "b", "c"]
    assert len(rig.all_sent(SlotTornDown)) == 1


def test_lost_output_is_reported_as_such_and_in_the_sinks_own_words(rig: SlotRig) -> None:
    Target.answers = [CommitLostError("transaction t-1 of orders is gone: its rows are in backup.csv")]
    rig.run()
    complete(rig)
    (failed,) = rig.all_sent(TaskFailed)
    assert not failed.retriable
    assert "commit of checkpoint 1 failed: transaction t-1 of orders is gone" in str(failed.failure)


def test_any_other_error_fails_the_subtask_at_once(rig: SlotRig) -> None:
    Target.answers = [SinkError("no room")]
    rig.run()
    complete(rig)
    (failed,) = rig.all_sent(TaskFailed)
    assert failed.retriable
    assert len(Target.tries) == 1


def test_what_earlier_attempts_have_prepared_stays_until_the_whole_job_is_restored(rig: SlotRig) -> None:
    rig.deploy()
    rig.settle()
    assert [message.attempt for message in rig.all_sent(SlotReady)] == [A1]
    assert Target.recovered == []
    rig.tell(Start(attempt=A1))
    assert Target.recovered == [A1]


def test_an_attempt_that_is_ended_before_it_starts_has_removed_nothing(rig: SlotRig) -> None:
    rig.deploy()
    rig.tell(TearDown(attempt=A1))
    assert [message.attempt for message in rig.all_sent(SlotTornDown)] == [A1]
    assert Target.recovered == []


def test_what_cannot_be_removed_fails_the_attempt_with_the_name_of_the_sink(rig: SlotRig) -> None:
    Target.troubles = [SinkError("no right to abort")]
    rig.run()
    (failed,) = rig.all_sent(TaskFailed)
    assert "no right to abort" in str(failed.failure)
    assert failed.subtask is not None
    rig.settle()
    assert Target.tries == []
