"""A driver that has to end while its job has not: the supervisor, and the job master with real slots."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.drivers import job_records
from headgate.ids import Launch
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.runtime.master import supervisor_vocabulary as s
from headgate.runtime.master.restart_strategies import FixedDelay, NoRestart
from tests.unit.runtime.master.test_job_master import Ticking
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import JOB_ID, line_plan
from tests.unit.runtime.supervised import A1, L1, S0, S1, Job, State

SUSPENDED = s.EndJob(status=JobStatus.SUSPENDED, cause=None)
NEVER = {"execution.checkpointing.interval": "1 h"}
"""The only checkpoints are those that somebody asks for."""


@pytest.fixture
def job() -> Job:
    return Job(FixedDelay(attempts=2, delay_ms=100.0))


# --- the supervisor


def test_a_running_job_is_suspended_after_its_last_checkpoint(job: Job) -> None:
    job.running()
    assert job.suspend() == [s.TakeCheckpoint(attempt=A1)]
    assert job.suspend() == []
    assert job.checkpoint_over() == [s.EndAttempt(attempt=A1), s.ShutDownSlots()]
    assert job.end_launch() == [SUSPENDED]
    assert job.state is State.ENDED


def test_a_last_checkpoint_that_takes_too_long_is_not_waited_for(job: Job) -> None:
    job.suspending()
    assert job.at(1_999.0) == []
    assert job.at(2_000.0) == [s.EndAttempt(attempt=A1), s.ShutDownSlots()]
    assert job.checkpoint_over() == []
    (end,) = job.end_launch()
    assert end == s.EndJob(status=JobStatus.SUSPENDED, cause="the last checkpoint was not complete in time")


@pytest.mark.parametrize(
    "reach", [Job.launching, Job.resolving, Job.deploying, Job.tearing_down, Job.waiting, Job.relaunching]
)
def test_a_job_that_does_not_run_is_suspended_without_a_checkpoint(job: Job, reach: Callable[[Job], None]) -> None:
    reach(job)
    assert not [effect for effect in job.suspend() if isinstance(effect, s.TakeCheckpoint)]
    assert job.end_launch()[-1] == SUSPENDED


@pytest.mark.parametrize("lose", [Job.fail, lambda job: job.lose(S0), Job.end_launch])
def test_a_failure_meanwhile_suspends_the_job_and_asks_for_no_restart(job: Job, lose: Callable[[Job], object]) -> None:
    job.suspending()
    lose(job)
    if job.state is not State.ENDED:
        job.end_launch()
    assert job.state is State.ENDED
    assert job.supervisor.restarts.count == 0


def test_a_job_that_is_done_meanwhile_is_finished_and_one_that_is_cancelled_is_cancelled(job: Job) -> None:
    job.suspending()
    job.done()
    job.torn_down(S0)
    job.torn_down(S1)
    assert job.end_launch() == [s.EndJob(status=JobStatus.FINISHED, cause=None)]
    other = Job(NoRestart())
    other.suspending()
    other.cancel()
    assert other.end_launch() == [s.EndJob(status=JobStatus.CANCELED, cause=None)]


@pytest.mark.parametrize(
    "reach", [Job.launching, Job.running, Job.suspending, Job.closing, Job.waiting, Job.relaunching]
)
def test_a_host_that_is_gone_suspends_the_job_from_every_state(job: Job, reach: Callable[[Job], None]) -> None:
    reach(job)
    end = job.lose_host()[-1]
    assert end == s.EndJob(status=JobStatus.SUSPENDED, cause="Spark is gone")


def test_a_host_that_is_gone_suspends_a_job_that_the_loss_of_its_slots_has_just_failed() -> None:
    job = Job(NoRestart())
    job.running()
    assert job.lose(S0)[-1] == s.KillLaunch(launch=L1)
    (end,) = job.lose_host()
    assert isinstance(end, s.EndJob)
    assert end.status is JobStatus.SUSPENDED


def test_a_job_whose_functions_could_not_be_closed_has_failed_though_its_host_is_gone(job: Job) -> None:
    job.closing()
    job.torn_down(S0, unclosed="OSError: disk full")
    assert job.lose_host() == [s.EndJob(status=JobStatus.FAILED, cause="OSError: disk full")]


@pytest.mark.parametrize("first", [Job.suspend, Job.done])
def test_a_job_that_is_done_ends_if_its_functions_are_closed_in_the_time_that_is_left_and_else_is_suspended(
    job: Job, first: Callable[[Job], object]
) -> None:
    job.running()
    first(job)
    job.suspend()
    job.done()
    job.torn_down(S0)
    assert job.suspend() == []
    assert job.at(2_000.0) == [s.ShutDownSlots()]
    assert job.end_launch() == [
        s.EndJob(status=JobStatus.SUSPENDED, cause="its functions were not closed in time"),
    ]


def test_a_slot_that_is_lost_while_a_job_that_is_to_be_suspended_is_closed_suspends_it(job: Job) -> None:
    job.suspending()
    job.done()
    assert job.lose(S1) == [s.ShutDownSlots()]
    end = job.end_launch()[-1]
    assert isinstance(end, s.EndJob)
    assert end.status is JobStatus.SUSPENDED


def test_a_job_that_is_done_is_finished_though_its_host_is_gone(job: Job) -> None:
    job.finishing()
    assert job.lose_host() == [s.EndJob(status=JobStatus.FINISHED, cause=None)]


# --- the job master, with its storage


def numbers_rig(settings: dict[str, str], rig: MasterRig | None = None) -> MasterRig:
    plan = line_plan(Ticking(10**6), CollectFactory(), settings=settings)
    return MasterRig(plan, None if rig is None else rig.store)


def suspended(rig: MasterRig) -> str:
    """Suspend a job when it has run for a while; return what its end says."""
    rig.master.submit()
    rig.run_until(lambda: rig.clock.monotonic_ms() > 1500)
    rig.master.suspend()
    outcome = rig.end()
    assert outcome.status is JobStatus.SUSPENDED
    assert outcome.cause is not None
    return outcome.cause


def test_a_suspended_job_leaves_a_last_checkpoint_and_no_result_and_a_later_driver_goes_on_from_it() -> None:
    rig = numbers_rig({**NEVER, "headgate.storage.dir": "/data", "headgate.job.id": JOB_ID})
    told = suspended(rig)
    assert told == "its last checkpoint is memory:chk-1: start the same program again, and it goes on from there"
    assert job_records.read_result(rig.store) is None
    assert f"chk-1/{paths.METADATA}" in rig.store.files
    later = numbers_rig(NEVER, rig)
    later.master.submit()
    later.run_until(lambda: later.clock.monotonic_ms() > 1500)
    later.master.suspend()
    later.end()
    assert later.master.progress.attempt == 2
    collected = [*rig.collected(), *later.collected()]
    assert collected == list(range(len(collected)))
    assert collected


def test_a_job_without_an_id_is_told_the_one_to_start_it_again_with() -> None:
    told = suspended(numbers_rig({**NEVER, "headgate.storage.dir": "/data"}))
    assert f"start the same program with headgate.job.id={JOB_ID}, and it goes on from there" in told


def test_a_job_that_makes_no_checkpoints_begins_where_it_began() -> None:
    told = suspended(numbers_rig({"headgate.storage.dir": "/data"}))
    assert told.startswith("this driver has completed no checkpoint of it")


def test_checkpoints_in_a_temporary_folder_are_said_to_be_gone() -> None:
    assert "set execution.checkpointing.dir, so that a later run can go on" in suspended(numbers_rig(NEVER))


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 21])
def test_a_job_can_be_suspended_at_any_time(turns: int) -> None:
    rig = numbers_rig({"execution.checkpointing.interval": "50 ms"})
    rig.master.submit()
    for _ in range(turns):
        rig.turn()
        rig.clock.advance(3)
    rig.master.suspend()
    assert rig.end().status is JobStatus.SUSPENDED
    assert rig.slots == {}
    assert job_records.read_result(rig.store) is None


def test_a_driver_whose_spark_is_gone_names_the_last_checkpoint() -> None:
    rig = numbers_rig({"execution.checkpointing.interval": "50 ms", "headgate.storage.dir": "/data"})
    rig.master.submit()
    rig.run_until(lambda: rig.master.progress.checkpoints)
    rig.master.launch_ended(Launch(1), "Spark is gone", for_good=True)
    outcome = rig.end()
    assert outcome.status is JobStatus.SUSPENDED
    assert outcome.cause is not None
    assert outcome.cause.startswith("Spark is gone; its last checkpoint is memory:chk-")
    assert job_records.read_result(rig.store) is None
