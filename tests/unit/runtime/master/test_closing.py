"""The end of a job that is done: its functions are closed before it is finished, on real slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

import pytest

from headgate.checkpoint.drivers import job_records
from headgate.errors import CheckpointError
from headgate.functions.api import MapFunction
from headgate.ids import Launch, SlotIndex
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.operators.plain_functions import MapFactory
from headgate.runtime.master.requests import SavepointRequest
from headgate.runtime.master.supervisor_vocabulary import SupervisorState
from tests.unit.runtime.master.test_job_master import Ticking
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import Step, line_plan

CALLS: Final[Counter[str]] = Counter()
RESTARTS: Final = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "10 ms"}
CHECKPOINTS: Final = {**RESTARTS, "execution.checkpointing.interval": "50 ms"}
NEVER: Final = {**CHECKPOINTS, "execution.checkpointing.interval": "1 h"}


@pytest.fixture(autouse=True)
def _clear() -> None:
    CALLS.clear()


class Buffering(MapFunction):
    """Cannot be closed: it has still something to write then. Fails at one of the records, if that is asked for."""

    def __init__(self, fails_at: int = -1) -> None:
        self.fails_at = fails_at

    def map(self, value: int) -> int:
        CALLS["map"] += 1
        if CALLS["map"] == self.fails_at:
            raise ValueError("planned")
        return value

    def finish(self) -> None:
        CALLS["finish"] += 1

    def close(self) -> None:
        CALLS["close"] += 1
        raise OSError("the database does not answer")


def buffering_rig(settings: dict[str, str], records: int = 20, function: MapFunction | None = None) -> MasterRig:
    step = Step(MapFactory(function or Buffering()), parallelism=2)
    return MasterRig(line_plan(Ticking(records), step, CollectFactory(), settings=settings))


@pytest.mark.parametrize("settings", [RESTARTS, CHECKPOINTS], ids=["no checkpoints", "checkpoints"])
def test_a_job_whose_function_cannot_be_closed_fails_with_its_output_and_does_not_start_again(
    settings: dict[str, str],
) -> None:
    rig = buffering_rig(settings)
    outcome = rig.run()
    assert outcome.status is JobStatus.FAILED
    assert str(outcome.cause).startswith("OSError: the database does not answer (in close())\n  in operator 'op1'")
    assert "does not start again" in str(outcome.cause)
    assert "finish()" in str(outcome.cause)
    assert rig.master.progress.restarts == 0
    (failure,) = rig.master.progress.failures
    assert failure.restart_delay_ms is None
    assert (failure.origin.operator, failure.origin.slot) == ("op1", failure.origin.subtask)
    assert sorted(rig.collected()) == list(range(20))
    result = job_records.read_result(rig.store)
    assert result is not None
    assert result.status is JobStatus.FAILED


def _cancelled(rig: MasterRig) -> JobStatus:
    rig.master.cancel()
    return rig.end().status


def _suspended(rig: MasterRig) -> JobStatus:
    rig.master.suspend()
    return rig.end().status


@pytest.mark.parametrize(
    ("leave", "state"),
    [(_cancelled, JobStatus.CANCELED), (_suspended, JobStatus.SUSPENDED)],
    ids=["cancelled", "suspended"],
)
def test_a_function_that_cannot_be_closed_on_another_way_out_is_only_logged_and_is_not_finished(
    leave: Callable[[MasterRig], JobStatus], state: JobStatus, caplog: pytest.LogCaptureFixture
) -> None:
    rig = buffering_rig(NEVER, records=10**6)
    rig.master.submit()
    rig.run_until(lambda: CALLS["map"] > 20)
    assert leave(rig) is state
    assert (CALLS["finish"], CALLS["close"]) == (0, 2)
    assert "what it was to write in close() may be missing" in caplog.text


def test_a_function_that_cannot_be_closed_before_a_restart_does_not_keep_the_job_from_it() -> None:
    rig = buffering_rig(CHECKPOINTS, function=Buffering(fails_at=10))
    outcome = rig.run()
    assert rig.master.progress.restarts == 1
    assert [failure.line() for failure in rig.master.progress.failures] == [
        "ValueError: planned",
        "OSError: the database does not answer (in close())",
    ]
    assert outcome.status is JobStatus.FAILED


class Closing(Buffering):
    def close(self) -> None:
        CALLS["close"] += 1


@pytest.mark.parametrize("settings", [RESTARTS, CHECKPOINTS], ids=["no checkpoints", "checkpoints"])
def test_a_slot_that_is_lost_while_functions_are_closed_is_launched_anew_and_no_record_comes_again(
    settings: dict[str, str],
) -> None:
    rig = buffering_rig(settings, function=Closing())
    rig.master.submit()
    rig.run_until(lambda: rig.master._supervisor.state is SupervisorState.CLOSING)
    rig.deaf.update(rig.slots)
    rig.master.slot_lost(Launch(1), SlotIndex(1), "killed")
    rig.deaf.clear()
    assert rig.end().status is JobStatus.FINISHED
    assert rig.launches == [1, 2]
    assert CALLS["map"] == 20
    assert sorted(rig.collected()) == list(range(20))


def test_a_job_is_not_finished_before_its_functions_are_closed() -> None:
    rig = buffering_rig(RESTARTS, function=Closing())
    rig.master.submit()
    rig.run_until(lambda: rig.master._supervisor.state is SupervisorState.CLOSING)
    rig.deaf.add(1)
    until_ms = rig.clock.monotonic_ms() + 3_600_000
    rig.run_until(lambda: rig.clock.monotonic_ms() > until_ms, step_ms=60_000)
    assert rig.master.outcome is None
    assert job_records.read_result(rig.store) is None
    rig.deaf.clear()
    assert rig.end().status is JobStatus.FINISHED


@pytest.mark.parametrize("drains", [False, True], ids=["stop", "drain"])
def test_a_stop_with_a_savepoint_finishes_functions_only_where_it_drains_and_fails_where_they_cannot_be_closed(
    drains: bool,
) -> None:
    rig = buffering_rig(NEVER, records=10**6)
    rig.master.submit()
    rig.run_until(lambda: CALLS["map"] > 20)
    answer: Future[str] = Future()
    rig.master.take_savepoint(SavepointRequest(target="/savepoints", stops=True, drains=drains), answer)
    assert rig.end().status is JobStatus.FAILED
    with pytest.raises(
        CheckpointError, match=r"is complete, and what it holds is committed, but .* it failed: OSError"
    ):
        answer.result(0)
    assert CALLS["finish"] == (2 if drains else 0)
    assert rig.master.progress.restarts == 0
