"""What stays of a job that has ended, and what goes. Pure.

A job that failed before this driver's first complete checkpoint has no result, and nothing is deleted: what it was to
start from is there for the next start, which may have the right settings, or the file that was missing. Only copies of
what sources read go, if this driver has made them: the next start makes its own. A driver that does not own the job
yet deletes and records nothing either, and one that is cancelled before it has restored keeps the checkpoints of
earlier drivers. Of a job that is suspended everything stays: a later driver goes on with it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import final

from headgate.checkpoint.workflow import JobResult
from headgate.job_status import JobStatus


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndFacts:
    """What is known of a job when it has ended.

    `keeps`: its settings keep checkpoints after such an end. `owns`: this driver has the lease. `has_restored`: nothing
    that earlier drivers have left waits to be restored. `recorded` is the result in storage, if there is one.
    """

    status: JobStatus
    keeps: bool
    owns: bool
    has_restored: bool
    has_completed: bool
    recorded: JobResult | None


class InputsThatGo(enum.Enum):
    """Which copies of what sources read go."""

    NONE = "none"
    NEW = "those that this driver has made"
    UNREAD = "those that no checkpoint which stays has still to read"
    ALL = "all"


class CheckpointsThatGo(enum.Enum):
    """Which checkpoints go."""

    NONE = "none"
    BEYOND = "those beyond the number that is retained"
    ALL = "all"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What is done at the end. Without `records` no result is written; `output` is what sinks have prepared only."""

    records: bool = False
    kept: bool = True
    output_goes: bool = False
    inputs: InputsThatGo = InputsThatGo.NONE
    claimed_goes: bool = False
    checkpoints: CheckpointsThatGo = CheckpointsThatGo.NONE


def ending_of(facts: EndFacts) -> Ending:
    """Return what is done at the end of a job."""
    if facts.status is JobStatus.SUSPENDED:
        return Ending()
    is_early = facts.status is JobStatus.FAILED and not facts.has_completed
    if facts.recorded is None and (is_early or not facts.owns):
        return Ending(inputs=InputsThatGo.NEW)
    kept = facts.keeps or not facts.has_restored if facts.recorded is None else facts.recorded.kept
    beyond = CheckpointsThatGo.BEYOND if facts.owns and facts.has_restored else CheckpointsThatGo.NONE
    return Ending(
        records=facts.recorded is None,
        kept=kept,
        output_goes=not kept,
        inputs=InputsThatGo.UNREAD if kept else InputsThatGo.ALL,
        claimed_goes=facts.owns and facts.status is JobStatus.FINISHED,
        checkpoints=beyond if kept else CheckpointsThatGo.ALL,
    )
