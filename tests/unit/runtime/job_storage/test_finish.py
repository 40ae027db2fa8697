"""What stays of a job at its end: a function of what is known of it, for all there is to know."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from headgate.checkpoint.drivers.job_records import JobResult
from headgate.job_status import JobStatus
from headgate.runtime.job_storage.finish import DeletedCheckpoints, DeletedInputs, EndFacts, EndPlan, end_plan_of

FACTS = EndFacts(
    status=JobStatus.FINISHED, keeps=False, owns=True, has_restored=True, has_completed=True, recorded=None
)
KEPT, NOT_KEPT = (JobResult(status=JobStatus.FINISHED, cause=None, ended_ms=5, kept=kept) for kept in (True, False))
STATUSES = [JobStatus.FINISHED, JobStatus.FAILED, JobStatus.CANCELED, JobStatus.SUSPENDED]
ENDS = [
    EndFacts(status=status, keeps=keeps, owns=owns, has_restored=restored, has_completed=completed, recorded=recorded)
    for status, recorded in product(STATUSES, [None, KEPT, NOT_KEPT])
    for keeps, owns, restored, completed in product([False, True], repeat=4)
]


def goes(plan: EndPlan) -> bool:
    return plan.deletes_output or plan.deletes_claimed or plan.checkpoints is not DeletedCheckpoints.NONE


def test_of_a_finished_job_only_the_result_stays() -> None:
    assert end_plan_of(FACTS) == EndPlan(
        records=True,
        kept=False,
        deletes_output=True,
        inputs=DeletedInputs.ALL,
        deletes_claimed=True,
        checkpoints=DeletedCheckpoints.ALL,
    )


def test_a_job_that_keeps_its_checkpoints_keeps_what_they_commit_and_read() -> None:
    plan = end_plan_of(replace(FACTS, status=JobStatus.CANCELED, keeps=True))
    assert (plan.kept, plan.deletes_output, plan.deletes_claimed) == (True, False, False)
    assert (plan.inputs, plan.checkpoints) == (DeletedInputs.UNREAD, DeletedCheckpoints.BEYOND)


@pytest.mark.parametrize("facts", [each for each in ENDS if each.status is JobStatus.SUSPENDED])
def test_everything_stays_of_a_job_that_is_suspended(facts: EndFacts) -> None:
    assert end_plan_of(facts) == EndPlan()


@pytest.mark.parametrize("facts", [each for each in ENDS if not each.owns and each.recorded is None])
def test_a_driver_that_does_not_own_the_job_deletes_nothing_but_what_it_has_made(facts: EndFacts) -> None:
    plan = end_plan_of(facts)
    assert not goes(plan)
    assert not plan.records
    assert plan.inputs in {DeletedInputs.NONE, DeletedInputs.NEW}


@pytest.mark.parametrize("facts", [each for each in ENDS if not each.has_restored and each.recorded is None])
def test_the_checkpoints_that_wait_to_be_restored_never_go(facts: EndFacts) -> None:
    plan = end_plan_of(facts)
    assert plan.checkpoints is DeletedCheckpoints.NONE
    assert not plan.deletes_output
    assert plan.inputs is not DeletedInputs.ALL


@pytest.mark.parametrize("facts", [each for each in ENDS if each.recorded is not None])
def test_what_an_earlier_driver_has_recorded_counts_and_is_not_written_again(facts: EndFacts) -> None:
    plan = end_plan_of(facts)
    assert not plan.records
    if facts.recorded is KEPT:
        assert plan.kept
        assert not plan.deletes_output
        assert plan.checkpoints is not DeletedCheckpoints.ALL
