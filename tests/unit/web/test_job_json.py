"""What is told of jobs that are not well: failures, restarts, and how they end."""

from __future__ import annotations

import json
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from headgate.elements import SavepointFormat
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import as_programmed
from headgate.ids import Attempt, CheckpointId, JobId
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.operators.failure import UserFailure
from headgate.runtime.master.rescales import Bounds
from headgate.runtime.master.taps import See
from headgate.runtime.monitoring.outcome import Failure, FailureOrigin
from headgate.runtime.monitoring.progress import AttemptRun, JobProgress
from headgate.runtime.monitoring.statistics import Restore
from headgate.web import job_json
from headgate.web.question import Question, ServedJob
from tests.unit.runtime.plans import line_plan

PLAN = line_plan([1, 2], CollectFactory())


def progress(*failures: Failure) -> JobProgress:
    return JobProgress(placement=as_programmed(PLAN), failures=deque(failures))


@dataclass
class View:
    """A job whose state the test decides."""

    progress: JobProgress = field(default_factory=progress)
    state: JobStatus = JobStatus.RUNNING
    plan: JobGraph = PLAN

    @property
    def job_id(self) -> JobId:
        return self.plan.job_id

    def status(self) -> JobStatus:
        return self.state

    def ending(self) -> None:
        return

    def cancel(self) -> None:
        self.state = JobStatus.CANCELLING

    def trigger_checkpoint(self) -> Future[str]:
        return Future()

    def rescale(self, bounds: Bounds) -> Future[str]:
        return Future()

    def tap(self, uid: str, see: See) -> None: ...

    def untap(self, uid: str, see: See) -> None: ...

    def trigger_savepoint(self, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        return Future()

    def stop_with_savepoint(self, drain: bool, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        return Future()


def asked(view: View, **query: str) -> Question:
    return Question(job=ServedJob(view, 100), now_ms=350, path={}, query=query)


def failure(number: int, origin: FailureOrigin) -> Failure:
    cause = f'Traceback:\n  File "job.py"\nValueError: planned {number}'
    return Failure(wall_ms=number, attempt=Attempt(number), cause=cause, origin=origin, restart_delay_ms=5.0)


def test_failures_are_told_newest_first_with_where_they_came_from() -> None:
    where = FailureOrigin(operator="counter", subtask=1, slot=0)
    view = View(progress(failure(1, FailureOrigin()), failure(2, where)))
    found = job_json.exceptions(asked(view))
    assert found["root-exception"].endswith("ValueError: planned 2")
    assert found["timestamp"] == 2
    first, second = found["exceptionHistory"]["entries"]
    assert (first["exceptionName"], first["taskName"], first["subtask"]) == ("ValueError", "counter", 1)
    assert (first["endpoint"], first["attempt"], first["restart-delay"]) == ("slot-0", 2, 5.0)
    assert (second["taskName"], second["endpoint"]) == (None, None)
    assert found["truncated"] is False


def test_as_many_failures_are_told_as_were_asked_for() -> None:
    view = View(progress(failure(1, FailureOrigin()), failure(2, FailureOrigin())))
    found = job_json.exceptions(asked(view, maxExceptions="1"))
    assert len(found["exceptionHistory"]["entries"]) == 1
    assert found["exceptionHistory"]["truncated"] is True


def test_a_job_without_failures_says_so() -> None:
    found = job_json.exceptions(asked(View()))
    assert (found["root-exception"], found["exceptionHistory"]["entries"]) == (None, [])


def test_a_job_that_starts_again_has_tasks_that_wait() -> None:
    found = job_json.details(asked(View(state=JobStatus.RESTARTING)))
    assert (found["state"], found["duration"]) == ("RESTARTING", 250)
    assert {vertex["status"] for vertex in found["vertices"]} == {"SCHEDULED"}
    assert found["status-counts"]["SCHEDULED"] == len(found["vertices"])


def test_the_driver_counts_its_jobs_by_how_they_are() -> None:
    states = [JobStatus.RUNNING, JobStatus.RESTARTING, JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED]
    found = job_json.cluster_overview([ServedJob(View(state=state), 0) for state in states])
    assert [found[f"jobs-{kind}"] for kind in ("running", "finished", "cancelled", "failed")] == [2, 1, 1, 1]


def test_a_failure_of_user_code_is_told_with_its_key_record_and_traceback() -> None:
    user = UserFailure("counter", 1, "ValueError: planned", "x" * 30_000, key="'a'", record="(1, 2)")
    view = View(progress(failure(1, FailureOrigin(operator="counter", subtask=1, slot=0, user=user))))
    (entry,) = job_json.exceptions(asked(view))["exceptionHistory"]["entries"]
    assert (entry["error"], entry["key"], entry["record"]) == ("ValueError: planned", "'a'", "(1, 2)")
    assert len(entry["traceback"]) == 4_000


def test_of_other_failures_the_first_line_is_told() -> None:
    view = View(progress(failure(1, FailureOrigin(slot=0))))
    (entry,) = job_json.exceptions(asked(view))["exceptionHistory"]["entries"]
    assert (entry["error"], entry["key"], entry["traceback"]) == ("Traceback:", None, None)


def test_attempts_are_told_newest_first_with_what_ended_them() -> None:
    view = View(progress(failure(1, FailureOrigin())))
    for number, ended_ms in ((1, 20), (2, 40), (3, None)):
        run = AttemptRun(
            attempt=Attempt(number), parallelism=(1, 1), checkpoint_id=None, deployed_ms=number * 10, ended_ms=ended_ms
        )
        view.progress.attempts.append(run)
    found = job_json.attempts(asked(view))["attempts"]
    assert [(each["attempt"], each["end"]) for each in found] == [(3, None), (2, "rescale"), (1, "failure")]
    assert found[2]["error"] == "Traceback:"


def test_an_attempt_that_started_from_a_savepoint_says_so() -> None:
    view = View()
    for number, checkpoint in ((1, 7), (2, 8)):
        view.progress.attempts.append(
            AttemptRun(
                attempt=Attempt(number), parallelism=(1, 1), checkpoint_id=CheckpointId(checkpoint), deployed_ms=number
            )
        )
    restore = Restore(checkpoint_id=CheckpointId(7), wall_ms=1, is_savepoint=True, location=None)
    view.progress.statistics.restores.append(restore)
    found = job_json.attempts(asked(view))["attempts"]
    assert [(each["restored"], each["savepoint"]) for each in found] == [(8, False), (7, True)]


def test_what_is_told_of_failures_is_bounded_however_long_their_errors_are() -> None:
    long = "x" * 100_000
    user = UserFailure("counter", 1, long, long, key="'a'", record="(1, 2)")
    failures = [
        Failure(
            wall_ms=number,
            attempt=Attempt(number),
            cause=user.describe(),
            origin=FailureOrigin(operator="counter", user=user),
            restart_delay_ms=0.0,
        )
        for number in range(100)
    ]
    found = json.dumps(job_json.exceptions(asked(View(progress(*failures)), maxExceptions="50")))
    assert len(found) < 51 * 42_000
