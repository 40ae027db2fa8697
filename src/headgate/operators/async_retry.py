"""Asynchronous calls that are made again, as a retry strategy says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from headgate.errors import ProgramError
from headgate.functions.asynchronous import AsyncRetryStrategy, retry_after_s

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
