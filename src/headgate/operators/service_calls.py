"""Limits of calls to an outside service: calls per second, and retries by an `AsyncRetryStrategy`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, final

from headgate.errors import ProgramError
from headgate.functions.asynchronous import AsyncRetryStrategy, retry_after_s

_EARLY_S: Final = 1e-6
"""Seconds by which a call may begin early, because times are rounded."""


@final
class TokenBucket:
    """Allows `per_second` calls a second on average, in bursts of up to one second's calls; None: no limit.

    The bucket is stored as the time at which it will be full again.

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
        """Take a token and return 0.0. Without a token, return the seconds until there is one."""
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
    """Return `call` with retries by the strategy; `call` itself, if the strategy never retries.

    `listed` converts the result of a call to a list. The strategy tests this list, and the returned call returns it.
    An error may ask for a longer pause than the strategy's backoff, with the attribute `retry_after`.
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
    """Return whether the current call was cancelled by its timeout, even if its code caught the cancellation."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
