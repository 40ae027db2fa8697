"""Checks for patterns, and for groups of steps, that make no sense."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.errors import ProgramError
from headgate.functions.patterns.skip import AfterMatchSkipStrategy, Skip
from headgate.functions.patterns.step import Forbids, PatternStep


def name_of(steps: Sequence[PatternStep]) -> str:
    """Return the name of a group of these steps in error messages."""
    return f"({' '.join(one.name for step in steps for one in step.singles)})"


def check_group(steps: Sequence[PatternStep], within_ms: int | None, skip: AfterMatchSkipStrategy) -> None:
    """Raise ProgramError for a pattern that cannot be a group of another one."""
    name, last = name_of(steps), steps[-1]
    if steps[0].optional:
        raise ProgramError(
            f"the first step of the group {name} is optional, so nothing says where the group begins: make the "
            "whole group optional, or begin it with the next step"
        )
    if last.forbids is not None:
        raise ProgramError(f"the group {name} ends with {last.forbids.value}({last.name!r}): put that after the group")
    if within_ms is not None:
        raise ProgramError(f"the group {name} has a time of its own: call within() on the whole pattern")
    if skip.skip is not Skip.NOT:
        raise ProgramError(
            f"the group {name} has a skip strategy of its own: give it to the first begin() of the whole"
        )


def check(steps: Sequence[PatternStep], within_ms: int | None, skip: AfterMatchSkipStrategy) -> None:
    """Raise ProgramError for a pattern that can match nothing sensible."""
    singles = [one for step in steps for one in step.singles]
    if all(step.optional for step in steps if step.forbids is None):
        raise ProgramError(
            "all steps of the pattern are optional, so it matches nothing at all: make one of them not optional"
        )
    last = steps[-1]
    if last.forbids is Forbids.BETWEEN and within_ms is None and last.gap_ms is None:
        raise ProgramError(
            f"the pattern ends with not_followed_by({last.name!r}), and nothing says until when: call within(...)"
        )
    for step in singles:
        if step.forbids is not None and step.condition is None:
            raise ProgramError(
                f"{step.forbids.value}({step.name!r}) does not say what it forbids: call where(...) after it"
            )
    if steps[0].gap_ms is not None and not steps[0].loops:
        raise ProgramError(
            f"within(..., PREVIOUS_AND_CURRENT) says nothing about {steps[0].name!r}: no record comes before the first "
            "one of a match"
        )
    _check_gaps(singles, within_ms)
    if skip.step is not None and skip.step not in {step.name for step in singles if step.forbids is None}:
        raise ProgramError(f"the pattern is to skip to {skip.step!r}, but has no step of that name that takes records")


def _check_gaps(singles: Sequence[PatternStep], within_ms: int | None) -> None:
    """Raise ProgramError for times between records that have no effect."""
    for step in singles:
        if step.gap_ms is None:
            continue
        if step.forbids is not None and step is not singles[-1]:
            raise ProgramError(
                f"within(..., PREVIOUS_AND_CURRENT) says nothing about {step.forbids.value}({step.name!r}), which "
                "takes no records: call it after the step that follows"
            )
        if within_ms is not None and step.gap_ms > within_ms:
            raise ProgramError(
                f"step {step.name!r} has {step.gap_ms} ms between two records, more than the {within_ms} ms from the "
                "first record to the last: make one of the two times shorter or longer"
            )
