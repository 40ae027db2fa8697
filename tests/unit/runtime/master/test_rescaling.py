"""Another parallelism of a running job: the supervisor with no I/O, and the job master with real slots."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from headgate.errors import EnvironmentFault, HeadgateError, ProgramError, RescaleError
from headgate.functions.api import MapFunction
from headgate.functions.context import RuntimeContext
from headgate.graph.logical import Partitioning
from headgate.graph.placement import Placement
from headgate.ids import Launch, SlotIndex
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.operators.plain_functions import MapFactory
from headgate.runtime.control.messages import Shutdown
from headgate.runtime.master import supervisor_vocabulary as s
from headgate.runtime.master.rescales import SETTLE_MS
from headgate.runtime.master.restart_strategies import FixedDelay, NoRestart
from headgate.runtime.master.supervisor import Supervisor
from tests.unit.runtime.master.test_job_master import Ticking
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import Step, line_plan
from tests.unit.runtime.supervised import A1, A2, A3, L1, L2, S0, S1, TWO, Job, State

ONE, THREE = Placement(parallelism=(1, 1)), Placement(parallelism=(1, 3))
S2 = SlotIndex(2)
DONE = s.RescaleOver(number=1, failure=None)


@pytest.fixture
def job() -> Job:
    return Job(NoRestart())


def answers(effects: list[s.SupervisorEffect]) -> list[s.RescaleOver]:
    return [effect for effect in effects if isinstance(effect, s.RescaleOver)]


# --- the supervisor


def test_a_job_is_rescaled_from_a_checkpoint_and_releases_the_slots_that_it_no_longer_needs(job: Job) -> None:
    job.running()
    assert job.rescale(1, 1) == [s.TakeCheckpoint(attempt=A1)]
    assert job.checkpoint_over() == [s.EndAttempt(attempt=A1), s.TearDownAttempt(attempt=A1)]
    assert job.torn_down(S0) == []
    assert job.torn_down(S1) == [s.ResolveRestore(attempt=A2, placement=ONE)]
    job.resolve(A2, checkpoint_id=7)
    assert job.ready(S0, A2) == [s.StartAttempt(attempt=A2), s.ReleaseSlots(slots=frozenset({S1})), DONE]
    assert job.lose(S1) == []
    assert job.supervisor.restarts.count == 0
    assert job.state is State.RUNNING


def test_a_job_that_needs_more_slots_ends_its_launch_before_the_next_begins(job: Job) -> None:
    job.rescaling()
    job.checkpoint_over()
    job.torn_down(S0)
    assert job.torn_down(S1) == [s.KillLaunch(launch=L1)]
    assert job.end_launch(error="cancelled") == [s.LaunchSlots(launch=L2, slots=3)]
    job.register(S0, L2)
    job.register(S1, L2)
    assert job.register(S2, L2) == [s.ResolveRestore(attempt=A2, placement=THREE)]
    job.resolve(A2, checkpoint_id=7)
    job.ready(S0, A2)
    job.ready(S1, A2)
    assert job.ready(S2, A2) == [s.StartAttempt(attempt=A2), DONE]


def test_without_a_checkpoint_the_job_runs_on_as_it_was(job: Job) -> None:
    job.rescaling()
    assert job.checkpoint_over("it took too long") == [s.RescaleOver(number=1, failure="it took too long")]
    assert job.state is State.RUNNING
    assert job.rescale(1, 1, number=2) == [s.TakeCheckpoint(attempt=A1)]


FAILURES: list[tuple[str, Callable[[Job], list[s.SupervisorEffect]]]] = [
    ("fails", lambda job: job.fail(A2)),
    ("loses a slot", lambda job: job.lose(S0)),
    ("loses its launch", lambda job: job.end_launch()),
    ("cannot restore", lambda job: job.handle(s.RestoreFailed(attempt=A2, reason="no", now_ms=job.now_ms))),
]


@pytest.mark.parametrize(("what", "fail"), FAILURES)
def test_an_attempt_that_does_not_come_to_run_goes_back_without_asking_the_restart_strategy(
    job: Job, what: str, fail: Callable[[Job], list[s.SupervisorEffect]]
) -> None:
    job.running()
    job.rescale(1, 1)
    job.checkpoint_over()
    job.torn_down(S0)
    job.torn_down(S1)
    if what != "cannot restore":
        job.resolve(A2)
    (answer,) = answers(fail(job))
    assert answer.failure is not None
    if job.state is State.RELAUNCHING:
        if what == "loses a slot":
            assert job.end_launch() == [s.LaunchSlots(launch=L2, slots=2)]
        job.register(S0, L2)
        assert job.register(S1, L2) == [s.ResolveRestore(attempt=A3, placement=TWO)]
    elif job.state is State.TEARING_DOWN:
        job.torn_down(S0, A2)
        assert job.torn_down(S1, A2) == [s.ResolveRestore(attempt=A3, placement=TWO)]
    assert job.supervisor.restarts.count == 1


def test_a_launch_of_more_slots_that_does_not_come_about_is_followed_by_one_of_as_many_as_before(job: Job) -> None:
    job.rescaling()
    job.checkpoint_over()
    job.torn_down(S0)
    job.torn_down(S1)
    job.end_launch()
    job.register(S0, L2)
    late = job.at(1_000.0)
    assert late[0] == s.KillLaunch(launch=L2)
    (answer,) = answers(late)
    assert "only 1 of 3 slots registered" in str(answer.failure)
    assert job.end_launch(L2) == [s.LaunchSlots(launch=Launch(3), slots=2)]


@pytest.mark.parametrize("lose", [Job.fail, lambda job: job.lose(S0), Job.end_launch])
def test_a_failure_during_the_checkpoint_is_one_of_the_job_and_ends_the_rescale(
    lose: Callable[[Job], list[s.SupervisorEffect]],
) -> None:
    job = Job(FixedDelay(attempts=1, delay_ms=100.0))
    job.rescaling()
    (answer,) = answers(lose(job))
    assert answer.failure is not None
    assert job.supervisor.restarts.newest_verdict is not None
    assert job.supervisor.restarts.newest_verdict.restart_delay_ms == 100.0
    assert job.checkpoint_over() == []


def test_what_ends_the_job_answers_the_rescale(job: Job) -> None:
    job.rescaling()
    effects = job.done()
    assert effects == [
        s.EndAttempt(attempt=A1),
        s.TearDownAttempt(attempt=A1),
        s.RescaleOver(number=1, failure="the job has ended"),
    ]
    other = Job(NoRestart())
    other.rescaling()
    assert other.suspend() == [s.TakeCheckpoint(attempt=A1), s.RescaleOver(number=1, failure="the job is suspended")]
    assert other.checkpoint_over() == [s.EndAttempt(attempt=A1), s.ShutDownSlots()]
    assert other.end_launch() == [s.EndJob(status=JobStatus.SUSPENDED, cause=None)]


def test_a_second_rescale_is_refused_while_one_is_under_way(job: Job) -> None:
    job.rescaling()
    (answer,) = answers(job.rescale(1, 1, number=2))
    assert answer.number == 2
    assert "another change of its parallelism is under way" in str(answer.failure)


def restoring(job: Job) -> None:
    """Have the job start again after a failure."""
    job.waiting()
    job.at(100.0)


NOT_YET = "it is not running yet: ask again when it runs"
TOO_EARLY_OR_LATE: list[tuple[Callable[[Job], object], str]] = [
    (lambda job: None, NOT_YET),
    (Job.launching, NOT_YET),
    (Job.resolving, NOT_YET),
    (Job.deploying, NOT_YET),
    (restoring, "it is starting again: ask again when it runs"),
    (
        Job.suspending,
        "its driver is leaving it: start the program again, and it goes on at the parallelism that the program sets",
    ),
    (Job.finishing, "it has ended"),
]


@pytest.mark.parametrize(("reach", "why"), TOO_EARLY_OR_LATE)
def test_a_job_that_is_about_to_run_or_to_end_is_not_rescaled(reach: Callable[[Job], object], why: str) -> None:
    job = Job(FixedDelay(attempts=1, delay_ms=100.0))
    reach(job)
    assert job.rescale(1, 3) == [s.RescaleOver(number=1, failure=why)]


def test_a_job_that_runs_so_already_is_not_stopped(job: Job) -> None:
    job.running()
    assert job.rescale(1, 2) == [DONE]
    assert job.state is State.RUNNING


def test_a_slot_that_is_unfit_leads_back_while_a_rescale_is_tried(job: Job) -> None:
    job.rescaling()
    job.checkpoint_over()
    job.torn_down(S0)
    job.torn_down(S1)
    job.end_launch()
    assert job.supervisor.placements.is_tried
    effects = job.handle(s.LaunchUnfit(launch=L2, reason="another Python", now_ms=job.now_ms))
    assert effects == [s.KillLaunch(launch=L2), s.RescaleOver(number=1, failure="another Python")]
    assert job.end_launch(L2) == [s.LaunchSlots(launch=Launch(3), slots=2)]


def test_a_suspended_job_waits_for_its_own_checkpoint_if_that_of_the_rescale_comes_to_nothing(job: Job) -> None:
    job.rescaling()
    job.suspend()
    assert job.checkpoint_over("declined") == []
    assert job.checkpoint_over() == [s.EndAttempt(attempt=A1), s.ShutDownSlots()]


@pytest.mark.parametrize("reach", [Job.tearing_down, Job.waiting, Job.relaunching])
def test_between_two_attempts_the_next_one_is_placed_so(reach: Callable[[Job], None]) -> None:
    job = Job(FixedDelay(attempts=1, delay_ms=100.0))
    reach(job)
    assert job.rescale(1, 3) == []
    job.torn_down(S0)
    job.torn_down(S1)
    job.at(100.0)
    assert job.end_launch() == [s.LaunchSlots(launch=L2, slots=3)]


def test_a_launch_that_waits_for_slots_is_given_up_for_one_of_fewer() -> None:
    job = Job(FixedDelay(attempts=1, delay_ms=0.0))
    job.relaunching()
    job.end_launch()
    job.register(S0, L2)
    assert job.rescale(1, 1) == [s.KillLaunch(launch=L2)]
    assert job.end_launch(L2) == [s.LaunchSlots(launch=Launch(3), slots=1)]
    job.register(S0, Launch(3))
    job.resolve(A2)
    assert answers(job.ready(S0, A2)) == [DONE]


# --- the job master, with real slots


class Slotted(MapFunction):
    """Tells which subtask has seen a number."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.index = runtime_context.get_index_of_this_subtask()

    def map(self, value: int) -> Any:
        return value, self.index


