"""Limits of calls to an outside service: calls per second, and retries by an `AsyncRetryStrategy`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, final

from headgate.errors import ProgramError
from headgate.functions.asynchronous import AsyncRetryStrategy, retry_after_s

_EARLY_S: Final = 1e-6
"""By how much a call may be early, as times are rounded."""


@final
class TokenBucket:
    """Allows `per_second` calls each second on average, and those of a second at once; None: any number of them.

    It is kept as the time at which the bucket will be full again.

    >>> bucket = TokenBucket(2.0)
    >>> [bucket.take(0.0), bucket.take(0.0), bucket.take(0.0), bucket.take(0.5)]
    [0.0, 0.0, 0.5, 0.0]
    """

    def __init__(self, per_second: float | None) -> None:
        self._interval_s = 0.0 if per_second is None else 1.0 / per_second
        self._slack_s = max(0.0, 1.0 - self._interval_s)
        self._full_s = 0.0
        self._paused_until_s = 0.0

    def take(self, now_s: float) -> float:
        """Take a token and return 0.0; if there is none, return in how many seconds there will be one."""
        wait_s = max(self._full_s - self._slack_s, self._paused_until_s) - now_s
        if wait_s > _EARLY_S:
            return wait_s
        self._full_s = max(self._full_s, now_s) + self._interval_s
        return 0.0

    def pause(self, until_s: float) -> None:
        """Give no token before this time."""
        self._paused_until_s = max(self._paused_until_s, until_s)


Call = Callable[[Any], Awaitable[Any]]


def retried(call: Call, strategy: AsyncRetryStrategy, listed: Callable[[Any], list[Any]] = list) -> Call:
    """Return the call as the strategy has it made again: `call` itself, if it never does.

    `listed` makes what the call returns a list, which the strategy looks at and which is returned in its place.
    What a call has raised may say that the service wants to be left alone for longer than the strategy would wait.
    """
    predicate = strategy.get_retry_predicate()
    by_results, by_error = predicate.result_predicate(), predicate.exception_predicate()
    if by_results is None and by_error is None:
        return call

    async def call_again(value: Any) -> list[Any]:
        calls = 1
        while True:
            wanted_s = 0.0
            try:
                results = listed(await call(value))
            except ProgramError:  # the next call would return the same
                raise
            except Exception as error:
                if is_cancelled() or by_error is None or not by_error(error) or not strategy.can_retry(calls):
                    raise
                wanted_s = retry_after_s(error)
            else:
                if is_cancelled() or by_results is None or not by_results(results) or not strategy.can_retry(calls):
                    return results
            await asyncio.sleep(max(strategy.get_backoff_time_millis(calls) / 1000.0, wanted_s))
            calls += 1

    return call_again


def is_cancelled() -> bool:
    """Whether the call under way was told to end, as its time is over, whatever it has made of that."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
