"""Asynchronous functions, with PyFlink's names: calls that wait for others while the next records are taken in."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, final

from headgate.functions.api import Function
from headgate.functions.async_retries import AsyncRetryStrategy
from headgate.types.instant import Duration, Time


class AsyncFunction(Function):
    """One record in, any number out, later: many calls are under way at a time, all on one thread.

    A call that awaits lets others go on. `open` and `close` are called on the asyncio loop of the calls: clients can be
    made there. A task that `close` creates, such as `create_task(client.aclose())`, is waited for, but not for long.
    After a failure, a record that was under way is handed over again: services see calls at least once.
    """

    @abstractmethod
    async def async_invoke(self, value: Any) -> Iterable[Any]:
        """Return the records that take the place of `value`, as a list. What it raises fails the job."""

    def timeout(self, value: Any) -> Iterable[Any]:
        """Return the records that take the place of `value` when its call has not ended in time, and was cancelled."""
        raise TimeoutError(
            f"the asynchronous call for {value!r:.200} has not ended in time: give it a longer timeout, or say in "
            f"{type(self).__name__}.timeout() which records take its place"
        )


@final
@dataclass(frozen=True, slots=True)
class AsyncFunctionDescriptor:
    """An asynchronous function and how it is called: what `AsyncDataStream` makes of its arguments."""

    class OutputMode(Enum):
        """The order in which results leave."""

        ORDERED = 0
        """That of the records."""
        UNORDERED = 1
        """As they come; but none passes a watermark."""

    async_function: AsyncFunction
    timeout: Time | Duration
    capacity: int
    async_retry_strategy: AsyncRetryStrategy
    output_mode: OutputMode