def slotted_rig(settings: dict[str, Any] | None = None, numbers: int = 400) -> MasterRig:
    """A job whose second vertex has two subtasks, for numbers that each go to one of them."""
    slotted = Step(MapFactory(Slotted()), Partitioning.REBALANCE, None, 2)
    collecting = Step(CollectFactory(), Partitioning.REBALANCE, None, 1)
    given = {"execution.checkpointing.interval": "1 h"} if settings is None else settings
    rig = MasterRig(line_plan(Ticking(numbers), slotted, collecting, settings=given))
    rig.master.submit()
    rig.run_until(lambda: rig.clock.monotonic_ms() > 1500)
    return rig


def rescaled(rig: MasterRig, *bounds: tuple[int, int]) -> str:
    """Have the second vertex run within each of the bounds, one after the other; return the last answer."""
    for each in bounds:
        answer = Future[str]()
        rig.master.rescale({1: each}, answer)
        rig.run_until(answer.done)
        until_ms = rig.clock.monotonic_ms() + 300
        rig.run_until(lambda: rig.clock.monotonic_ms() > until_ms)  # noqa: B023  # called at once
    return answer.result()


def test_a_job_runs_on_at_other_parallelisms_with_each_record_once() -> None:
    rig = slotted_rig()
    assert rescaled(rig, (3, 3), (1, 1), (2, 2)) == "the job runs at parallelism 1, 2, 1"
    assert rig.launches == [1, 2, 3]
    outcome = rig.end()
    assert outcome.status is JobStatus.FINISHED
    seen = rig.collected()
    assert sorted(number for number, _ in seen) == list(range(400))
    assert {index for _, index in seen} == {0, 1, 2}
    assert rig.master.progress.restarts == 0


