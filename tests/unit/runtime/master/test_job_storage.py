"""What a driver finds out before the first attempt, on storage that an earlier driver of the job has used."""

from __future__ import annotations

from headgate.checkpoint import workflow
from headgate.checkpoint.store import MemoryStore
from headgate.checkpoint.workflow import JobResult
from headgate.clock import VirtualClock
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.ids import Attempt
from headgate.operators.map import MapFactory
from headgate.runtime.master.job_storage import JobStorage
from tests.unit.runtime.plans import line_plan

PLAN = line_plan(NumberSequenceSource(1, 4), MapFactory(str), readers=2)


def job_storage(store: MemoryStore) -> JobStorage:
    return JobStorage(store, VirtualClock(), lambda location: MemoryStore())


def test_a_fresh_job_gets_the_splits_of_its_sources() -> None:
    beginning = job_storage(MemoryStore()).prepare(PLAN)
    assert [len(splits) for splits in beginning.splits.values()] == [2]
    assert (beginning.last_attempt, beginning.ended) == (0, None)


def test_attempts_of_earlier_drivers_are_found() -> None:
    store = MemoryStore()
    job_storage(store).resolve(PLAN, Attempt(2), None)
    assert job_storage(store).prepare(PLAN).last_attempt == 2


def test_a_job_that_has_ended_is_known_to_have() -> None:
    store = MemoryStore()
    workflow.write_result(store, JobResult(status="finished", cause=None, ended_ms=5))
    ended = job_storage(store).prepare(PLAN).ended
    assert ended is not None
    assert ended.status == "finished"
