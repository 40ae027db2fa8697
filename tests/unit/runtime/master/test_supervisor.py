"""The supervisor, driven with no I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from headgate.errors import InternalError
from headgate.ids import Attempt, CheckpointId
from headgate.job_status import JobStatus
from headgate.runtime.master import supervisor_vocabulary as s
from headgate.runtime.master.restart_strategies import FixedDelay, NoRestart
from tests.unit.runtime.supervised import A1, A2, A3, L1, L2, S0, S1, TWO, Job, State


@pytest.fixture
def job() -> Iterator[Job]:
    job = Job(FixedDelay(attempts=2, delay_ms=100.0))
    yield job
    job.supervisor.check_invariants()


def the_end(effects: list[s.SupervisorEffect]) -> s.EndJob:
    (end,) = (effect for effect in effects if isinstance(effect, s.EndJob))
    return end


def test_a_job_runs_from_submission_to_its_end(job: Job) -> None:
    assert job.submit() == [s.LaunchSlots(launch=L1, slots=2)]
    assert job.register(S1) == []
    assert job.register(S0) == [s.ResolveRestore(attempt=A1, placement=TWO)]
    assert job.resolve(checkpoint_id=4) == [s.DeployAttempt(attempt=A1, checkpoint_id=CheckpointId(4))]
    assert job.ready(S0) == []
    assert job.ready(S1) == [s.StartAttempt(attempt=A1)]
    assert job.done() == [s.EndAttempt(attempt=A1), s.TearDownAttempt(attempt=A1)]
    assert job.torn_down(S1) == []
    assert job.torn_down(S0) == [s.ShutDownSlots()]
    assert job.end_launch() == [s.EndJob(status=JobStatus.FINISHED, cause=None)]
    assert job.state is State.ENDED


def test_a_user_exception_restarts_in_place_on_the_same_launch(job: Job) -> None:
    job.running()
    assert job.fail() == [s.EndAttempt(attempt=A1), s.TearDownAttempt(attempt=A1)]
    assert job.torn_down(S0) == []
    assert job.torn_down(S1) == []
    assert job.at(99.0) == []
    assert job.at(100.0) == [s.ResolveRestore(attempt=A2, placement=TWO)]
    assert job.supervisor.launch == 1


def test_no_slot_deploys_before_every_slot_has_confirmed_the_end_of_the_attempt(job: Job) -> None:
    job.tearing_down()
    job.torn_down(S0)
    job.torn_down(S0)
    assert job.at(400.0) == []
    assert job.state is State.TEARING_DOWN


def test_a_restart_without_delay_follows_the_last_confirmation_at_once() -> None:
    job = Job(FixedDelay(attempts=1, delay_ms=0.0))
    job.tearing_down()
    job.torn_down(S0)
    assert job.torn_down(S1) == [s.ResolveRestore(attempt=A2, placement=TWO)]


def test_a_slot_silent_past_the_teardown_deadline_has_its_launch_killed_and_made_anew(job: Job) -> None:
    job.tearing_down()
    job.torn_down(S0)
    assert job.at(500.0) == [s.KillLaunch(launch=L1)]
    assert job.torn_down(S1) == []
    assert job.end_launch(error="cancelled") == [s.LaunchSlots(launch=L2, slots=2)]


def test_a_lost_slot_ends_the_launch_and_the_next_waits_for_its_end_and_the_delay(job: Job) -> None:
    job.running()
    assert job.lose(S1) == [s.EndAttempt(attempt=A1), s.KillLaunch(launch=L1)]
    assert job.at(100.0) == []
    assert job.end_launch(error="task failed") == [s.LaunchSlots(launch=L2, slots=2)]
    job.register(S0, L2)
    assert job.register(S1, L2) == [s.ResolveRestore(attempt=A2, placement=TWO)]


def test_the_restart_delay_also_holds_back_a_new_launch(job: Job) -> None:
    job.running()
    assert job.end_launch(error="executor lost") == [s.EndAttempt(attempt=A1)]
    assert job.supervisor.next_wake_ms() == 100.0
    assert job.at(100.0) == [s.LaunchSlots(launch=L2, slots=2)]


def test_a_slot_of_an_older_launch_is_refused(job: Job) -> None:
    job.relaunching()
    assert job.register(S1) == [s.RefuseSlot(launch=L1, slot=S1)]
    job.at(100.0)
    job.end_launch()
    assert job.register(S1) == [s.RefuseSlot(launch=L1, slot=S1)]
    assert job.lose(S0) == []
    assert job.state is State.LAUNCHING


def test_a_second_registration_of_a_slot_is_refused(job: Job) -> None:
    job.launching()
    job.register(S0)
    assert job.register(S0) == [s.RefuseSlot(launch=L1, slot=S0)]


def test_messages_of_an_older_attempt_change_nothing(job: Job) -> None:
    job.waiting()
    job.at(100.0)
    job.resolve(A2)
    assert job.fail(A1) == []
    assert job.ready(S0, A1) == []
    assert job.torn_down(S0, A1) == []
    assert job.done(A1) == []
    assert job.state is State.DEPLOYING


def test_a_late_answer_of_an_abandoned_resolution_is_ignored(job: Job) -> None:
    job.resolving()
    job.lose(S0)
    job.at(100.0)
    job.end_launch()
    job.register(S0, L2)
    job.register(S1, L2)
    assert job.resolve(A1, checkpoint_id=3) == []
    assert job.resolve(A2) == [s.DeployAttempt(attempt=A2, checkpoint_id=None)]


def test_failures_beyond_the_restart_budget_fail_the_job_with_cause_and_budget(job: Job) -> None:
    job.running()
    job.fail()
    for attempt in (A2, A3):
        job.torn_down(S0, Attempt(attempt - 1))
        job.torn_down(S1, Attempt(attempt - 1))
        job.at(job.now_ms + 100.0)
        job.resolve(attempt)
        effects = job.fail(attempt)
    assert effects == [s.EndAttempt(attempt=A3), s.ShutDownSlots()]
    end = the_end(job.end_launch())
    assert end.status is JobStatus.FAILED
    assert end.cause == "ValueError: boom\n(fixed-delay restart: 2 of 2 restarts used)"
    assert job.supervisor.restarts.count == 2


def test_lost_slots_are_charged_to_the_restart_budget() -> None:
    job = Job(NoRestart())
    job.running()
    assert job.lose(S0) == [s.EndAttempt(attempt=A1), s.KillLaunch(launch=L1)]
    end = the_end(job.end_launch())
    assert end.status is JobStatus.FAILED
    assert "slot 0 was lost: connection closed" in str(end.cause)


def test_a_slot_lost_while_an_attempt_is_torn_down_is_part_of_the_same_failure(job: Job) -> None:
    job.tearing_down()
    assert job.lose(S1) == [s.KillLaunch(launch=L1)]
    assert job.supervisor.restarts.count == 1


def test_a_failure_that_no_restart_can_help_ends_the_job_at_once(job: Job) -> None:
    job.running()
    assert job.fail(retriable=False) == [s.EndAttempt(attempt=A1), s.ShutDownSlots()]
    assert the_end(job.end_launch()).cause == "ValueError: boom"


def test_a_failed_restore_ends_the_job_with_its_reason(job: Job) -> None:
    job.resolving()
    effects = job.handle(s.RestoreFailed(attempt=A1, reason="chk-3/_metadata is damaged", now_ms=0.0))
    assert effects == [s.ShutDownSlots()]
    assert the_end(job.end_launch()).cause == "chk-3/_metadata is damaged"


def test_a_restore_that_storage_failed_is_tried_again_in_a_new_attempt_as_long_as_restarts_are_left(job: Job) -> None:
    job.resolving()
    failed = s.RestoreFailed(attempt=A1, reason="cannot list chk-3", now_ms=0.0, retriable=True)
    assert job.handle(failed) == []
    assert job.state is State.WAITING
    assert job.at(1_000.0) == [s.ResolveRestore(attempt=A2, placement=TWO)]


def test_too_few_slots_at_the_start_are_an_error_that_says_how_many_of_how_many(job: Job) -> None:
    job.launching()
    job.register(S0)
    assert job.at(1_000.0) == [s.KillLaunch(launch=L1)]
    end = the_end(job.end_launch())
    assert end.status is JobStatus.FAILED
    assert "only 1 of 2 slots registered within 1000 ms (missing: 1)" in str(end.cause)


def test_too_few_slots_for_a_job_that_an_earlier_driver_has_run_are_for_the_restart_strategy(job: Job) -> None:
    job.handle(s.Submitted(now_ms=0.0, last_attempt=A2))
    assert job.end_launch(error="no workers yet") == []
    assert job.state is State.RELAUNCHING


def test_too_few_slots_at_a_later_launch_are_for_the_restart_strategy(job: Job) -> None:
    job.relaunching()
    job.at(100.0)
    job.end_launch()
    job.register(S0, L2)
    assert job.at(1_100.0) == [s.KillLaunch(launch=L2)]
    assert job.state is State.RELAUNCHING


def test_a_stage_that_is_refused_before_it_has_hosted_a_slot_fails_the_job_at_once(job: Job) -> None:
    job.launching()
    end = the_end(job.end_launch(error="barrier stage refused: dynamic allocation is on", refused=True))
    assert "dynamic allocation is on" in str(end.cause)
    assert job.supervisor.restarts.count == 0


def test_a_worker_that_is_lost_before_any_slot_has_registered_is_for_the_restart_strategy(job: Job) -> None:
    job.launching()
    assert job.end_launch(error="a Python worker died") == []
    assert job.state is State.RELAUNCHING
    assert job.supervisor.restarts.count == 1
    assert job.at(100.0) == [s.LaunchSlots(launch=L2, slots=2)]


def test_a_refusal_after_a_slot_has_registered_is_for_the_restart_strategy(job: Job) -> None:
    job.launching()
    job.register(S0)
    job.end_launch(error="cannot start the Python", refused=True)
    assert job.state is State.RELAUNCHING


def test_a_job_whose_functions_cannot_be_closed_at_the_end_has_failed_and_does_not_start_again(job: Job) -> None:
    job.closing()
    assert job.torn_down(S1, unclosed="OSError: the last rows could not be written") == [s.ShutDownSlots()]
    assert job.torn_down(S0) == []
    assert job.supervisor.restarts.newest_verdict == s.Verdict(
        cause="OSError: the last rows could not be written", restart_delay_ms=None
    )
    end = the_end(job.end_launch())
    assert (end.status, end.cause) == (JobStatus.FAILED, "OSError: the last rows could not be written")


def test_functions_that_cannot_be_closed_before_a_restart_do_not_keep_the_job_from_it(job: Job) -> None:
    job.tearing_down()
    job.torn_down(S0, unclosed="OSError: cannot write")
    job.torn_down(S1)
    assert job.at(100.0) == [s.ResolveRestore(attempt=A2, placement=TWO)]


def test_functions_may_take_their_time_to_close_at_the_end(job: Job) -> None:
    job.closing()
    assert job.supervisor.next_wake_ms() is None
    assert job.at(3_600_000.0) == []
    assert job.state is State.CLOSING


def test_a_slot_that_is_lost_before_it_has_closed_its_functions_is_for_the_restart_strategy(job: Job) -> None:
    job.closing()
    job.torn_down(S0)
    assert job.lose(S1) == [s.KillLaunch(launch=L1)]
    assert job.state is State.RELAUNCHING
    assert job.supervisor.restarts.count == 1


def test_a_finished_job_whose_slots_do_not_go_has_them_killed(job: Job) -> None:
    job.finishing()
    assert job.supervisor.next_wake_ms() == 500.0
    assert job.at(500.0) == [s.KillLaunch(launch=L1)]
    assert the_end(job.end_launch(error="cancelled")).status is JobStatus.FINISHED


def test_slots_that_leave_after_the_job_is_done_are_no_failure(job: Job) -> None:
    job.finishing()
    assert job.lose(S0) == []
    assert job.fail() == []
    assert job.cancel() == []
    assert the_end(job.end_launch()).status is JobStatus.FINISHED


@pytest.mark.parametrize(
    "reach",
    [
        Job.launching,
        Job.resolving,
        Job.deploying,
        Job.running,
        Job.tearing_down,
        Job.waiting,
        Job.relaunching,
        Job.closing,
    ],
)
def test_cancel_ends_the_job_from_every_state(job: Job, reach: Callable[[Job], None]) -> None:
    reach(job)
    job.cancel()
    assert job.at(10_000.0) in ([], [s.KillLaunch(launch=L1)])
    assert the_end(job.end_launch()) == s.EndJob(status=JobStatus.CANCELED, cause=None)
    assert job.cancel() == []


def test_cancel_before_submission_ends_the_job_at_once(job: Job) -> None:
    assert job.cancel() == [s.EndJob(status=JobStatus.CANCELED, cause=None)]


def test_cancel_between_launches_ends_the_job_at_once(job: Job) -> None:
    job.relaunching()
    job.end_launch()
    assert job.cancel() == [s.EndJob(status=JobStatus.CANCELED, cause=None)]


def test_every_deployed_attempt_ends_exactly_once(job: Job) -> None:
    job.running()
    effects = [*job.fail(), *job.lose(S0), *job.cancel(), *job.end_launch()]
    assert effects.count(s.EndAttempt(attempt=A1)) == 1


def test_an_event_of_a_future_attempt_is_an_internal_error_that_tells_the_story(job: Job) -> None:
    job.running()
    with pytest.raises(InternalError, match=r"attempt 3 is not known yet[\s\S]*SlotIsReady"):
        job.fail(A3)
