"""What a driver finds out before the first attempt, on storage that an earlier driver of the job has used."""

from __future__ import annotations

from headgate.checkpoint import workflow
from headgate.checkpoint.store import MemoryStore
from headgate.checkpoint.workflow import JobResult
from headgate.clock import VirtualClock
from headgate.ids import Attempt
from headgate.runtime.master.job_storage import JobStorage
from headgate.testing.sim.jobs import JobSpec, StageSpec, plan_of
from headgate.testing.sim.user_code import SourceSpec

PLAN = plan_of(JobSpec((SourceSpec((3, 2), 1, 1, 1.0),), (StageSpec("map", 1, True),), 1, {}), outside=0)


def test_a_fresh_job_gets_the_splits_of_its_sources() -> None:
    beginning = JobStorage(MemoryStore(), VirtualClock()).prepare(PLAN)
    assert [len(splits) for splits in beginning.splits.values()] == [2]
    assert (beginning.last_attempt, beginning.ended) == (0, None)


def test_attempts_of_earlier_drivers_are_found() -> None:
    store = MemoryStore()
    JobStorage(store, VirtualClock()).resolve(PLAN, Attempt(2), None)
    assert JobStorage(store, VirtualClock()).prepare(PLAN).last_attempt == 2


def test_a_job_that_has_ended_is_known_to_have() -> None:
    store = MemoryStore()
    workflow.write_result(store, JobResult(status="finished", cause=None, ended_ms=5))
    ended = JobStorage(store, VirtualClock()).prepare(PLAN).ended
    assert ended is not None
    assert ended.status == "finished"
