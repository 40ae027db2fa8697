"""Functions of joins: they compute results from matching records of two streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from headgate.functions.api import Function


class ProcessJoinFunction(Function):
    """Called with each pair of records that a join finds.

    >>> class Clicked(ProcessJoinFunction):
    ...     def process_element(self, left, right, ctx):
    ...         yield left, right, ctx.get_right_timestamp() - ctx.get_left_timestamp()
    """

    class Context(ABC):
        """The times of the pair, in milliseconds. To send a result to a side output, `yield tag, result`."""

        @abstractmethod
        def get_left_timestamp(self) -> int | None:
            """Return the time of the left record; None if there is none, in an outer join."""

        @abstractmethod
        def get_right_timestamp(self) -> int | None:
            """Return the time of the right record; None if there is none, in an outer join."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Return the timestamp of the results: the later of the two."""

    @abstractmethod
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any] | None:
        """Yield the results for a pair, or return an iterable of them; None means no result."""


class JoinFunction(Function):
    """Computes one result from each pair of records of a window."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """Return the result for a record of the first stream and one of the second."""


class FlatJoinFunction(Function):
    """Computes any number of results from each pair of records of a window."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """Yield the results for a record of the first stream and one of the second; None means no result."""


class CoGroupFunction(Function):
    """Computes results from all records of a window, given as one list for each stream.

    >>> class Unanswered(CoGroupFunction):
    ...     def co_group(self, first, second):
    ...         if not second:
    ...             yield from first
    """

    @abstractmethod
    def co_group(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        """Yield the results for the records of a key and window; either list may be empty."""
