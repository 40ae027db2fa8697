"""The checkpoint coordinator, driven with no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from headgate.checkpoint.coordination import vocabulary as c
from headgate.checkpoint.coordination.failures import FailureReason
from headgate.checkpoint.coordination.schedule import REQUESTS_MAX
from headgate.errors import InternalError
from headgate.ids import Attempt, CheckpointId
from tests.unit.checkpoint.coordinated import DECLINED, SINK, SOURCE, STATE, Job, keep, of_type


@pytest.fixture
def job() -> Iterator[Job]:
    job = Job()
    job.start()
    yield job
    job.coordinator.check_invariants()


# --- one checkpoint --------------------------------------------------------------------------------------------------


def test_the_first_checkpoint_starts_one_interval_after_the_attempt(job: Job) -> None:
    assert job.at(99.0) == []
    assert job.at(100.0) == [job.trigger(1)]


def test_the_manifest_is_ordered_only_when_every_subtask_has_acknowledged(job: Job) -> None:
    job.at(100.0)
    assert job.ack(1, SOURCE) == []
    assert job.ack(1, SOURCE) == []
    (order,) = job.ack(1, SINK)
    assert isinstance(order, c.StoreManifest)
    assert order.states == {SOURCE: STATE, SINK: STATE}
    assert (order.checkpoint_id, order.attempt, order.final) == (1, 1, False)
    assert job.coordinator.gate.in_doubt == 1


def test_completion_is_told_only_after_the_manifest_is_stored(job: Job) -> None:
    job.at(100.0)
    assert of_type(job.ack(1), c.NotifyCompleted) == []
    assert job.stored(1) == [job.notify(1), keep(1)]
    assert job.coordinator.completed == (1,)
    assert job.coordinator.gate.in_doubt is None


def test_only_the_newest_completed_checkpoints_are_retained() -> None:
    job = Job(num_retained=2)
    job.start()
    for number in (1, 2, 3):
        job.at(number * 100.0)
        job.ack(number)
        effects = job.stored(number)
    assert effects == [job.notify(3), keep(2, 3)]


# --- when they start -------------------------------------------------------------------------------------------------


def test_the_interval_runs_from_the_start_of_the_checkpoint_before(job: Job) -> None:
    job.at(100.0)
    job.now_ms = 160.0
    job.ack(1)
    job.stored(1)
    assert job.coordinator.next_wake_ms() == 200.0
    assert job.at(200.0) == [job.trigger(2)]


def test_an_overlong_checkpoint_is_followed_at_once_by_the_next(job: Job) -> None:
    job.at(100.0)
    assert job.at(350.0) == []
    job.ack(1)
    assert job.stored(1)[-1] == job.trigger(2)


def test_the_pause_holds_the_next_checkpoint_back_after_the_end_of_the_last() -> None:
    job = Job(min_pause_ms=80)
    job.start()
    job.at(100.0)
    job.now_ms = 190.0
    job.ack(1)
    job.stored(1)
    assert job.coordinator.next_wake_ms() == 270.0
    assert job.at(269.0) == []
    assert job.at(270.0) == [job.trigger(2)]


def test_as_many_checkpoints_run_beside_each_other_as_allowed() -> None:
    job = Job(max_concurrent=2)
    job.start()
    assert job.at(100.0) == [job.trigger(1)]
    assert job.at(200.0) == [job.trigger(2)]
    assert job.at(300.0) == []


def test_a_requested_checkpoint_starts_at_once_whatever_interval_and_pause_say() -> None:
    job = Job(interval_ms=None, min_pause_ms=1_000)
    job.start()
    assert job.request() == [job.trigger(1)]
    job.ack(1)
    job.stored(1)
    assert job.request() == [job.trigger(2)]


def test_a_request_waits_for_the_concurrency_limit(job: Job) -> None:
    job.at(100.0)
    assert job.request() == []
    job.ack(1)
    assert job.stored(1)[-1] == job.trigger(2)


def test_a_request_between_attempts_is_refused(job: Job) -> None:
    job.end_attempt()
    (refused,) = job.request()
    assert isinstance(refused, c.RequestFailed)
    assert refused.failure.reason is FailureReason.NOT_RUNNING
    assert job.start(2) == []


def test_a_request_is_refused_when_a_thousand_wait(job: Job) -> None:
    job.at(100.0)
    for number in range(REQUESTS_MAX):
        assert job.request(c.CheckpointRequest(number=number)) == []
    (refusal,) = job.request(c.CheckpointRequest(number=REQUESTS_MAX))
    assert isinstance(refusal, c.RequestFailed)
    assert refusal.request.number == REQUESTS_MAX
    assert refusal.failure == FailureReason.TOO_MANY_REQUESTS.told(waiting=REQUESTS_MAX)
    assert len(of_type(job.end_attempt(), c.RequestFailed)) == REQUESTS_MAX


def test_without_an_interval_nothing_starts_by_itself() -> None:
    job = Job(interval_ms=None)
    job.start()
    assert job.coordinator.next_wake_ms() is None
    assert job.at(1_000_000.0) == []


# --- several at once -------------------------------------------------------------------------------------------------


def test_one_manifest_is_written_at_a_time_oldest_first() -> None:
    job = Job(max_concurrent=2)
    job.start()
    job.at(100.0)
    job.at(200.0)
    job.ack(1)
    assert of_type(job.ack(2), c.StoreManifest) == []
    (order,) = of_type(job.stored(1), c.StoreManifest)
    assert order.checkpoint_id == 2


def test_a_completed_checkpoint_subsumes_older_ones_without_counting_them_as_failures() -> None:
    job = Job(max_concurrent=2)
    job.start()
    job.at(100.0)
    job.at(200.0)
    job.ack(1, SOURCE)
    job.ack(2)
    effects = job.stored(2)
    assert effects[0] == job.notify(2)
    assert [effect.checkpoint_id for effect in of_type(effects, c.NotifyAborted)] == [1]
    assert job.discard(1) in effects
    assert of_type(effects, c.FailAttempt) == []


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_late_checkpoint_is_aborted_and_says_who_has_not_acknowledged() -> None:
    job = Job(tolerable_failures=1)
    job.start()
    job.at(100.0)
    job.ack(1, SOURCE)
    effects = job.at(600.0)
    (aborted,) = of_type(effects, c.NotifyAborted)
    assert aborted.failure == FailureReason.EXPIRED.told(timeout_ms=500, missing=1, subtasks=2, names="1.0")
    assert job.discard(1) in effects
    assert effects[-1] == job.trigger(2)


def test_a_declined_checkpoint_is_aborted_with_the_reason_of_the_subtask() -> None:
    job = Job(tolerable_failures=1)
    job.start()
    job.at(100.0)
    (aborted,) = of_type(job.decline(1), c.NotifyAborted)
    assert aborted.failure == DECLINED


def test_more_failures_in_a_row_than_tolerated_fail_the_attempt_once() -> None:
    job = Job(tolerable_failures=1)
    job.start()
    job.at(100.0)
    assert of_type(job.decline(1), c.FailAttempt) == []
    job.at(200.0)
    (failure,) = of_type(job.decline(2), c.FailAttempt)
    assert failure.attempt == 1
    assert failure.failure == FailureReason.TOO_MANY_IN_A_ROW.told(checkpoint_id=2, why=DECLINED, in_row=2, tolerated=1)
    assert job.at(10_000.0) == []


def test_a_success_sets_the_count_of_failures_to_zero() -> None:
    job = Job(tolerable_failures=1)
    job.start()
    job.at(100.0)
    job.decline(1)
    job.at(200.0)
    job.ack(2)
    job.stored(2)
    job.at(300.0)
    assert of_type(job.decline(3), c.FailAttempt) == []


def test_a_checkpoint_counts_as_one_failure_however_many_subtasks_decline_it() -> None:
    job = Job(tolerable_failures=1)
    job.start()
    job.at(100.0)
    job.decline(1)
    assert job.decline(1) == []


def test_a_refused_manifest_counts_as_a_failure_and_its_files_go(job: Job) -> None:
    job.at(100.0)
    job.ack(1)
    effects = job.refused(1)
    assert job.discard(1) in effects
    (failure,) = of_type(effects, c.FailAttempt)
    assert failure.failure == FailureReason.TOO_MANY_IN_A_ROW.told(
        checkpoint_id=1, why=FailureReason.NOT_STORED.told(why="no space"), in_row=1, tolerated=0
    )


def test_a_checkpoint_in_doubt_is_neither_late_nor_declined_nor_cleaned_up(job: Job) -> None:
    job.at(100.0)
    job.ack(1)
    assert job.at(100_000.0) == []
    assert job.decline(1) == []
    assert job.end_attempt() == []
    assert job.coordinator.gate.in_doubt == 1


def test_late_state_of_an_aborted_checkpoint_is_discarded_again() -> None:
    job = Job(tolerable_failures=1)
    job.start()
    job.at(100.0)
    job.decline(1)
    assert job.ack(1, SOURCE) == [job.discard(1)]


def test_a_repeated_acknowledgement_of_a_completed_checkpoint_discards_nothing(job: Job) -> None:
    job.at(100.0)
    job.ack(1)
    job.stored(1)
    assert job.ack(1, SOURCE) == []


# --- attempts --------------------------------------------------------------------------------------------------------


def test_ids_grow_across_attempts_and_above_what_storage_has_seen(job: Job) -> None:
    job.at(100.0)
    assert job.end_attempt() == [job.discard(1)]
    job.start(2, last_id=7)
    assert job.at(200.0) == [job.trigger(8)]


def test_ids_of_triggered_checkpoints_are_not_reused_even_if_storage_never_saw_them(job: Job) -> None:
    job.at(100.0)
    job.end_attempt()
    job.start(2, last_id=0)
    assert job.at(200.0) == [job.trigger(2)]


def test_messages_of_an_older_attempt_neither_acknowledge_nor_end_nor_commit(job: Job) -> None:
    job.at(100.0)
    job.end_attempt()
    job.start(2, last_id=1)
    job.at(200.0)
    job.attempt = Attempt(1)
    assert job.ack(2) == []
    assert job.decline(2) == []
    assert job.end_data() == []
    assert job.coordinator.gate.in_doubt is None


def test_a_manifest_stored_after_its_attempt_ended_is_complete_but_told_to_nobody(job: Job) -> None:
    job.at(100.0)
    job.ack(1)
    job.end_attempt()
    assert job.stored(1) == []
    assert job.coordinator.completed == (1,)
    assert job.coordinator.gate.in_doubt is None


def test_a_manifest_refused_after_its_attempt_ended_has_its_files_discarded(job: Job) -> None:
    job.at(100.0)
    job.ack(1)
    job.end_attempt()
    assert job.refused(1) == [job.discard(1)]


def test_starting_an_attempt_while_a_manifest_is_in_doubt_is_an_internal_error(job: Job) -> None:
    job.at(100.0)
    job.ack(1)
    job.end_attempt()
    with pytest.raises(InternalError, match="checkpoint 1 in doubt"):
        job.start(2, last_id=1)


def test_a_restored_checkpoint_counts_among_the_retained_and_damaged_newer_ones_do_not() -> None:
    job = Job(num_retained=2)
    job.start()
    for number in (1, 2):
        job.at(number * 100.0)
        job.ack(number)
        job.stored(number)
    job.end_attempt()
    job.start(2, last_id=2, restored=1)
    assert job.coordinator.completed == (1,)


def test_what_drivers_before_have_retained_counts_among_the_retained() -> None:
    job = Job(num_retained=3)
    job.start(4, last_id=7, restored=(6, 5, 4, 3))
    assert job.coordinator.completed == (4, 5, 6)
    job.at(100.0)
    job.ack(8)
    assert job.stored(8) == [job.notify(8), keep(5, 6, 8)]


def test_checkpoints_are_retained_after_a_start_from_a_newer_savepoint() -> None:
    job = Job(num_retained=2)
    ids = tuple(map(CheckpointId, (2, 1)))
    job.handle(replace(job.started(last_id=2), older=ids))
    assert job.coordinator.completed == (1, 2)
    job.at(100.0)
    job.ack(3)
    assert keep(2, 3) in job.stored(3)


def test_an_acknowledgement_of_a_checkpoint_never_triggered_is_an_internal_error(job: Job) -> None:
    with pytest.raises(InternalError, match=r"subtask 0\.0 acknowledged a checkpoint that was never triggered"):
        job.ack(9, SOURCE)


def test_a_manifest_answer_nobody_asked_for_is_an_internal_error(job: Job) -> None:
    with pytest.raises(InternalError, match="not being stored"):
        job.stored(1)


# --- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interval_ms", [100, None])
def test_when_all_subtasks_have_ended_a_final_checkpoint_starts_at_once(interval_ms: int | None) -> None:
    job = Job(interval_ms=interval_ms)
    job.start()
    job.now_ms = 5.0
    assert job.end_data(SOURCE) == []
    assert job.end_data(SINK) == [job.trigger(1, final=True)]


def test_the_job_finishes_when_the_final_checkpoint_is_complete_and_committed(job: Job) -> None:
    job.end_data()
    (order,) = job.ack(1)
    assert isinstance(order, c.StoreManifest)
    assert order.final
    assert job.stored(1) == [job.notify(1), keep(1)]
    assert job.coordinator.phase is c.Phase.COMMITTING
    assert job.at(10_000.0) == []
    assert job.commit(1) == [c.FinishJob(attempt=Attempt(1))]
    assert job.commit(1) == []


def test_commits_of_an_earlier_checkpoint_do_not_finish_the_job(job: Job) -> None:
    job.at(100.0)
    job.ack(1)
    job.stored(1)
    job.end_data()
    job.ack(2)
    job.stored(2)
    assert job.commit(1) == []
    assert job.commit(2) == [c.FinishJob(attempt=Attempt(1))]


def test_a_job_without_committing_sinks_finishes_with_the_final_manifest() -> None:
    job = Job(interval_ms=None)
    job.subtasks, job.committing = frozenset({SOURCE}), frozenset()
    job.start()
    job.end_data(SOURCE)
    job.ack(1, SOURCE)
    assert job.stored(1)[-1] == c.FinishJob(attempt=Attempt(1))


def test_a_checkpoint_under_way_when_the_last_subtask_ends_does_not_replace_the_final_one(job: Job) -> None:
    job.at(100.0)
    assert job.end_data() == [job.trigger(2, final=True)]
    job.ack(1)
    job.ack(2)
    effects = job.stored(1)
    assert of_type(effects, c.FinishJob) == []
    assert [order.final for order in of_type(effects, c.StoreManifest)] == [True]
    job.stored(2)
    assert job.commit(2) == [c.FinishJob(attempt=Attempt(1))]


def test_a_stuck_checkpoint_does_not_hold_the_final_one_up(job: Job) -> None:
    job.at(100.0)
    job.ack(1, SOURCE)
    job.end_data()
    job.ack(2)
    effects = job.stored(2)
    assert [effect.checkpoint_id for effect in of_type(effects, c.NotifyAborted)] == [1]
    assert job.commit(2) == [c.FinishJob(attempt=Attempt(1))]


def test_a_failed_final_checkpoint_is_tried_again_after_a_pause() -> None:
    job = Job(tolerable_failures=1)
    job.start()
    job.end_data()
    assert of_type(job.decline(1), c.TriggerCheckpoint) == []
    assert job.coordinator.next_wake_ms() == 1_000.0
    assert job.at(1_000.0) == [job.trigger(2, final=True)]


def test_a_failed_final_checkpoint_counts_as_a_failure(job: Job) -> None:
    job.end_data()
    assert len(of_type(job.decline(1), c.FailAttempt)) == 1


def test_a_new_attempt_must_see_all_subtasks_end_again(job: Job) -> None:
    job.end_data()
    job.end_attempt()
    job.start(2, last_id=1)
    assert job.end_data(SOURCE) == []
    assert job.end_data(SINK) == [job.trigger(2, final=True)]


def test_an_attempt_lost_between_final_manifest_and_commit_is_followed_by_another_final_checkpoint(job: Job) -> None:
    job.end_data()
    job.ack(1)
    job.stored(1)
    job.end_attempt()
    job.start(2, last_id=1, restored=1)
    assert job.end_data() == [job.trigger(2, final=True)]
