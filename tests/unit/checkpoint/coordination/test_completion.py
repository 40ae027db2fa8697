"""From a stored manifest to those who hear of it: the commit for all, retention, and who waits for both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.checkpoint.coordination import vocabulary as c
from headgate.checkpoint.coordination.failures import FailureReason
from headgate.errors import InternalError
from headgate.ids import Attempt
from tests.unit.checkpoint.coordinated import Job, keep, of_type


@pytest.fixture
def job() -> Iterator[Job]:
    job = Job(commits_for_all=True)
    job.start()
    yield job
    job.coordinator.check_invariants()


def acked(job: Job) -> c.StoreManifest:
    """Take the job to the point where the manifest of checkpoint 1 is being written."""
    job.at(100.0)
    (order,) = of_type(job.ack(1), c.StoreManifest)
    return order


# --- commit for all, then tell anybody --------------------------------------------------------------------------------


def test_what_is_stored_is_committed_for_all_before_anybody_hears_of_it(job: Job) -> None:
    order = acked(job)
    assert job.stored(1) == [c.CommitForAll(order=order)]
    assert (job.coordinator.completed, job.coordinator.gate.in_doubt) == ((), 1)
    assert job.committed_for_all(1) == [job.notify(1), keep(1)]
    assert (job.coordinator.completed, job.coordinator.gate.in_doubt) == ((1,), None)


def test_an_asker_hears_of_the_checkpoint_only_when_it_is_committed_for_all(job: Job) -> None:
    job.request(c.CheckpointRequest(number=7))
    job.ack(1)
    assert of_type(job.stored(1), c.RequestCompleted) == []
    assert [each.request.number for each in of_type(job.committed_for_all(1), c.RequestCompleted)] == [7]


def test_nothing_is_committed_with_a_savepoint_that_the_job_goes_on_after(job: Job) -> None:
    job.savepoint(7)
    job.ack(1)
    assert [type(effect) for effect in job.stored(1)] == [c.RequestCompleted]


@pytest.mark.parametrize("retriable", [True, False])
def test_a_refused_commit_fails_the_attempt_and_the_checkpoint_is_complete_all_the_same(
    job: Job, retriable: bool
) -> None:
    acked(job)
    job.stored(1)
    failure = FailureReason.NOT_COMMITTED.told(checkpoint_id=1, why="gone")
    assert job.commit_refused(1, retriable=retriable) == [
        c.FailAttempt(attempt=Attempt(1), failure=failure, retriable=retriable)
    ]
    assert (job.coordinator.completed, job.coordinator.phase) == ((1,), c.Phase.FAILING)
    assert job.at(10_000.0) == []


def test_a_commit_refused_after_the_end_of_its_attempt_leaves_the_next_one_alone(job: Job) -> None:
    acked(job)
    job.stored(1)
    job.end_attempt()
    assert [type(effect) for effect in job.commit_refused(1)] == [c.FailAttempt, c.AbortOutput]
    assert (job.coordinator.completed, job.coordinator.phase) == ((1,), c.Phase.IDLE)


def test_a_stop_is_recorded_then_committed_for_all_then_told(job: Job) -> None:
    job.stop(9)
    (order,) = of_type(job.ack(1), c.StoreManifest)
    assert isinstance(job.stored(1)[-1], c.RecordStop)
    assert job.recorded(1) == [c.CommitForAll(order=order)]
    assert job.coordinator.gate.in_doubt == 1
    assert job.committed_for_all(1) == [job.notify(1)]
    assert job.coordinator.phase is c.Phase.COMMITTING


def test_a_stop_whose_commit_is_refused_still_ends_the_job_by_another_attempt(job: Job) -> None:
    job.stop(9)
    job.ack(1)
    job.stored(1)
    job.recorded(1)
    (failed,) = job.commit_refused(1)
    assert isinstance(failed, c.FailAttempt)
    job.end_attempt()
    job.aborted()
    job.start(2, last_id=1, finishing=1)
    assert job.coordinator.phase is c.Phase.COMMITTING


def test_a_commit_that_was_not_ordered_is_an_internal_error(job: Job) -> None:
    with pytest.raises(InternalError, match="not being stored"):
        job.committed_for_all(1)


# --- retention --------------------------------------------------------------------------------------------------------


def test_one_retention_runs_at_a_time_and_the_next_covers_all_that_were_due_meanwhile() -> None:
    job = Job(deletes_at_once=False)
    job.start()
    orders = []
    for number in (1, 2, 3):
        job.at(number * 100.0)
        job.ack(number)
        orders += of_type(job.stored(number), c.RetainCheckpoints)
    assert orders == [keep(1)]
    assert job.retained() == [keep(3)]
    assert job.retained() == []


# --- who waits --------------------------------------------------------------------------------------------------------


def test_the_gate_is_open_when_nothing_is_in_doubt() -> None:
    job = Job()
    job.start()
    job.end_attempt()
    assert job.coordinator.gate.is_open_for_restore
    assert job.coordinator.gate.is_open_for_end


def test_a_restore_waits_for_the_manifest_the_commit_and_the_abort_of_what_is_left_over(job: Job) -> None:
    gate = job.coordinator.gate
    order = acked(job)
    job.end_attempt()
    assert not gate.is_open_for_restore
    assert job.stored(1) == [c.CommitForAll(order=order)]
    assert not gate.is_open_for_restore
    assert job.committed_for_all(1) == [c.AbortOutput()]
    assert not gate.is_open_for_restore
    assert job.aborted() == []
    assert gate.is_open_for_restore


def test_a_refused_manifest_is_in_doubt_no_more_but_what_is_left_over_is_aborted_first(job: Job) -> None:
    gate = job.coordinator.gate
    acked(job)
    job.end_attempt()
    assert job.refused(1)[-1] == c.AbortOutput()
    assert not gate.is_open_for_restore
    job.aborted()
    assert gate.is_open_for_restore


def test_the_job_ends_when_no_clean_up_is_under_way() -> None:
    job = Job(deletes_at_once=False, commits_for_all=True)
    gate = job.coordinator.gate
    job.start()
    acked(job)
    job.stored(1)
    job.committed_for_all(1)
    assert job.end_attempt() == [c.AbortOutput()]
    assert not gate.is_open_for_end
    job.aborted()
    assert (gate.is_open_for_restore, gate.is_open_for_end) == (True, False)
    job.retained()
    assert gate.is_open_for_end


def test_the_end_does_not_wait_for_what_is_not_under_way(job: Job) -> None:
    job.end_attempt()
    job.aborted()
    assert job.coordinator.gate.is_open_for_end
    assert job.end_job() == []
