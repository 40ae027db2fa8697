"""Patterns: sequences of records, described step by step (names and rules of Flink CEP), with checks of their sense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from headgate.errors import ProgramError
from headgate.functions.patterns.functions import Condition, IterativeCondition, Simple, both, either
from headgate.functions.patterns.skip import AfterMatchSkipStrategy, Skip
from headgate.functions.patterns.step import UNBOUNDED, Contiguity, Forbids, PatternStep, WithinType
from headgate.functions.windows.assigner import millis_of
from headgate.types.instant import Duration, Time


@final
@dataclass(frozen=True, slots=True)
class Pattern:
    """A sequence of steps. Each step takes records.

    Methods return a new pattern. Methods that describe a step change the last step.

    >>> login = (
    ...     Pattern.begin("failed").where(lambda event: not event.ok).times_or_more(3)
    ...     .followed_by("ok").where(lambda event: event.ok)
    ...     .within(Time.minutes(5))
    ... )
    >>> [step.name for step in login.steps]
    ['failed', 'ok']
    """

    steps: tuple[PatternStep, ...]
    skip: AfterMatchSkipStrategy
    within_ms: int | None = None

    # --- steps

    @staticmethod
    def begin(name: str | Pattern, skip_strategy: AfterMatchSkipStrategy | None = None) -> Pattern:
        """Begin a pattern: every record that meets the conditions of its first step begins a match.

        A pattern in place of a name, here and in later steps, makes a group: its steps are one step of the whole
        pattern.
        """
        first = (_step(name, Contiguity.NON_DETERMINISTIC),)
        return Pattern(first, skip_strategy or AfterMatchSkipStrategy.no_skip())

    def next(self, name: str | Pattern) -> Pattern:
        """Add a step that takes the very next record."""
        return self._then(_step(name, Contiguity.STRICT))

    def followed_by(self, name: str | Pattern) -> Pattern:
        """Add a step that takes the next record that meets its conditions; the match skips the records in between."""
        return self._then(_step(name, Contiguity.RELAXED))

    def followed_by_any(self, name: str | Pattern) -> Pattern:
        """Add a step that takes any later record that meets its conditions: each such record gives a separate match."""
        return self._then(_step(name, Contiguity.NON_DETERMINISTIC))

    def not_next(self, name: str) -> Pattern:
        """Forbid that the very next record meets the conditions of this step."""
        return self._then(PatternStep(_checked(name), Contiguity.STRICT, forbids=Forbids.NEXT))

    def not_followed_by(self, name: str) -> Pattern:
        """Forbid that a record meets the conditions of this step before the next step takes one.

        As the last step it needs `within`: the pattern matches when that time has passed.
        """
        return self._then(PatternStep(_checked(name), Contiguity.RELAXED, forbids=Forbids.BETWEEN))

    def _then(self, step: PatternStep) -> Pattern:
        names = {one.name for each in self.steps for one in each.singles}
        for one in step.singles:
            if one.name in names:
                raise ProgramError(f"two steps of the pattern have the name {one.name!r}: give each a name of its own")
        if step.forbids is not None and self.steps[-1].optional:
            raise ProgramError(
                f"{step.forbids.value}({step.name!r}) cannot follow {self.steps[-1].name!r}, which is optional: put "
                "a step that is not optional between them"
            )
        return replace(self, steps=(*self.steps, step))

    # --- conditions

    def where(self, condition: Callable[[Any], Any] | IterativeCondition) -> Pattern:
        """Have the step take only records that meet this condition, too.

        The condition is a function of the record, or an `IterativeCondition`, which sees the records that the match has
        taken so far.
        """
        return self._last(condition=both(self._single("where").condition, _condition("where", condition)))

    def or_(self, condition: Callable[[Any], Any] | IterativeCondition) -> Pattern:
        """Have the step also take records that meet this condition instead of the earlier ones."""
        before = self._single("or_").condition
        if before is None:
            raise ProgramError(
                f"step {self.steps[-1].name!r} has no condition yet that or_() could be added to: call where()"
            )
        return self._last(condition=either(before, _condition("or_", condition)))

    def subtype(self, kind: type) -> Pattern:
        """Have the step take only instances of a class."""
        if not isinstance(kind, type):
            raise ProgramError(f"subtype() takes a class, not {kind!r}")
        return self.where(_IsInstance(kind))

    def until(self, condition: Callable[[Any], Any] | IterativeCondition) -> Pattern:
        """End the step at the first record that meets this condition; the step does not take this record."""
        if self.steps[-1].most != UNBOUNDED:
            raise ProgramError(
                f"until() ends a loop: call one_or_more() or times_or_more() on {self.steps[-1].name!r} first"
            )
        return self._last(until=_condition("until", condition))

    # --- how many

    def one_or_more(self) -> Pattern:
        """Have the step take one record or more."""
        return self.times_or_more(1)

    def times_or_more(self, times: int) -> Pattern:
        """Have the step take this number of records or more."""
        return self._quantified("times_or_more", times, UNBOUNDED)

    def times(self, from_times: int, to_times: int | None = None) -> Pattern:
        """Have the step take this number of records, or from one number to another."""
        return self._quantified("times", from_times, from_times if to_times is None else to_times)

    def optional(self) -> Pattern:
        """Allow the step to take no record."""
        self._taking("optional")
        return self._last(optional=True)

    def greedy(self) -> Pattern:
        """Have the step take as many records as it can: the next step begins with one that this step cannot take."""
        step = self._looping("greedy")
        self._single("greedy")
        if step.contiguity is Contiguity.NON_DETERMINISTIC and len(self.steps) > 1:
            raise ProgramError(f"greedy() cannot be used with followed_by_any({step.name!r}), which leaves records out")
        return self._last(greedy=True)

    def consecutive(self) -> Pattern:
        """Allow no other record between the records of the step."""
        self._looping("consecutive")
        return self._last(inner=Contiguity.STRICT)

    def allow_combinations(self) -> Pattern:
        """Allow any record between the records of the step, also records that the step could have taken."""
        self._looping("allow_combinations")
        return self._last(inner=Contiguity.NON_DETERMINISTIC)

    def _quantified(self, method: str, least: int, most: int) -> Pattern:
        if type(least) is not int or type(most) is not int or least < 1 or (most != UNBOUNDED and most < least):
            raise ProgramError(f"{method}() takes numbers of records, of at least 1 and the lower one first")
        if self._taking(method).loops:
            raise ProgramError(f"step {self.steps[-1].name!r} already has a number of records to take")
        return self._last(least=least, most=most)

    def _taking(self, method: str) -> PatternStep:
        """Return the last step. Raises ProgramError if it forbids records."""
        step = self.steps[-1]
        if step.forbids is not None:
            raise ProgramError(
                f"{method}() cannot be used with {step.forbids.value}({step.name!r}), which takes no records"
            )
        return step

    def _single(self, method: str) -> PatternStep:
        """Return the last step. Raises ProgramError if it is a group."""
        step = self.steps[-1]
        if step.group:
            raise ProgramError(f"{method}() cannot be used with the group {step.name}: call it on a step in the group")
        return step

    def _looping(self, method: str) -> PatternStep:
        step = self._taking(method)
        if not step.loops:
            raise ProgramError(
                f"{method}() is for steps of several records: call one_or_more() or times() on {step.name!r} first"
            )
        return step

    # --- the whole

    def within(self, window_time: Time | Duration, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Pattern:
        """Have a match end within this time after its first record; exactly this time is already too long.

        With `PREVIOUS_AND_CURRENT`, limit the time between each record that the last step takes and the record before
        it.
        """
        length_ms = millis_of("the time that within() takes", window_time)
        if length_ms <= 0:
            raise ProgramError(f"within() takes a positive time, not {length_ms} ms")
        if not isinstance(within_type, WithinType):
            raise ProgramError(
                f"within() takes a WithinType as its second argument, such as PREVIOUS_AND_CURRENT, not {within_type!r}"
            )
        if within_type is WithinType.FIRST_AND_LAST:
            return replace(self, within_ms=_shorter(length_ms, self.within_ms))
        return self._last(gap_ms=_shorter(length_ms, self._single("within").gap_ms))

    def check(self) -> None:
        """Raise ProgramError for a pattern that can match nothing sensible."""
        check(self.steps, self.within_ms, self.skip)

    def _last(self, **changes: Any) -> Pattern:
        return replace(self, steps=(*self.steps[:-1], replace(self.steps[-1], **changes)))


@final
@dataclass(frozen=True, slots=True)
class _IsInstance:
    kind: type

    def __call__(self, value: Any) -> bool:
        return isinstance(value, self.kind)


def _step(name: str | Pattern, contiguity: Contiguity) -> PatternStep:
    if not isinstance(name, Pattern):
        return PatternStep(_checked(name), contiguity)
    check_group(name.steps, name.within_ms, name.skip)
    return PatternStep(name_of(name.steps), contiguity, group=name.steps)


def _checked(name: str) -> str:
    if not isinstance(name, str) or not name:
        raise ProgramError(f"the name of a step must be text, not {name!r}")
    return name


def _shorter(length_ms: int, other_ms: int | None) -> int:
    return length_ms if other_ms is None else min(length_ms, other_ms)


def _condition(method: str, condition: Callable[[Any], Any] | IterativeCondition) -> Condition:
    if isinstance(condition, IterativeCondition):
        return condition
    if not callable(condition):
        raise ProgramError(f"{method}() takes a function of a record, or an IterativeCondition, not {condition!r}")
    if isinstance(condition, type) and issubclass(condition, IterativeCondition):
        raise ProgramError(f"{method}() was given the class {condition.__name__} itself: pass an instance")
    return Simple(condition)


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
