"""Conditions: which records a step of a pattern takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final


class ConditionContext(ABC):
    """Tells a condition about the match so far."""

    @abstractmethod
    def get_events_for_pattern(self, name: str) -> list[Any]:
        """Return the records that the step of that name has taken, oldest first; none if it has not taken any."""

    @abstractmethod
    def timestamp(self) -> int:
        """Return the time of the record that is tested, in milliseconds."""


class IterativeCondition(ABC):
    """A condition that can look at the records which the match has taken so far.

    >>> class Rises(IterativeCondition):
    ...     def filter(self, value, ctx):
    ...         taken = ctx.get_events_for_pattern("rise")
    ...         return not taken or value > taken[-1]
    """

    @abstractmethod
    def filter(self, value: Any, ctx: ConditionContext) -> bool:
        """Return whether the step takes the record. Called often: it must not change anything."""


@final
@dataclass(frozen=True, slots=True)
class Simple:
    """A condition on the record alone, which is tested once for all matches under way."""

    test: Callable[[Any], Any]


@final
@dataclass(frozen=True, slots=True)
class Both(IterativeCondition):
    """Met by records that meet both conditions."""

    first: Condition
    second: Condition

    def filter(self, value: Any, ctx: ConditionContext) -> bool:
        return meets(self.first, value, ctx) and meets(self.second, value, ctx)


@final
@dataclass(frozen=True, slots=True)
class Either(IterativeCondition):
    """Met by records that meet at least one of the conditions."""

    first: Condition
    second: Condition

    def filter(self, value: Any, ctx: ConditionContext) -> bool:
        return meets(self.first, value, ctx) or meets(self.second, value, ctx)


Condition = Simple | IterativeCondition


def meets(condition: Condition, value: Any, ctx: ConditionContext) -> bool:
    """Return whether a record meets a condition."""
    if isinstance(condition, Simple):
        return bool(condition.test(value))
    return bool(condition.filter(value, ctx))


def both(first: Condition | None, second: Condition) -> Condition:
    """Return a condition for records that meet both. All records meet `first` when it is None."""
    if first is None:
        return second
    if isinstance(first, Simple) and isinstance(second, Simple):
        return Simple(_Both(first.test, second.test))
    return Both(first, second)


def either(first: Condition, second: Condition) -> Condition:
    """Return a condition for records that meet at least one of the two."""
    if isinstance(first, Simple) and isinstance(second, Simple):
        return Simple(_Either(first.test, second.test))
    return Either(first, second)


@final
@dataclass(frozen=True, slots=True)
class _Both:
    first: Callable[[Any], Any]
    second: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        return self.first(value) and self.second(value)


@final
@dataclass(frozen=True, slots=True)
class _Either:
    first: Callable[[Any], Any]
    second: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        return self.first(value) or self.second(value)
