"""User code of patterns: conditions of steps, and functions that are called with matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, final

from headgate.functions.api import Function


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
    """A condition on the record alone, which is tested once for all partial matches."""

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


Match = dict[str, list[Any]]
"""The records of a match, oldest first, by the name of the step that took them. Steps without records are left out."""


class PatternProcessFunction(Function):
    """Called with each match.

    >>> class Alarms(PatternProcessFunction):
    ...     def process_match(self, match, ctx):
    ...         yield "alarm", match["failed"][0], ctx.timestamp()
    """

    class Context(ABC):
        """The time of the match. To send a result to a side output, `yield tag, result`."""

        @abstractmethod
        def timestamp(self) -> int:
            """Return the time of the match in milliseconds: its last record's, or the end of its time limit."""

    @abstractmethod
    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for a match, or return an iterable of them; None means no result."""


class TimedOutPartialMatchHandler(ABC):
    """A second base class for a `PatternProcessFunction` that also handles matches whose time ran out.

    >>> class Payments(PatternProcessFunction, TimedOutPartialMatchHandler):
    ...     def process_match(self, match, ctx):
    ...         yield "paid", match["order"][0]
    ...     def process_timed_out_match(self, match, ctx):
    ...         yield "not paid", match["order"][0]
    """

    @abstractmethod
    def process_timed_out_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        """Yield results for records that match the beginning of the pattern; the rest did not come in time."""
