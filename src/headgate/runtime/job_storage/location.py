"""Where a job keeps its checkpoints, whether they stay, and advice on how to continue from them. Pure."""

from __future__ import annotations

from headgate import options
from headgate.graph.job_graph import JobGraph
from headgate.job_status import JobStatus


def storage_location(plan: JobGraph) -> str | None:
    """Return the location of the job's checkpoints, None when none is configured."""
    return plan.settings.get(options.CHECKPOINT_DIR) or plan.settings.get(options.STORAGE_DIR)


def keeps_in_memory(plan: JobGraph) -> bool:
    """Return whether the driver keeps all state in its memory, so that slots need no storage."""
    return plan.settings.get(options.CHECKPOINT_STORAGE) == "jobmanager"


def advice_after_suspension(plan: JobGraph, location: str | None) -> str:
    """Return how to continue a job that this driver suspends. `location` is its last complete checkpoint's."""
    same = f"the same program with {options.JOB_ID.key}={plan.job_id}"
    if plan.settings.get(options.JOB_ID) is not None:
        same = "the same program again"
    if location is None:
        return f"this driver has completed no checkpoint of it: start {same}, and it begins where this run began"
    if storage_location(plan) is None:
        return _gone(plan)
    return f"its last checkpoint is {location}: start {same}, and it goes on from there"


def advice_after_failure(plan: JobGraph, newest: str | None, *, is_over: bool) -> str:
    """Return how to continue a failed job from its newest checkpoint; empty if that is impossible.

    Not `is_over`: no result is recorded, so the program may be started again under the same job id.
    """
    if newest is None or storage_location(plan) is None:
        return ""
    if not is_over:
        return f"Nothing is deleted: {advice_after_suspension(plan, newest)}"
    return f"The newest checkpoint stays: {_from_it(newest)}"


def advice_after_cancellation(plan: JobGraph, newest: str | None) -> str:
    """Return how to continue a cancelled job. `newest` is the location of its newest complete checkpoint."""
    if newest is None:
        other = "" if plan.settings.get(options.JOB_ID) is None else f" under another {options.JOB_ID.key}"
        return f"it had completed no checkpoint; start the program again{other}, and it begins where this run began"
    if storage_location(plan) is None:
        return _gone(plan)
    if keeps_checkpoints(plan, JobStatus.CANCELED):
        return f"its newest checkpoint stays: {_from_it(newest)}"
    return (
        f"its checkpoints are deleted; with {options.CHECKPOINT_RETENTION.key}=RETAIN_ON_CANCELLATION the newest one "
        "stays, and another run can go on from it"
    )


def _from_it(newest: str) -> str:
    run = f"headgate run -D{options.RECOVERY_PATH.key}={newest} PROGRAM"
    return f"{newest}. To go on from it, under another job id: {run}"


def _gone(plan: JobGraph) -> str:
    kept = "the memory of this driver" if keeps_in_memory(plan) else "a temporary folder of this driver"
    key = options.CHECKPOINT_DIR.key
    return f"its checkpoints were in {kept} and are gone with it: set {key}, so that a later run can go on"


def keeps_checkpoints(plan: JobGraph, status: JobStatus) -> bool:
    """Return whether checkpoints stay after this end. After a failure they always stay, whatever the settings say."""
    if status is JobStatus.CANCELED:
        return plan.settings.get(options.CHECKPOINT_RETENTION) == "RETAIN_ON_CANCELLATION"
    return status is JobStatus.FAILED
