"""The future that the methods of a job client return."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TypeVar

from headgate import unsupported

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture(Future[T]):
    """A result that may arrive later. `result()` blocks until it arrives, or raises the error of the call.

    >>> CompletableFuture.completed(3).result()
    3
    """

    @staticmethod
    def completed(value: T) -> CompletableFuture[T]:
        """Return a future that has its result already."""
        future = CompletableFuture[T]()
        future.set_result(value)
        return future


unsupported.guard(__name__, globals())