def test_slots_that_are_not_needed_are_told_to_end() -> None:
    rig = slotted_rig()
    rescaled(rig, (1, 1))
    assert rig.launches == [1]
    assert rig.links[1].told[-1] == Shutdown()
    rig.run_until(lambda: rig.slots[1].closed)
    assert not rig.slots[0].closed


@pytest.mark.parametrize(
    ("bounds", "error", "text"),
    [
        ((500, 500), ProgramError, "is to have 500 subtask"),
        ((3, 2), ProgramError, "is to have 3 to 2 subtasks"),
        ((6, 9), EnvironmentFault, "6 task slots, but Spark has 4 for it, of 4 in all: add executors"),
    ],
)
def test_a_parallelism_that_cannot_be_is_refused_before_anything_ends(
    bounds: tuple[int, int], error: type[HeadgateError], text: str
) -> None:
    rig = slotted_rig()
    rig.most = 4
    with pytest.raises(error, match=text):
        rescaled(rig, bounds)
    assert rig.master.progress.attempt == 1
    assert rig.master.status is JobStatus.RUNNING


def asked(rig: MasterRig, *bounds: int) -> Future[str]:
    """Ask for a parallelism of the second vertex within the bounds."""
    answer = Future[str]()
    rig.master.rescale({1: (bounds[0], bounds[-1])}, answer)
    return answer


