"""Functions that are called with the matches of a pattern."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from headgate.functions.api import Function

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
