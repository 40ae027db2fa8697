"""The handle of a running job, and what becomes of records on their way to the program."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from headgate.clock import SystemClock
from headgate.deploy.handles.running_job import Order, Results, RunningJob
from headgate.deploy.job_folder import JobFolder
from headgate.deploy.local.mini_cluster import LocalHost
from headgate.elements import SavepointFormat
from headgate.errors import CheckpointError, RescaleError
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.runtime.control.messages import Collected
from headgate.runtime.master.job_master import JobMaster
from tests.unit.runtime.plans import line_plan


def message(
    records: list[int], checkpoint: int | None = 1, *, part: int = 0, subtask: int = 0, attempt: int = 1
) -> Collected:
    return Collected(
        attempt=Attempt(attempt),
        subtask=SubtaskId(0, subtask),
        checkpoint_id=None if checkpoint is None else CheckpointId(checkpoint),
        part=part,
        records=pickle.dumps(records),
    )


def taken(*messages: Collected) -> list[int]:
    results = Results()
    for each in messages:
        results.collected(each)
    results.end()
    return list(results)


def test_all_parts_of_a_checkpoint_are_taken_and_each_only_once() -> None:
    again = [message([1], part=0, attempt=2), message([2], part=1, attempt=2), message([3], part=2, attempt=2)]
    assert taken(message([1], part=0), message([2], part=1), *again) == [1, 2, 3]


def test_records_of_a_checkpoint_are_taken_once_from_each_subtask() -> None:
    again = message([1], attempt=2)
    assert taken(message([1]), again, message([2], subtask=1), message([3], 2)) == [1, 2, 3]


def test_what_a_restored_subtask_sends_again_is_not_taken_again() -> None:
    sent = [message([id_], id_) for id_ in (3, 4, 5)]
    again = [message([id_], id_, attempt=2) for id_ in (4, 5, 6)]
    assert taken(*sent, *again) == [3, 4, 5, 6]


def test_records_without_a_checkpoint_are_all_taken() -> None:
    assert taken(message([1], None), message([1], None)) == [1, 1]


def test_after_the_end_an_iterator_ends_at_once_every_time() -> None:
    results = Results()
    results.collected(message([1]))
    results.end()
    assert list(results) == [1]
    assert list(results) == []


def test_a_job_is_followed_by_its_handle() -> None:
    plan = line_plan([1, 2], CollectFactory())
    running = RunningJob(plan, LocalHost(plan, SystemClock()))
    assert running.status() is JobStatus.CREATED
    outcome = running.start().wait(timeout_s=10)
    assert outcome is not None
    assert outcome.status is JobStatus.FINISHED
    assert running.status() is JobStatus.FINISHED
    assert list(running.results()) == [1, 2]
    running.cancel()
    assert running.status() is JobStatus.FINISHED


def test_a_job_that_is_to_end_is_cancelling_until_it_has_ended() -> None:
    plan = line_plan([1, 2], CollectFactory())
    running = RunningJob(plan, LocalHost(plan, SystemClock()))
    running.cancel()
    assert running.status() is JobStatus.CANCELLING
    assert running.start().wait(timeout_s=10) is not None
    assert running.status() is JobStatus.CANCELED


class BrokenHost:
    """A deployment that fails at its start, in a turn, or nowhere."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.closed = 0
        self.at_close: Callable[[], object] = lambda: None
        plan = line_plan([1], CollectFactory(), settings={"execution.checkpointing.interval": "1 h"})
        self.inner = LocalHost(plan, SystemClock())

    def start(self, results: Results, give: Callable[[Order], None]) -> JobMaster:
        if self.where == "start":
            raise OSError("no cluster")
        return self.inner.start(results, give)

    def folder(self) -> JobFolder:
        return self.inner.folder()

    def facts(self) -> dict[str, str]:
        return self.inner.facts()

    def turn(self) -> None:
        if self.where == "turn":
            raise OSError("the cluster is gone")
        self.inner.turn()

    def wake(self) -> None:
        self.inner.wake()

    def close(self) -> None:
        self.closed += 1
        self.at_close()
        self.inner.close()


def test_a_job_runs_until_what_it_holds_is_given_back() -> None:
    host = BrokenHost("nowhere")
    running = RunningJob(line_plan([1], CollectFactory()), host)
    seen: list[JobStatus] = []
    host.at_close = lambda: seen.append(running.status())
    assert running.start().wait(timeout_s=10) is not None
    assert seen == [JobStatus.RUNNING]
    assert running.status() is JobStatus.FINISHED


def test_what_the_start_raises_is_raised_by_start_and_everything_is_closed() -> None:
    host = BrokenHost("start")
    with pytest.raises(OSError, match="no cluster"):
        RunningJob(line_plan([1], CollectFactory()), host).start()
    assert host.closed == 1


def test_what_breaks_the_jobs_thread_is_raised_by_wait_and_ends_the_results() -> None:
    host = BrokenHost("turn")
    running = RunningJob(line_plan([1], CollectFactory()), host)
    with pytest.raises(OSError, match="the cluster is gone"):
        running.start().wait(timeout_s=10)
    assert list(running.results()) == []
    assert host.closed == 1
    assert running.status() is JobStatus.FAILED


def test_what_nobody_can_answer_any_more_is_answered_all_the_same() -> None:
    running = RunningJob(line_plan([1], CollectFactory()), BrokenHost("turn"))
    early = running.trigger_savepoint("/savepoints", SavepointFormat.CANONICAL)
    with pytest.raises(OSError, match="the cluster is gone"):
        running.start().wait(timeout_s=10)
    late = running.trigger_checkpoint()
    for answer in (early, late):
        with pytest.raises(CheckpointError, match="it has failed: the cluster is gone"):
            answer.result(120)


def test_a_rescale_that_the_end_of_the_job_cuts_off_is_told_as_one_that_did_not_happen() -> None:
    running = RunningJob(line_plan([1], CollectFactory()), BrokenHost("turn"))
    early = running.rescale({0: (2, 2)})
    with pytest.raises(OSError, match="the cluster is gone"):
        running.start().wait(timeout_s=10)
    for answer in (early, running.rescale({0: (2, 2)})):
        with pytest.raises(RescaleError, match="was not rescaled: it has failed: the cluster is gone"):
            answer.result(120)
