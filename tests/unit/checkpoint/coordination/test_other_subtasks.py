"""The coordinator when an attempt has other subtasks than the one before."""

from __future__ import annotations

import pytest

from headgate.checkpoint.coordination import vocabulary as c
from headgate.checkpoint.messages import SubtaskCommitted
from headgate.errors import InternalError
from headgate.ids import CheckpointId, SubtaskId
from tests.unit.checkpoint.coordinated import SINK, SOURCE, Job, of_type

OTHER = SubtaskId(SINK.vertex, SINK.index + 1)


def wider(job: Job) -> None:
    """End the attempt, and start one that has another subtask, which commits as well."""
    job.end_attempt()
    job.subtasks |= {OTHER}
    job.committing |= {OTHER}
    job.start(2, last_id=1)


def test_a_checkpoint_waits_for_the_subtasks_of_its_own_attempt() -> None:
    job = Job()
    job.start()
    wider(job)
    job.at(100.0)
    assert of_type(job.ack(2, SOURCE, SINK), c.StoreManifest) == []
    (order,) = of_type(job.ack(2, OTHER), c.StoreManifest)
    assert order.states.keys() == {SOURCE, SINK, OTHER}


def test_the_job_ends_when_all_subtasks_of_the_newest_attempt_have_ended_and_committed() -> None:
    job = Job(interval_ms=None)
    job.start()
    job.end_data(SOURCE)
    wider(job)
    assert of_type(job.end_data(SOURCE, SINK), c.TriggerCheckpoint) == []
    assert of_type(job.end_data(OTHER), c.TriggerCheckpoint)
    job.ack(2, SOURCE, SINK, OTHER)
    job.stored(2)
    assert of_type(job.commit(2), c.FinishJob) == []
    committed = job.receive(SubtaskCommitted(attempt=job.attempt, checkpoint_id=CheckpointId(2), subtask=OTHER))
    assert of_type(committed, c.FinishJob)


def test_a_subtask_that_the_attempt_does_not_have_is_a_fault() -> None:
    job = Job()
    job.start()
    with pytest.raises(InternalError, match=f"there is no subtask {OTHER}"):
        job.end_data(OTHER)