@pytest.mark.parametrize(("bounds", "parallelism"), [((3,), 3), ((2, 4), 4)])
def test_slots_that_are_about_to_end_are_waited_for(bounds: tuple[int, ...], parallelism: int) -> None:
    rig = slotted_rig()
    rig.most, rig.ending = 4, 2
    answer = asked(rig, *bounds)
    until_ms = rig.clock.monotonic_ms() + 1_000
    rig.run_until(lambda: rig.clock.monotonic_ms() > until_ms)
    assert not answer.done()
    assert rig.master.progress.attempt == 1
    rig.ending = 0
    rig.run_until(answer.done)
    assert answer.result() == f"the job runs at parallelism 1, {parallelism}, 1"


@pytest.mark.parametrize(
    ("bounds", "told"),
    [((3,), "is to have 3 task slots, but Spark has 2 for it, of 4 in all"), ((2, 4), "runs at parallelism 1, 2, 1")],
)
def test_slots_that_stay_taken_are_not_waited_for_long(bounds: tuple[int, ...], told: str) -> None:
    rig = slotted_rig(numbers=1_000)
    rig.most, rig.ending = 4, 2
    since_ms = rig.clock.monotonic_ms()
    answer = asked(rig, *bounds)
    rig.run_until(answer.done)
    assert told in str(answer.exception() or answer.result())
    assert SETTLE_MS <= rig.clock.monotonic_ms() - since_ms < SETTLE_MS + 500


def test_more_than_there_are_in_all_is_refused_at_once() -> None:
    rig = slotted_rig()
    rig.most = 4
    since_ms = rig.clock.monotonic_ms()
    answer = asked(rig, 5)
    rig.run_until(answer.done)
    assert isinstance(answer.exception(), EnvironmentFault)
    assert rig.clock.monotonic_ms() - since_ms < 500


def test_slots_that_cannot_be_counted_are_told_as_such() -> None:
    rig = slotted_rig()
    rig.unknown = ConnectionError("the JVM has gone away")
    answer = asked(rig, 3)
    rig.run_until(answer.done)
    with pytest.raises(RescaleError, match=r"was not rescaled: Spark could not be asked .*: the JVM has gone away"):
        answer.result()
    assert rig.master.status is JobStatus.RUNNING


def test_as_many_slots_are_taken_as_there_are_within_the_bounds() -> None:
    rig = slotted_rig()
    rig.most = 4
    assert rescaled(rig, (3, 9)) == "the job runs at parallelism 1, 4, 1"
    assert rescaled(rig, (4, 9)) == "the job runs at parallelism 1, 4, 1"
    assert rig.master.progress.attempt == 2


def test_a_job_without_checkpoints_is_not_rescaled() -> None:
    rig = slotted_rig({})
    with pytest.raises(RescaleError, match=r"was not rescaled: it makes no checkpoints to go on from: set execution"):
        rescaled(rig, (3, 3))
    assert rig.master.status is JobStatus.RUNNING


