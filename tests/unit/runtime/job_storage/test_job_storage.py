"""What a driver finds out before the first attempt, on storage that an earlier driver of the job has used."""

from __future__ import annotations

from headgate.checkpoint.drivers import job_records
from headgate.checkpoint.drivers.job_records import JobResult
from headgate.checkpoint.store import MemoryStore
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.ids import Attempt
from headgate.job_status import JobStatus
from headgate.operators.plain_functions import MapFactory
from tests.unit.runtime.job_storage.drivers import Driver
from tests.unit.runtime.plans import line_plan

PLAN = line_plan(NumberSequenceSource(1, 4), MapFactory(str), readers=2)


def driver(store: MemoryStore) -> Driver:
    driver = Driver(store)
    driver.prepare(PLAN)
    return driver


def test_a_fresh_job_gets_the_splits_of_its_sources() -> None:
    first = Driver(MemoryStore())
    beginning = first.prepare(PLAN)
    assert (beginning.last_attempt, beginning.ended) == (0, None)
    assert [len(splits) for splits in first.resolve(PLAN, Attempt(1), None).splits.values()] == [2]


def test_attempts_of_earlier_drivers_are_found() -> None:
    store = MemoryStore()
    driver(store).resolve(PLAN, Attempt(2), None)
    assert Driver(store).prepare(PLAN).last_attempt == 2


def test_a_job_that_has_ended_is_known_to_have() -> None:
    store = MemoryStore()
    job_records.write_result(store, JobResult(status=JobStatus.FINISHED, cause=None, ended_ms=5))
    ended = Driver(store).prepare(PLAN).ended
    assert ended is not None
    assert ended.status is JobStatus.FINISHED
