"""Requests of the checkpoint coordinator: savepoints, and the end of the job with one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.checkpoint.coordination import vocabulary as c
from headgate.checkpoint.coordination.failures import CheckpointFailure, FailureReason
from headgate.checkpoint.messages import SubtaskDeclined, SubtaskRecovered
from headgate.errors import InternalError
from headgate.ids import Attempt, CheckpointId
from tests.unit.checkpoint.coordinated import DECLINED, SINK, SOURCE, SUBTASKS, Job, keep, of_type, order


@pytest.fixture
def job() -> Iterator[Job]:
    job = Job()
    job.start()
    yield job
    job.coordinator.check_invariants()


def completed(effects: list[c.CoordinatorEffect]) -> list[tuple[int, int]]:
    """The requests that were answered with a checkpoint, and with which."""
    return [(each.request.number, each.checkpoint_id) for each in of_type(effects, c.RequestCompleted)]


def failed(effects: list[c.CoordinatorEffect]) -> dict[int, CheckpointFailure]:
    """The requests that were answered with a reason, by number."""
    return {each.request.number: each.failure for each in of_type(effects, c.RequestFailed)}


def discard_savepoint(number: int, checkpoint_id: int, *, stops: bool = False) -> c.DiscardSavepoint:
    return c.DiscardSavepoint(checkpoint_id=CheckpointId(checkpoint_id), savepoint=order(number, stops=stops))


def decline_for_a_newer_one(job: Job, checkpoint_id: int) -> list[c.CoordinatorEffect]:
    id_ = CheckpointId(checkpoint_id)
    return job.receive(
        SubtaskDeclined(attempt=job.attempt, checkpoint_id=id_, subtask=SINK, reason="subsumed", fault=False)
    )


# --- checkpoints that are asked for -----------------------------------------------------------------------------------


def test_an_asker_is_told_when_the_checkpoint_is_complete() -> None:
    job = Job(interval_ms=None)
    job.start()
    assert job.request(c.CheckpointRequest(number=7)) == [job.trigger(1)]
    job.ack(1)
    assert completed(job.stored(1)) == [(7, 1)]


def test_each_asker_gets_a_checkpoint_of_its_own(job: Job) -> None:
    job.request(c.CheckpointRequest(number=1))
    job.request(c.CheckpointRequest(number=2))
    job.ack(1)
    effects = job.stored(1)
    assert completed(effects) == [(1, 1)]
    assert effects[-1] == job.trigger(2)
    job.ack(2)
    assert completed(job.stored(2)) == [(2, 2)]


def test_an_asker_is_told_why_there_is_no_checkpoint() -> None:
    job = Job(tolerable_failures=1)
    job.start()
    job.request(c.CheckpointRequest(number=7))
    assert failed(job.decline(1)) == {7: DECLINED}


def test_what_waits_is_refused_when_the_attempt_ends(job: Job) -> None:
    job.at(100.0)
    job.request(c.CheckpointRequest(number=7))
    assert list(failed(job.end_attempt())) == [7]


def test_a_checkpoint_that_was_declined_for_a_newer_one_does_not_count_as_failed(job: Job) -> None:
    job.at(100.0)
    effects = decline_for_a_newer_one(job, 1)
    assert [aborted.checkpoint_id for aborted in of_type(effects, c.NotifyAborted)] == [1]
    assert of_type(effects, c.FailAttempt) == []


def test_nothing_starts_before_all_restored_data_in_flight_is_processed() -> None:
    job = Job()
    job.start(2, last_id=4, recovering=frozenset(SUBTASKS))
    assert job.savepoint(1) == []
    assert job.at(250.0) == []
    assert job.receive(SubtaskRecovered(attempt=job.attempt, subtask=SOURCE)) == []
    assert job.coordinator.next_wake_ms() is None
    effects = job.receive(SubtaskRecovered(attempt=job.attempt, subtask=SINK))
    assert effects == [job.trigger(5, savepoint=order(1))]


# --- checkpoints after subtasks have ended ----------------------------------------------------------------------------


def test_checkpoints_go_on_when_a_subtask_has_ended(job: Job) -> None:
    job.end_data(SOURCE)
    assert job.at(100.0) == [job.trigger(1)]


def test_no_checkpoint_but_the_final_one_starts_after_a_subtask_has_ended_if_so_set() -> None:
    job = Job(after_tasks_ended=False)
    job.start()
    job.at(100.0)
    job.request(c.CheckpointRequest(number=1))
    effects = job.end_data(SOURCE)
    assert [aborted.checkpoint_id for aborted in of_type(effects, c.NotifyAborted)] == [1]
    assert of_type(effects, c.FailAttempt) == []
    assert list(failed(effects)) == [1]
    assert job.at(1_000.0) == []
    assert failed(job.savepoint(2))[2].reason is FailureReason.SUBTASK_ENDED
    assert job.end_data(SINK) == [job.trigger(2, final=True)]


def test_a_checkpoint_that_the_ended_subtask_has_acknowledged_goes_on_even_then() -> None:
    job = Job(after_tasks_ended=False)
    job.start()
    job.at(100.0)
    job.ack(1, SOURCE)
    assert job.end_data(SOURCE) == []
    assert len(of_type(job.ack(1, SINK), c.StoreManifest)) == 1


# --- savepoints -------------------------------------------------------------------------------------------------------


def test_a_savepoint_starts_beside_a_checkpoint_and_is_answered_but_not_committed_or_retained(job: Job) -> None:
    job.at(100.0)
    assert job.savepoint(1) == [job.trigger(2, savepoint=order(1))]
    (manifest,) = of_type(job.ack(2), c.StoreManifest)
    assert manifest.savepoint == order(1)
    effects = job.stored(2)
    assert completed(effects) == [(1, 2)]
    assert of_type(effects, c.NotifyCompleted) == []
    assert of_type(effects, c.RetainCheckpoints) == []
    assert of_type(effects, c.NotifyAborted) == []
    assert job.coordinator.completed == ()


def test_a_savepoint_does_not_count_for_interval_and_retention(job: Job) -> None:
    job.now_ms = 90.0
    job.savepoint(1)
    job.ack(1)
    job.stored(1)
    assert job.at(100.0) == [job.trigger(2)]
    job.ack(2)
    assert keep(2) in job.stored(2)


def test_a_completed_checkpoint_does_not_subsume_a_savepoint(job: Job) -> None:
    job.savepoint(1)
    job.request(c.CheckpointRequest(number=2))
    job.ack(1, SOURCE)
    assert job.coordinator.next_wake_ms() == 500.0
    late = Job(max_concurrent=2)
    late.start()
    late.savepoint(1)
    late.at(100.0)
    late.ack(2)
    assert of_type(late.stored(2), c.NotifyAborted) == []


def test_failed_savepoints_never_fail_the_job_and_leave_no_files(job: Job) -> None:
    for number in range(1, 6):
        job.savepoint(number)
        effects = job.decline(number)
        assert failed(effects) == {number: DECLINED}
        assert discard_savepoint(number, number) in effects
        assert of_type(effects, c.FailAttempt) == []


def test_a_late_savepoint_is_given_up_and_late_files_of_it_go_too(job: Job) -> None:
    job.savepoint(1)
    job.ack(1, SOURCE)
    assert failed(job.at(500.0))[1].reason is FailureReason.EXPIRED
    assert job.ack(1, SINK) == [discard_savepoint(1, 1)]


def test_files_written_for_a_savepoint_after_its_attempt_ended_go_when_the_next_one_starts(job: Job) -> None:
    job.savepoint(1)
    assert discard_savepoint(1, 1) in job.end_attempt()
    assert job.start(2, last_id=1) == [discard_savepoint(1, 1)]
    job.end_attempt()
    assert job.start(3, last_id=1) == []


def test_a_savepoint_whose_manifest_is_stored_after_the_attempt_ended_is_complete_all_the_same(job: Job) -> None:
    job.savepoint(1)
    job.ack(1)
    assert job.end_attempt() == []
    assert completed(job.stored(1)) == [(1, 1)]
    assert job.start(2, last_id=1) == []


def test_a_savepoint_waits_for_an_unaligned_checkpoint_and_the_next_one_for_it() -> None:
    job = Job(unaligned_after_ms=30, max_concurrent=1)
    job.start()
    (trigger,) = of_type(job.at(100.0), c.TriggerCheckpoint)
    assert trigger.barrier.unaligned_after_ms == 30
    assert job.savepoint(1) == []
    job.ack(1)
    assert job.stored(1)[-1] == job.trigger(2, savepoint=order(1))
    assert job.at(300.0) == []
    job.ack(2)
    (trigger,) = of_type(job.stored(2), c.TriggerCheckpoint)
    assert trigger.barrier.unaligned_after_ms == 30


def test_the_final_checkpoint_overtakes_nothing() -> None:
    job = Job(unaligned_after_ms=0)
    job.start()
    assert job.end_data() == [job.trigger(1, final=True)]


# --- the end of the job with a savepoint ------------------------------------------------------------------------------


def stopped(job: Job, *, drains: bool = False) -> list[c.CoordinatorEffect]:
    """Take the job to the point where its stop is to be recorded; return the last effects."""
    job.stop(9, drains=drains)
    if drains:
        job.end_data()
    job.ack(1)
    return job.stored(1)


@pytest.mark.parametrize("drains", [False, True])
def test_a_job_ends_when_the_savepoint_is_complete_recorded_and_committed(job: Job, drains: bool) -> None:
    record = c.RecordStop(checkpoint_id=CheckpointId(1), savepoint=order(9, stops=True))
    assert stopped(job, drains=drains) == [record]
    assert job.coordinator.gate.in_doubt == 1
    assert job.recorded(1) == [job.notify(1)]
    assert job.coordinator.phase is c.Phase.COMMITTING
    assert job.commit(1) == [c.FinishJob(attempt=Attempt(1))]
    assert job.end_attempt() == []
    assert completed(job.end_job()) == [(9, 1)]


def test_without_draining_the_barrier_is_the_last_thing_that_sources_put_out(job: Job) -> None:
    assert job.stop(9) == [job.trigger(1, savepoint=order(9, stops=True))]
    assert job.at(499.0) == []
    assert job.end_data() == []


def test_draining_ends_the_sources_first_and_the_final_checkpoint_is_the_savepoint(job: Job) -> None:
    assert job.stop(9, drains=True) == [c.EndAllSources(attempt=Attempt(1), over=CheckpointId(0))]
    assert job.at(300.0) == []
    assert job.end_data(SOURCE) == []
    assert job.end_data(SINK) == [job.trigger(1, final=True, savepoint=order(9, stops=True))]


def test_draining_says_which_checkpoints_are_over_as_no_barrier_will(job: Job) -> None:
    job.at(100.0)
    job.ack(1)
    job.stored(1)
    assert job.stop(9, drains=True) == [c.EndAllSources(attempt=Attempt(1), over=CheckpointId(1))]


def test_draining_says_so_once_more_when_a_checkpoint_under_way_is_given_up() -> None:
    job = Job(max_concurrent=2)
    job.start()
    job.at(100.0)
    assert job.stop(9, drains=True) == [c.EndAllSources(attempt=Attempt(1), over=CheckpointId(0))]
    assert c.EndAllSources(attempt=Attempt(1), over=CheckpointId(1)) in job.decline(1)


def test_from_the_turn_of_the_stop_on_nothing_else_starts_and_everybody_is_told(job: Job) -> None:
    job.at(100.0)
    job.request(c.CheckpointRequest(number=1))
    assert failed(job.stop(9))[1].reason is FailureReason.STOPPING
    for effects in (job.request(c.CheckpointRequest(number=2)), job.savepoint(2), job.stop(2)):
        assert failed(effects)[2].reason is FailureReason.STOPPING


def test_a_checkpoint_under_way_may_still_complete_before_the_stop_and_is_subsumed_by_it() -> None:
    job = Job(max_concurrent=2)
    job.start()
    job.at(100.0)
    job.at(200.0)
    job.stop(9)
    job.ack(1)
    job.ack(3)
    assert job.notify(1) in job.stored(1)
    effects = job.stored(3)
    assert [aborted.checkpoint_id for aborted in of_type(effects, c.NotifyAborted)] == [2]
    assert isinstance(effects[-1], c.RecordStop)


@pytest.mark.parametrize("tolerable", [0, 5])
def test_a_stop_whose_savepoint_fails_fails_the_attempt_however_much_is_tolerated(tolerable: int) -> None:
    job = Job(tolerable_failures=tolerable)
    job.start()
    job.stop(9)
    effects = job.decline(1)
    assert failed(effects) == {9: DECLINED}
    (failure,) = of_type(effects, c.FailAttempt)
    assert failure.failure == FailureReason.SOURCES_HAVE_STOPPED.told(why=DECLINED)
    assert job.end_attempt() == []
    job.start(2, last_id=1)
    assert job.at(100.0) == [job.trigger(2)]


def test_a_stop_whose_savepoint_is_late_or_refused_fails_the_attempt(job: Job) -> None:
    job.stop(9)
    assert len(of_type(job.at(500.0), c.FailAttempt)) == 1
    job.end_attempt()
    job.start(2, last_id=1)
    job.stop(10)
    job.ack(2)
    effects = job.refused(2)
    assert failed(effects) == {10: FailureReason.NOT_STORED.told(why="no space")}
    assert len(of_type(effects, c.FailAttempt)) == 1


@pytest.mark.parametrize("drains", [False, True])
def test_a_failure_before_the_savepoint_is_complete_answers_the_stop_and_the_job_goes_on(
    job: Job, drains: bool
) -> None:
    job.stop(9, drains=drains)
    assert list(failed(job.end_attempt())) == [9]
    job.start(2, last_id=1)
    assert job.coordinator.phase is c.Phase.RUNNING


def test_a_savepoint_that_is_complete_only_after_the_attempt_ended_does_not_stop_the_job(job: Job) -> None:
    job.stop(9)
    job.ack(1)
    assert job.end_attempt() == []
    assert failed(job.stored(1))[9] == FailureReason.FAILED_BEFORE_STOP.told(location="/savepoints/9")
    job.start(2, last_id=1)
    assert job.coordinator.phase is c.Phase.RUNNING


def test_a_stop_that_cannot_be_recorded_fails_the_attempt_and_names_the_savepoint(job: Job) -> None:
    stopped(job)
    effects = job.not_recorded(1)
    told = FailureReason.STOP_NOT_RECORDED.told(location="/savepoints/9", why="no space")
    assert failed(effects)[9] == told
    assert len(of_type(effects, c.FailAttempt)) == 1
    job.end_attempt()
    job.start(2, last_id=1)
    assert job.at(100.0) == [job.trigger(2)]


def test_no_attempt_starts_before_it_is_known_whether_the_stop_is_recorded(job: Job) -> None:
    stopped(job)
    job.end_attempt()
    with pytest.raises(InternalError, match="checkpoint 1 in doubt"):
        job.start(2, last_id=1)


def test_after_the_stop_is_recorded_every_attempt_only_commits(job: Job) -> None:
    stopped(job)
    job.end_attempt()
    assert job.recorded(1) == []
    assert job.start(2, last_id=1, finishing=1) == []
    assert job.coordinator.phase is c.Phase.COMMITTING
    assert job.at(10_000.0) == []
    assert failed(job.savepoint(10))[10].reason is FailureReason.ENDING
    assert job.commit(1) == [c.FinishJob(attempt=Attempt(2))]
    job.end_attempt()
    assert completed(job.end_job()) == [(9, 1)]


def test_commits_reported_before_the_attempt_was_started_are_not_forgotten(job: Job) -> None:
    stopped(job)
    job.recorded(1)
    job.end_attempt()
    job.attempt = Attempt(2)
    assert job.commit(1) == []
    assert job.start(2, last_id=1, finishing=1) == [c.FinishJob(attempt=Attempt(2))]


def test_an_attempt_that_would_go_on_after_the_stop_was_recorded_is_an_internal_error(job: Job) -> None:
    stopped(job)
    job.recorded(1)
    job.end_attempt()
    with pytest.raises(InternalError, match="does not end the job"):
        job.start(2, last_id=1)


@pytest.mark.parametrize(("cause", "words"), [(None, "it was cancelled"), ("bad disk", "it failed: bad disk")])
def test_a_job_that_cannot_commit_what_the_savepoint_holds_names_it(job: Job, cause: str | None, words: str) -> None:
    stopped(job)
    job.recorded(1)
    job.end_attempt()
    told = FailureReason.STOP_NOT_COMMITTED.told(location="/savepoints/9", why=words)
    assert failed(job.end_job(finished=False, cause=cause))[9] == told


def test_a_stop_during_the_final_checkpoint_is_refused_when_that_is_complete(job: Job) -> None:
    job.end_data()
    assert job.stop(9) == []
    job.ack(1)
    assert failed(job.stored(1))[9].reason is FailureReason.ENDING
    assert job.commit(1) == [c.FinishJob(attempt=Attempt(1))]


@pytest.mark.parametrize("drains", [False, True])
def test_a_stop_takes_the_place_of_a_final_checkpoint_that_has_failed(drains: bool) -> None:
    job = Job(tolerable_failures=1)
    job.start()
    job.end_data()
    job.stop(9, drains=drains)
    job.decline(1)
    effects = job.at(1_000.0)
    assert effects[-1] == job.trigger(2, final=True, savepoint=order(9, stops=True))


def test_a_job_cannot_end_while_an_attempt_runs(job: Job) -> None:
    with pytest.raises(InternalError, match="the job ended before"):
        job.end_job()