class TooWide(Slotted):
    """Fails where there are three of it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        if runtime_context.get_number_of_parallel_subtasks() == 3:
            raise ValueError("three are too many")


def test_a_job_that_fails_on_the_way_goes_back_and_loses_nothing() -> None:
    wide = Step(MapFactory(TooWide()), Partitioning.REBALANCE, None, 2)
    collecting = Step(CollectFactory(), Partitioning.REBALANCE, None, 1)
    settings = {"execution.checkpointing.interval": "1 h", "restart-strategy.type": "none"}
    rig = MasterRig(line_plan(Ticking(400), wide, collecting, settings=settings))
    rig.master.submit()
    rig.run_until(lambda: rig.clock.monotonic_ms() > 1500)
    with pytest.raises(RescaleError, match="three are too many"):
        rescaled(rig, (3, 3))
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(number for number, _ in rig.collected()) == list(range(400))
    assert rig.master.progress.placement.parallelism == (1, 2, 1)


# --- as many slots as there are


def test_attempts_on_a_smaller_launch_are_fitted_into_its_slots_and_a_rescale_counts_them_anew(job: Job) -> None:
    job.place(1, 3)
    assert job.submit() == [s.LaunchSlots(launch=L1, slots=3)]
    assert job.handle(s.LaunchSized(launch=L1, slots=2, now_ms=job.now_ms)) == []
    job.register(S0)
    assert job.register(S1) == [s.ResolveRestore(attempt=A1, placement=TWO)]
    job.resolve()
    job.ready(S0)
    job.ready(S1)
    assert job.supervisor.placements.wanted == THREE
    assert job.rescale(1, 3) == [s.TakeCheckpoint(attempt=A1)]
    job.checkpoint_over()
    job.torn_down(S0)
    assert job.torn_down(S1) == [s.KillLaunch(launch=L1)]
    assert job.end_launch() == [s.LaunchSlots(launch=L2, slots=3)]


def test_a_launch_may_wait_for_its_first_slot_as_long_as_it_takes_and_then_has_a_deadline() -> None:
    supervisor = Supervisor(
        place=lambda attempt: TWO,
        restart=NoRestart(),
        teardown_timeout_ms=500.0,
        start_timeout_ms=1_000.0,
        slots_wait_ms=None,
    )
    supervisor.handle(s.Submitted(now_ms=0.0))
    assert supervisor.next_wake_ms() is None
    supervisor.handle(s.LaunchSized(launch=L1, slots=1, now_ms=1e9))
    assert supervisor.next_wake_ms() == 1e9 + 1_000.0


def test_a_size_of_an_older_launch_changes_nothing() -> None:
    job = Job(FixedDelay(attempts=1, delay_ms=100.0))
    job.relaunching()
    job.at(100.0)
    job.end_launch()
    job.handle(s.LaunchSized(launch=L1, slots=1, now_ms=job.now_ms))
    job.register(S0, L2)
    assert job.state is State.LAUNCHING


ADAPTIVE = {
    "execution.checkpointing.interval": "1 h",
    "jobmanager.scheduler": "adaptive",
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": "500 ms",
    "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout": "1 s",
}


def test_a_job_that_loses_a_slot_goes_on_with_those_there_are_and_grows_back() -> None:
    rig = slotted_rig({**ADAPTIVE, "restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0 s"})
    rig.most = 1
    rig.master.slot_lost(Launch(1), S1, "its executor is gone")
    rig.run_until(lambda: rig.master.progress.attempt == 2)
    assert rig.master.progress.placement.parallelism == (1, 1, 1)
    rig.most = 2
    rig.run_until(lambda: rig.master.progress.attempt == 3)
    assert rig.master.progress.placement.parallelism == (1, 2, 1)
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(number for number, _ in rig.collected()) == list(range(400))
    assert rig.master.progress.restarts == 1


def adaptive_rig(slots: int, function: Slotted | None = None) -> MasterRig:
    """An adaptive job whose second vertex is to have two subtasks, and has one as there are so many slots."""
    step = Step(MapFactory(function or Slotted()), Partitioning.REBALANCE, None, 2)
    collecting = Step(CollectFactory(), Partitioning.REBALANCE, None, 1)
    rig = MasterRig(line_plan(Ticking(600), step, collecting, settings=ADAPTIVE | {"restart-strategy.type": "none"}))
    rig.most = slots
    rig.master.submit()
    rig.run_until(lambda: rig.master.status is JobStatus.RUNNING)
    return rig


class FailsAtFirst(Slotted):
    """Fails once where there are two of it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        if runtime_context.get_number_of_parallel_subtasks() == 2 and runtime_context.get_attempt_number() == 1:
            raise ValueError("not yet")


def test_a_growth_that_fails_goes_back_and_is_tried_again_later() -> None:
    rig = adaptive_rig(1, FailsAtFirst())
    assert rig.master.progress.placement.parallelism == (1, 1, 1)
    rig.most = 2
    rig.run_until(lambda: rig.master.progress.attempt == 3)
    assert rig.master.progress.placement.parallelism == (1, 1, 1)
    rig.run_until(lambda: rig.master.progress.attempt == 4)
    assert rig.master.progress.placement.parallelism == (1, 2, 1)
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(number for number, _ in rig.collected()) == list(range(600))


def test_an_adaptive_job_stays_at_what_it_is_told_to_want() -> None:
    rig = adaptive_rig(1)
    assert rescaled(rig, (1, 1)) == "the job runs at parallelism 1"
    rig.most = 2
    assert rig.end().status is JobStatus.FINISHED
    assert rig.master.progress.attempt == 1


def test_an_adaptive_job_grows_no_further_than_to_the_slots_there_are() -> None:
    rig = adaptive_rig(1)
    rig.most = 2
    assert rescaled(rig, (1, 5)) == "the job runs at parallelism 1, 2, 1"
    rig.most = 5
    rig.run_until(lambda: rig.master.progress.placement.slots == 5)
    assert rig.end().status is JobStatus.FINISHED
