"""What a pattern, or a group of its steps, must be to make sense."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.errors import ProgramError
from headgate.functions.patterns.skip import AfterMatchSkipStrategy, Skip
from headgate.functions.patterns.step import Forbids, Step


def name_of(steps: Sequence[Step]) -> str:
    """Return what errors call a group of these steps."""
    return f"({' '.join(one.name for step in steps for one in step.singles)})"


def check_group(steps: Sequence[Step], within_ms: int | None, skip: AfterMatchSkipStrategy) -> None:
    """Raise ProgramError for a pattern that cannot be a group of another one."""
    name, last = name_of(steps), steps[-1]
    if steps[0].optional:
        raise ProgramError(
            f"the first step of the group {name} is optional, so that nothing says where the group begins: make the "
            "whole group optional, or begin it with the next step"
        )
    if last.forbids is not None:
        raise ProgramError(f"the group {name} ends with {last.forbids.value}({last.name!r}): put that behind the group")
    if within_ms is not None:
        raise ProgramError(f"the group {name} has a time of its own: call within() of the whole pattern")
    if skip.skip is not Skip.NOT:
        raise ProgramError(
            f"the group {name} has a skip strategy of its own: give it to the first begin() of the whole"
        )


def check(steps: Sequence[Step], within_ms: int | None, skip: AfterMatchSkipStrategy) -> None:
    """Raise ProgramError for a pattern that can match nothing sensible."""
    singles = [one for step in steps for one in step.singles]
    if all(step.optional for step in steps if step.forbids is None):
        raise ProgramError("all steps of the pattern are optional, so that it matches nothing at all: one must not be")
    last = steps[-1]
    if last.forbids is Forbids.BETWEEN and within_ms is None and last.gap_ms is None:
        raise ProgramError(
            f"the pattern ends with not_followed_by({last.name!r}), and nothing says until when: call within(...)"
        )
    for step in singles:
        if step.forbids is not None and step.condition is None:
            raise ProgramError(
                f"{step.forbids.value}({step.name!r}) does not say what it forbids: call where(...) behind it"
            )
    if steps[0].gap_ms is not None and not steps[0].loops:
        raise ProgramError(
            f"within(..., PREVIOUS_AND_CURRENT) says nothing of {steps[0].name!r}: before the first record of a match "
            "there is none"
        )
    _check_gaps(singles, within_ms)
    if skip.step is not None and skip.step not in {step.name for step in singles if step.forbids is None}:
        raise ProgramError(f"the pattern is to skip to {skip.step!r}, and has no such step that takes records")


def _check_gaps(singles: Sequence[Step], within_ms: int | None) -> None:
    """Raise ProgramError for times between records that say nothing."""
    for step in singles:
        if step.gap_ms is None:
            continue
        if step.forbids is not None and step is not singles[-1]:
            raise ProgramError(
                f"within(..., PREVIOUS_AND_CURRENT) says nothing of {step.forbids.value}({step.name!r}), which takes "
                "no records: call it behind the step that follows"
            )
        if within_ms is not None and step.gap_ms > within_ms:
            raise ProgramError(
                f"step {step.name!r} has {step.gap_ms} ms between two records, more than the {within_ms} ms from the "
                "first record to the last: make one of the two times shorter or longer"
            )
